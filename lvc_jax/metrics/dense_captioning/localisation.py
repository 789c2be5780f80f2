"""Localisation of dense captioning: precision and recall at temporal intersection over union (tIoU) thresholds."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from lvc_jax.errors import InputError
from lvc_jax.metrics.dense_captioning.matching import (
    Intervals,
    Meetings,
    flatten_events,
    flatten_predictions,
    meet,
    paired_iou,
)
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References

THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
# Where a threshold itself counts, a ratio that rounding put this far below it does too.
TOLERANCE = 1e-9

Spans = Sequence[Sequence[float]] | Float[np.ndarray, "n 2"]


def check_thresholds(thresholds: Sequence[float]) -> tuple[float, ...]:
    """The thresholds as floats.

    Raises:
        InputError: none, one outside (0, 1], or one given twice.
    """
    values = tuple(float(limit) for limit in thresholds)
    if not values or len(set(values)) != len(values) or not all(0 < limit <= 1 for limit in values):
        raise InputError(f"tIoU thresholds {list(thresholds)}: give one or more above 0 and up to 1, none twice")
    return values


def interval_iou(first: Spans, second: Spans) -> Float[np.ndarray, "n m"]:
    """Intersection over union of two sets of intervals.

    Args:
        first: n intervals (start, end), seconds.
        second: m intervals (start, end), seconds.

    Returns:
        [n, m]; the union of disjoint intervals is the sum of their lengths.
    """
    return paired_iou(np.asarray(first, np.float64).reshape(-1, 1, 2), np.asarray(second, np.float64).reshape(1, -1, 2))


def video_precision_recall(
    predictions: Intervals,
    events: Intervals,
    meetings: Meetings,
    videos: int,
    thresholds: Sequence[float],
    *,
    inclusive: bool = False,
) -> tuple[Float[np.ndarray, "v t"], Float[np.ndarray, "v t"]]:
    """Precision and recall of each video at each threshold, each at the best of its annotation sets.

    Args:
        predictions: of all videos.
        events: of all videos.
        meetings: their pairs, at least those that reach the smallest threshold.
        videos: how many there are.
        thresholds: tIoU, t of them.
        inclusive: a tIoU equal to the threshold counts too.

    Returns:
        The share of predictions that meet an event of the set, and of the set's events that meet a prediction; 0 where
        there is no prediction, or no event in any set.
    """
    sets = int(events.group.max(initial=0)) + 1
    place = events.video * sets + events.group
    n_events = np.bincount(place, minlength=videos * sets).reshape(videos, sets)
    n_predictions = np.bincount(predictions.video, minlength=videos)
    precision, recall = np.zeros((2, videos, len(thresholds)))
    for index, limit in enumerate(thresholds):
        hit = meetings.iou >= limit - TOLERANCE if inclusive else meetings.iou > limit
        met = np.zeros((len(predictions.video), sets))
        met[meetings.prediction[hit], events.group[meetings.event[hit]]] = 1
        right = np.zeros((videos, sets))
        np.add.at(right, predictions.video, met)
        found = np.zeros(len(events.video))
        found[meetings.event[hit]] = 1
        captioned = np.bincount(place, found, minlength=videos * sets).reshape(videos, sets)
        precision[:, index] = (right / np.maximum(n_predictions, 1)[:, None]).max(axis=1, initial=0)
        recall[:, index] = (captioned / np.maximum(n_events, 1)).max(axis=1, initial=0)
    return precision, recall


def precision_recall(
    references: References, predictions: Predictions, thresholds: Sequence[float] = THRESHOLDS
) -> dict[str, float]:
    """Precision and recall at each threshold, strictly above it, as the ActivityNet Captions evaluator counts.

    Per video: the share of predictions that meet a reference event, and the share of reference events that meet a
    prediction; with several reference sets the best of the sets, separately for precision and recall; then the mean
    over videos. A video without predictions has 0 for both. A reference set without events is left out, and so is a
    video in which no set has an event, unless it has predictions, which then have precision 0.

    Args:
        references: {video: {"references": [[(start, end, sentence), ...], ...]}}, seconds.
        predictions: {video: [{"timestamp": [start, end] seconds}]}.
        thresholds: tIoU thresholds.

    Returns:
        {"precision_0.3": fraction, "recall_0.3": fraction, ...}; 0 if no video counts.

    Raises:
        InputError: malformed times or thresholds.
    """
    limits = check_thresholds(thresholds)
    videos = list(references)
    events = flatten_events(references, videos)
    found = flatten_predictions(predictions, videos, sentences=False)
    meetings = meet(found, events, len(videos), floor=min(limits))
    values = video_precision_recall(found, events, meetings, len(videos), limits)
    eventful = np.bincount(events.video, minlength=len(videos)) > 0
    counted = (eventful | (np.bincount(found.video, minlength=len(videos)) > 0), eventful)
    result: dict[str, float] = {}
    for name, rows, kept in zip(("precision", "recall"), values, counted):
        mean = rows[kept].mean(axis=0) if kept.any() else np.zeros(len(limits))
        result.update({f"{name}_{limit:g}": float(value) for limit, value in zip(limits, mean)})
    return result


def localisation_signature() -> str:
    """The signature line of precision and recall."""
    return signature("localisation", match=">tIoU", refs="best", mean="videos")
