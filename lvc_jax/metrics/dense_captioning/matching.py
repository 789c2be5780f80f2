"""Videos as flat arrays, and which prediction meets which event, for all videos at once."""

import numbers
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from lvc_jax.errors import InputError
from lvc_jax.metrics.runs import spread
from lvc_jax.metrics.slots import Predictions, References

# Pairs of intervals that are compared at a time: some tens of MB.
_BLOCK = 1 << 20
# The evaluators' guard against a union of length 0.
GUARD = 1e-8
# Seconds; beyond it interval arithmetic in float64 loses sense.
_LATEST = 1e12
_WORD_CHARACTER = re.compile("[A-Za-z0-9]")


class Intervals(NamedTuple):
    """Timed sentences of many videos, video by video.

    Attributes:
        span: [n, 2] start and end, seconds.
        video: [n] index of the video, ascending.
        group: [n] index of the annotation set within the video; 0 for predictions.
        sentence: n sentences (array of str objects).
    """

    span: Float[np.ndarray, "n 2"]
    video: Int[np.ndarray, " n"]
    group: Int[np.ndarray, " n"]
    sentence: np.ndarray

    def keep(self, mask: Bool[np.ndarray, " n"]) -> "Intervals":
        """Those where the mask is true."""
        return Intervals(self.span[mask], self.video[mask], self.group[mask], self.sentence[mask])

    @property
    def has_words(self) -> Bool[np.ndarray, " n"]:
        """Whether the sentence has a letter or digit (of ASCII, as all others are blanked before scoring)."""
        return np.fromiter((_WORD_CHARACTER.search(text) is not None for text in self.sentence), bool, len(self.span))


class Meetings(NamedTuple):
    """Pairs of a prediction and an event of the same video, by prediction, then by event, with their tIoU."""

    prediction: Int[np.ndarray, " k"]
    event: Int[np.ndarray, " k"]
    iou: Float[np.ndarray, " k"]


def _seconds(times: Any) -> tuple[float, float] | None:
    """Start and end as floats, or None if they are not two finite numbers."""
    try:
        start, end = times
        if not all(isinstance(time, numbers.Real) and not isinstance(time, bool) for time in (start, end)):
            return None
        span = float(start), float(end)
    except (TypeError, ValueError, OverflowError):
        return None
    # Written so that NaN fails.
    return span if abs(span[0]) < _LATEST and abs(span[1]) < _LATEST else None


def _intervals(rows: Sequence[tuple[str, int, int, Any, Any]], what: str) -> Intervals:
    """Checks and flattens rows (video, index of the video, group, times, sentence)."""
    spans = []
    for video, _, _, times, sentence in rows:
        span = _seconds(times)
        if span is None:
            raise InputError(f"video {video}: {what}: timestamp {times!r:.80}: give [start, end] in seconds, finite")
        if not isinstance(sentence, str):
            raise InputError(f"video {video}: {what}: sentence {sentence!r:.80}: give a string")
        spans.append(span)
    sentences = np.empty(len(rows), object)
    sentences[:] = [row[4] for row in rows]
    return Intervals(
        np.array(spans, np.float64).reshape(-1, 2),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.int64),
        sentences,
    )


def _sets(references: References, video: str) -> list[list[Any]]:
    try:
        return [list(events) for events in references[video]["references"]]
    except (KeyError, TypeError):
        raise InputError(f"video {video}: references: give a list of events for each annotation set") from None


def _items(predictions: Predictions, video: str) -> Sequence[Any]:
    items = predictions.get(video, ())
    if not isinstance(items, Sequence) or isinstance(items, str):
        raise InputError(f"video {video}: predictions: give a list of predictions")
    return items


def overview(references: References, predictions: Predictions) -> tuple[int, dict[str, int]]:
    """The number of annotation sets, and what is there to score.

    Raises:
        InputError: no reference video, or something that is no collection of videos.
    """
    for name, part in (("references", references), ("predictions", predictions)):
        if not isinstance(part, Mapping):
            raise InputError(f"{name}: give a mapping from videos, not a {type(part).__name__}")
    if not references:
        raise InputError("references: no reference video to score against")
    counts = {video: len(_items(predictions, video)) for video in predictions}
    extra = {video: count for video, count in counts.items() if video not in references}
    return max(len(_sets(references, video)) for video in references), {
        "videos_missing": sum(not counts.get(video) for video in references),
        "videos_extra": len(extra),
        "predictions": sum(counts.values()),
        "predictions_extra": sum(extra.values()),
    }


