"""Which captions and which reference sentences are compared in which slot: index arrays over a whole data set."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.metrics import slots as clock
from lvc_jax.metrics.dense_captioning import interval_iou
from lvc_jax.metrics.live_score.reading import Reading
from lvc_jax.metrics.slots import Predictions, References

# With the prediction clock a caption and an event meet from this intersection over union on.
_MEET = 0.001
# With the prediction clock no more of a video's predictions are read, as in the toolkit.
_MOST_PREDICTIONS = 1000
# What the original scorers are given beside a caption that meets no event: a word that no caption has.
_NO_EVENT = "qxzvqxzvqxzvqxz"


class Slots(NamedTuple):
    """The scored slots of all videos, video after video, and their pairs.

    Attributes:
        videos: their names.
        counts: scored slots of each video, [v].
        time: end of each slot in seconds, [k].
        false_positives: captions of each slot that describe no event, [k].
        constant: what is added to the score of each slot, [k]; it is not 0 only where nothing is compared.
        captions: the caption of each prediction.
        sentences: the sentence of each reference event; the last one is a word that no caption has.
        owner: the video of each entry of `sentences`, [m]; -1 for the last.
        slot, caption, sentence: of each pair: its slot, its index into `captions` and its index into `sentences`, [p].
    """

    videos: list[str]
    counts: Int[np.ndarray, " v"]
    time: Float[np.ndarray, " k"]
    false_positives: Float[np.ndarray, " k"]
    constant: Float[np.ndarray, " k"]
    captions: list[str]
    sentences: list[str]
    owner: Int[np.ndarray, " m"]
    slot: Int[np.ndarray, " p"]
    caption: Int[np.ndarray, " p"]
    sentence: Int[np.ndarray, " p"]


def collect(references: References, predictions: Predictions, reading: Reading) -> Slots:
    """Sorts captions and events of every video of the references into slots.

    Args:
        references, predictions: see `score_videos`.
        reading: decides what a slot is and which are scored.
    """
    events = {
        video: [
            event
            for group in reference["references"][: 1 if reading.references == "first" else None]
            for event in group
        ]
        for video, reference in references.items()
    }
    said = (item["sentence"] for video in references for item in predictions.get(video, ()))
    sentences = [*(event[2] for own in events.values() for event in own), _word_in_none(said)]
    owner = np.append(np.repeat(np.arange(len(events)), [len(own) for own in events.values()]), -1)
    gather = _by_prediction if reading.clock == "prediction" else _by_time
    return gather(references, predictions, events, sentences, owner, reading)


def _word_in_none(captions: Iterable[str]) -> str:
    word, text = _NO_EVENT, "\n".join(captions).lower()
    while word in text:
        word += "q"
    return word


def _join(left: Int[np.ndarray, " a"], right: Int[np.ndarray, " b"], slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of indices (i, j) with left[i] == right[j]; entries are slots."""
    order = np.argsort(right, kind="stable")
    held = np.bincount(right, minlength=slots)
    repeats = held[left]
    first = (np.cumsum(held) - held)[left]
    position = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    return np.repeat(np.arange(len(left)), repeats), order[np.repeat(first, repeats) + position]


def _ranges(first: Int[np.ndarray, " n"], lengths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " total"]:
    """first[0], first[0]+1, ... (lengths[0] numbers), first[1], ..."""
    before = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum()) + np.repeat(first - before, lengths)


def _integers(values: Sequence[int]) -> Int[np.ndarray, " n"]:
    return np.array(values, np.int64)


def _by_time(
    references: References,
    predictions: Predictions,
    events: dict[str, list],
    sentences: list[str],
    owner: Int[np.ndarray, " m"],
    reading: Reading,
) -> Slots:
    step = reading.delta_t
    duration = np.array([float(reference["duration"]) for reference in references.values()])
    number = _integers([clock.number_of_slots(seconds, step) for seconds in duration])
    offset = np.cumsum(number) - number
    total = int(number.sum())
    captions: list[str] = []
    spoken: list[int] = []
    spans: list[tuple[int, int]] = []
    for video, first, slots in zip(references, offset.tolist(), number.tolist()):
        for item in predictions.get(video, ()):
            captions.append(item["sentence"])
            spoken.append(first + clock.slot_of(item, step, slots))
        for event in events[video]:
            begin, end = clock.slots_of_event(event[0], event[1], step, slots)
            spans.append((first + begin, max(0, end - begin + 1)))
    starts, length = np.array(spans, np.int64).reshape(-1, 2).T
    happening = _ranges(starts, length)
    event = np.repeat(np.arange(len(spans)), length)
    said = _integers(spoken)
    number_said, number_happening = np.bincount(said, minlength=total), np.bincount(happening, minlength=total)
    silent, mute = number_happening == 0, number_said == 0
    caption, hit = _join(said, happening, total)
    slot, sentence = said[caption], event[hit]
    if reading.gamma == "aggregate":
        wrong = np.flatnonzero(silent[said])
        caption = np.concatenate([caption, wrong])
        slot = np.concatenate([slot, said[wrong]])
        sentence = np.concatenate([sentence, np.full(len(wrong), len(sentences) - 1)])
    scored = ~mute
    if reading.missed == "zero":
        scored |= mute & ~silent
    if reading.silent != "skip":
        scored |= mute & silent
    place = np.cumsum(scored) - 1
    of_video = np.repeat(np.arange(len(number)), number)
    within = np.arange(total) - offset[of_video]
    ends = duration[of_video] if step is None else np.minimum((within + 1) * step, duration[of_video])
    rewarded = mute & silent & (reading.silent == "one")
    return Slots(
        list(references),
        np.bincount(of_video[scored], minlength=len(number)),
        ends[scored],
        np.where(silent, number_said, 0)[scored].astype(np.float64),
        rewarded[scored].astype(np.float64),
        captions,
        sentences,
        owner,
        place[slot],
        caption,
        sentence,
    )


def _by_prediction(
    references: References,
    predictions: Predictions,
    events: dict[str, list],
    sentences: list[str],
    owner: Int[np.ndarray, " m"],
    reading: Reading,
) -> Slots:
    captions: list[str] = []
    ends: list[float] = []
    counts, rows, columns = [], [], []
    offset = 0
    for video in references:
        own = events[video]
        items = predictions.get(video, ())[:_MOST_PREDICTIONS]
        counts.append(len(items))
        if items and own:
            iou = interval_iou([item["timestamp"] for item in items], [event[:2] for event in own])
            row, column = np.nonzero(iou >= _MEET)
            rows.append(len(captions) + row)
            columns.append(offset + column)
        captions += [item["sentence"] for item in items]
        ends += [float(item["timestamp"][1]) for item in items]
        offset += len(own)
    none = [np.zeros(0, np.int64)]
    slot, sentence = np.concatenate(rows or none), np.concatenate(columns or none)
    met = np.zeros(len(captions), bool)
    met[slot] = True
    if reading.gamma == "aggregate":
        wrong = np.flatnonzero(~met)
        slot = np.concatenate([slot, wrong])
        sentence = np.concatenate([sentence, np.full(len(wrong), len(sentences) - 1)])
    zero = np.zeros(len(captions))
    return Slots(
        list(references),
        _integers(counts),
        np.array(ends, np.float64),
        (~met).astype(np.float64),
        zero,
        captions,
        sentences,
        owner,
        slot,
        slot,
        sentence,
    )
