"""Which captions and which reference sentences are compared in which slot: index arrays over a whole data set."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.metrics import slots as clock
from lvc_jax.metrics.dense_captioning import interval_iou
from lvc_jax.metrics.live_score.reading import Reading
from lvc_jax.metrics.runs import spread
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.text.garbage import word_in_none

# With the prediction clock a caption and an event meet from this intersection over union on.
_MEET = 0.001
# With the prediction clock no more of a video's predictions are read, as in the toolkit.
_MOST_PREDICTIONS = 1000


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


class _Found(NamedTuple):
    """What a clock finds: its scored slots and the pairs that meet in them; the names are those of `Slots`.

    `alone`: captions that meet no event.
    """

    counts: Int[np.ndarray, " v"]
    time: Float[np.ndarray, " k"]
    false_positives: Float[np.ndarray, " k"]
    constant: Float[np.ndarray, " k"]
    caption_slot: Int[np.ndarray, " c"]
    caption: Int[np.ndarray, " p"]
    sentence: Int[np.ndarray, " p"]
    alone: Int[np.ndarray, " a"]


def collect(references: References, predictions: Predictions, reading: Reading) -> Slots:
    """Sorts captions and events of every video of the references into slots.

    Args:
        references, predictions: see `score_videos`.
        reading: decides what a slot is and which are scored.

    Returns:
        The scored slots in the order of the videos and of time (of the file with clock "prediction"). With gamma
        "aggregate" a caption that meets no event is paired with the word that no caption has.
    """
    used = 1 if reading.references == "first" else None
    events = [
        [event for group in reference["references"][:used] for event in group] for reference in references.values()
    ]
    by_prediction = reading.clock == "prediction"
    limit = _MOST_PREDICTIONS if by_prediction else None
    items = [predictions.get(video, ())[:limit] for video in references]
    captions = [item["sentence"] for own in items for item in own]
    everything = (item["sentence"] for video in references for item in predictions.get(video, ()))
    sentences = [*(event[2] for own in events for event in own), word_in_none(everything)]
    if by_prediction:
        found = _by_prediction(items, events)
    else:
        found = _by_time([float(reference["duration"]) for reference in references.values()], items, events, reading)
    caption, sentence = found.caption, found.sentence
    if reading.gamma == "aggregate":
        caption = np.concatenate([caption, found.alone])
        sentence = np.concatenate([sentence, np.full(len(found.alone), len(sentences) - 1)])
    return Slots(
        list(references),
        found.counts,
        found.time,
        found.false_positives,
        found.constant,
        captions,
        sentences,
        np.append(np.repeat(np.arange(len(events)), [len(own) for own in events]), -1),
        found.caption_slot[caption],
        caption,
        sentence,
    )


def _join(left: Int[np.ndarray, " a"], right: Int[np.ndarray, " b"], slots: int) -> tuple[np.ndarray, np.ndarray]:
    """Every pair of indices (i, j) with left[i] == right[j]; entries are slots."""
    order = np.argsort(right, kind="stable")
    held = np.bincount(right, minlength=slots)
    repeats = held[left]
    first = (np.cumsum(held) - held)[left]
    return np.repeat(np.arange(len(left)), repeats), order[spread(first, repeats)]


def _integers(values: Sequence[int]) -> Int[np.ndarray, " n"]:
    return np.array(values, np.int64)


def _by_time(durations: Sequence[float], items: Sequence, events: Sequence, reading: Reading) -> _Found:
    step = reading.delta_t
    number = _integers([clock.number_of_slots(seconds, step) for seconds in durations])
    offset = np.cumsum(number) - number
    total = int(number.sum())
    spoken: list[int] = []
    spans: list[tuple[int, int]] = []
    for own_items, own_events, first, slots in zip(items, events, offset.tolist(), number.tolist(), strict=True):
        spoken += [first + clock.slot_of(item, step, slots) for item in own_items]
        for event in own_events:
            begin, end = clock.slots_of_event(event[0], event[1], step, slots)
            spans.append((first + begin, max(0, end - begin + 1)))
    starts, length = np.array(spans, np.int64).reshape(-1, 2).T
    happening = spread(starts, length)
    said = _integers(spoken)
    number_said, number_happening = np.bincount(said, minlength=total), np.bincount(happening, minlength=total)
    silent, mute = number_happening == 0, number_said == 0
    caption, hit = _join(said, happening, total)
    scored = ~mute
    if reading.missed == "zero":
        scored |= mute & ~silent
    if reading.silent != "skip":
        scored |= mute & silent
    of_video = np.repeat(np.arange(len(number)), number)
    within = np.arange(total) - offset[of_video]
    duration = np.array(durations, np.float64)[of_video]
    ends = duration if step is None else np.minimum((within + 1) * step, duration)
    rewarded = mute & silent & (reading.silent == "one")
    return _Found(
        np.bincount(of_video[scored], minlength=len(number)),
        ends[scored],
        np.where(silent, number_said, 0)[scored].astype(np.float64),
        rewarded[scored].astype(np.float64),
        (np.cumsum(scored) - 1)[said],
        caption,
        np.repeat(np.arange(len(spans)), length)[hit],
        np.flatnonzero(silent[said]),
    )


def _by_prediction(items: Sequence, events: Sequence) -> _Found:
    counts = _integers([len(own) for own in items])
    total = int(counts.sum())
    rows, columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    caption_offset = event_offset = 0
    for own_items, own_events in zip(items, events, strict=True):
        if own_items and own_events:
            iou = interval_iou([item["timestamp"] for item in own_items], [event[:2] for event in own_events])
            row, column = np.nonzero(iou >= _MEET)
            rows.append(caption_offset + row)
            columns.append(event_offset + column)
        caption_offset += len(own_items)
        event_offset += len(own_events)
    caption = np.concatenate(rows)
    alone = np.ones(total, bool)
    alone[caption] = False
    return _Found(
        counts,
        np.array([float(item["timestamp"][1]) for own in items for item in own], np.float64),
        alone.astype(np.float64),
        np.zeros(total),
        np.arange(total),
        caption,
        np.concatenate(columns),
        np.flatnonzero(alone),
    )
