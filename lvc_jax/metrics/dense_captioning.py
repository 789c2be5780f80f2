"""Localisation of dense captioning: precision and recall at temporal intersection over union (tIoU) thresholds."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References

THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
# The evaluators' guard against a union of length 0.
_GUARD = 1e-8

Spans = Sequence[Sequence[float]] | Float[np.ndarray, "n 2"]


def interval_iou(first: Spans, second: Spans) -> Float[np.ndarray, "n m"]:
    """Intersection over union of two sets of intervals.

    Args:
        first: n intervals (start, end), seconds.
        second: m intervals (start, end), seconds.

    Returns:
        [n, m]; the union of disjoint intervals is the sum of their lengths.
    """
    a = np.asarray(first, np.float64).reshape(-1, 1, 2)
    b = np.asarray(second, np.float64).reshape(1, -1, 2)
    intersection = np.maximum(0, np.minimum(a[..., 1], b[..., 1]) - np.maximum(a[..., 0], b[..., 0]))
    hull = np.maximum(a[..., 1], b[..., 1]) - np.minimum(a[..., 0], b[..., 0])
    lengths = (a[..., 1] - a[..., 0]) + (b[..., 1] - b[..., 0])
    return intersection / (np.minimum(hull, lengths) + _GUARD)


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
    """
    precision: list[np.ndarray] = []
    recall: list[np.ndarray] = []
    limits = np.asarray(thresholds)
    for video, reference in references.items():
        sets = [events for events in reference["references"] if len(events)]
        spans = [item["timestamp"] for item in predictions.get(video, ())]
        if not sets:
            precision.extend([np.zeros(len(limits))] if spans else [])
            continue
        if not spans:
            precision.append(np.zeros(len(limits)))
            recall.append(np.zeros(len(limits)))
            continue
        above = [interval_iou(spans, [event[:2] for event in events])[..., None] > limits for events in sets]
        precision.append(np.max([hit.any(axis=1).mean(axis=0) for hit in above], axis=0))
        recall.append(np.max([hit.any(axis=0).mean(axis=0) for hit in above], axis=0))
    result: dict[str, float] = {}
    for name, rows in (("precision", precision), ("recall", recall)):
        mean = np.mean(rows, axis=0) if rows else np.zeros(len(limits))
        result.update({f"{name}_{limit:g}": float(value) for limit, value in zip(limits, mean)})
    return result


def localisation_signature() -> str:
    """The signature line of precision and recall."""
    return signature("localisation", match=">tIoU", refs="best", mean="videos")