def flatten_events(references: References, videos: Sequence[str]) -> Intervals:
    """The events of the videos, by video, annotation set and place in the file.

    Args:
        references: {video: {"references": [[(start, end, sentence), ...] per annotation set]}}, seconds.
        videos: ids, each in `references`.

    Raises:
        InputError: a malformed event; names the video and the field.
    """
    rows: list[tuple[str, int, int, Any, Any]] = []
    for index, video in enumerate(videos):
        for group, events in enumerate(_sets(references, video)):
            for event in events:
                if not isinstance(event, Sequence) or isinstance(event, str) or len(event) != 3:
                    raise InputError(f"video {video}: reference event {event!r:.80}: give (start, end, sentence)")
                rows.append((video, index, group, event[:2], event[2]))
    return _intervals(rows, "reference event")


def flatten_predictions(
    predictions: Predictions, videos: Sequence[str], limit: int | None = None, *, sentences: bool = True
) -> Intervals:
    """The predictions of the videos in the order of the file.

    Args:
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence"}]}.
        videos: ids; those without predictions have none.
        limit: predictions of a video that are read; None for all.
        sentences: whether they are needed; otherwise all are blank.

    Raises:
        InputError: a malformed prediction; names the video and the field.
    """
    rows: list[tuple[str, int, int, Any, Any]] = []
    for index, video in enumerate(videos):
        for item in _items(predictions, video)[:limit]:
            if not isinstance(item, Mapping):
                raise InputError(f"video {video}: prediction {item!r:.80}: give an object with timestamp and sentence")
            rows.append((video, index, 0, item.get("timestamp"), item.get("sentence") if sentences else ""))
    return _intervals(rows, "prediction")


def usable(events: Intervals, predictions: Intervals) -> tuple[Intervals, Intervals, dict[str, int]]:
    """What the strict readings keep: events with a length and words, predictions with words.

    Returns:
        events, predictions, and counts of what is left out: `events_unusable`, `predictions_wordless`.
    """
    kept = (events.span[:, 0] < events.span[:, 1]) & events.has_words
    worded = predictions.has_words
    left_out = {"events_unusable": int((~kept).sum()), "predictions_wordless": int((~worded).sum())}
    return events.keep(kept), predictions.keep(worded), left_out


def _blocks(total: Int[np.ndarray, " n"]) -> Iterator[slice]:
    """Consecutive ranges whose totals stay below the block's size (or that hold one element)."""
    ends = np.cumsum(total)
    first = 0
    while first < len(total):
        before = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + _BLOCK, side="right")))
        yield slice(first, last)
        first = last


def meet(predictions: Intervals, events: Intervals, videos: int, *, floor: float, guard: float = GUARD) -> Meetings:
    """The pairs of every video whose tIoU is at least `floor`.

    Args:
        predictions: of all videos.
        events: of all videos.
        videos: how many there are.
        floor: smallest tIoU of interest; pairs without a common moment (tIoU 0) are kept only if it is 0 or less.
        guard: added to the union, seconds.

    Returns:
        The pairs; tIoU is intersection / (union + guard), and 0 where either interval is reversed.
    """
    number = np.bincount(events.video, minlength=videos)
    first = np.cumsum(number) - number
    per_prediction = number[predictions.video]
    parts = []
    for block in _blocks(per_prediction):
        repeat = per_prediction[block]
        prediction = np.repeat(np.arange(block.start, block.stop), repeat)
        event = spread(first[predictions.video[block]], repeat)
        iou = paired_iou(predictions.span[prediction], events.span[event], guard)
        kept = iou >= floor
        parts.append(Meetings(prediction[kept], event[kept], iou[kept]))
    if not parts:
        return Meetings(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
    return Meetings(*(np.concatenate(columns) for columns in zip(*parts)))


def paired_iou(
    first: Float[np.ndarray, "... 2"], second: Float[np.ndarray, "... 2"], guard: float = GUARD
) -> Float[np.ndarray, "..."]:
    """Intersection over union of intervals, element by element, with broadcasting.

    Args:
        first: start and end, seconds.
        second: start and end, seconds.
        guard: added to the union, seconds.

    Returns:
        The ratios; the union of disjoint intervals is the sum of their lengths; 0 without a common moment.
    """
    common = np.minimum(first[..., 1], second[..., 1]) - np.maximum(first[..., 0], second[..., 0])
    hull = np.maximum(first[..., 1], second[..., 1]) - np.minimum(first[..., 0], second[..., 0])
    lengths = (first[..., 1] - first[..., 0]) + (second[..., 1] - second[..., 0])
    # Intervals with a common moment both have a length, so that the union is positive where it is used.
    return np.divide(common, np.minimum(hull, lengths) + guard, out=np.zeros_like(hull), where=common > 0)
