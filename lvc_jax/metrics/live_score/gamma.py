"""γ: the score of each slot from its (caption, reference) pairs."""

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.errors import InputError
from lvc_jax.metrics.live_score.pairs import Slots
from lvc_jax.metrics.live_score.reading import Reading
from lvc_jax.metrics.runs import spread
from lvc_jax.metrics.text import cider
from lvc_jax.metrics.text.lines import as_read
from lvc_jax.metrics.text.scorers import PairScorer
from lvc_jax.metrics.text.tokenizer import tokenize_all


def pair_scorer(reading: Reading) -> PairScorer:
    """A memory of pairs for the scorers of a reading; given to several calls, no pair is scored twice.

    CIDEr is left out: it is the one score that a pair has only among others.
    """
    return PairScorer([name for name in reading.names if name != "CIDEr"])


def slot_scores(slots: Slots, reading: Reading, scorer: PairScorer | None = None) -> Float[np.ndarray, "k s"]:
    """The scores of all slots.

    Args:
        slots: the slots and their pairs.
        reading: names the scorers and says how pairs make one number.
        scorer: from `pair_scorer`; a new one if None.

    Returns:
        [k, s] in the order of `reading.names`; 0 (or the slot's constant) where nothing is compared.

    Raises:
        InputError: METEOR without its resources; a `scorer` that lacks one of the reading's scorers.
    """
    scorer = pair_scorer(reading) if scorer is None else scorer
    lacking = next((name for name in reading.names if name not in (*scorer.scorers, "CIDEr")), None)
    if lacking is not None:
        raise InputError(f"live score: the given pair scorer has no {lacking}; make it with the same scorers")
    result = np.zeros((len(slots.time), len(reading.names)))
    if len(slots.slot):
        values = (_calls if reading.gamma == "aggregate" else _means)(slots, scorer, reading)
        for column, name in enumerate(reading.names):
            result[:, column] = values[name]
    return result + slots.constant[:, None]


def _calls(slots: Slots, scorer: PairScorer, reading: Reading) -> dict[str, Float[np.ndarray, " k"]]:
    present, group = np.unique(slots.slot, return_inverse=True)
    captions = [slots.captions[index] for index in slots.caption.tolist()]
    sentences = [slots.sentences[index] for index in slots.sentence.tolist()]
    if reading.mode == "reference":
        # The toolkit's tokenizer gets the pairs of a slot as lines of one text, the captions in one call and the
        # sentences in another.
        captions, sentences = as_read(captions, group), as_read(sentences, group)
    references = [(sentence,) for sentence in sentences]
    called = scorer.calls(captions, references, group, len(present))
    if "CIDEr" in reading.names:
        called |= PairScorer(["CIDEr"]).calls(captions, references, group, len(present))
    result = {name: np.zeros(len(slots.time)) for name in called}
    for name, values in called.items():
        result[name][present] = values
    return result


def _means(slots: Slots, scorer: PairScorer, reading: Reading) -> dict[str, Float[np.ndarray, " k"]]:
    caption_kind, captions = _distinct(slots.captions)
    sentence_kind, sentences = _distinct(slots.sentences)
    keys = caption_kind[slots.caption] * len(sentences) + sentence_kind[slots.sentence]
    pairs, index = np.unique(keys, return_inverse=True)
    said = [captions[kind] for kind in (pairs // len(sentences)).tolist()]
    meant = [(sentences[kind],) for kind in (pairs % len(sentences)).tolist()]
    values = {name: column[index] for name, column in scorer.sentence(said, meant).items()}
    if "CIDEr" in reading.names:
        values["CIDEr"] = _cider(slots, caption_kind, captions)
    number = np.maximum(np.bincount(slots.slot, minlength=len(slots.time)), 1)
    return {
        name: np.bincount(slots.slot, weights=column, minlength=len(number)) / number for name, column in values.items()
    }


def _distinct(sentences: list[str]) -> tuple[Int[np.ndarray, " n"], list[str]]:
    table: dict[str, int] = {}
    return np.array([table.setdefault(sentence, len(table)) for sentence in sentences], np.int64), list(table)


def _cider(slots: Slots, kind: Int[np.ndarray, " c"], captions: list[str]) -> Float[np.ndarray, " p"]:
    """CIDEr of each pair; an n-gram's document frequency counts the events of the pair's own video.

    Neither other videos nor the number of captions change it, so a score does not depend on how a data set is divided
    and not on what is said later. CIDEr takes the items of a call as its documents. So a video is scored in rounds,
    each of them a call whose items are all its events once: in round r beside the r-th caption compared with each.
    """
    pairs, index = np.unique(slots.sentence * len(captions) + kind[slots.caption], return_inverse=True)
    event, caption = pairs // len(captions), pairs % len(captions)
    # Pairs are sorted by event: the place among the captions of the same event is the round.
    turn = np.arange(len(pairs)) - np.searchsorted(event, event)
    video = slots.owner[event]
    rounds = np.zeros(len(slots.videos), np.int64)
    np.maximum.at(rounds, video, turn + 1)
    events = np.bincount(slots.owner[:-1], minlength=len(slots.videos))
    first_event, first_round = np.cumsum(events) - events, np.cumsum(rounds) - rounds
    of_round = np.repeat(np.arange(len(slots.videos)), rounds)
    size = events[of_round]
    first_item = np.cumsum(size) - size
    documents = spread(first_event[of_round], size)
    item = first_item[first_round[video] + turn] + event - first_event[video]
    said = np.full(len(documents), len(captions))
    said[item] = caption
    words = [*tokenize_all(captions), ()]
    meant = [(tokens,) for tokens in tokenize_all(slots.sentences)]
    scores = cider.score(
        [words[which] for which in said.tolist()],
        [meant[which] for which in documents.tolist()],
        np.repeat(np.arange(len(size)), size),
        len(size),
    )
    return scores[item][index]
