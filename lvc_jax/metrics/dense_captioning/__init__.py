"""Offline dense captioning: the evaluators of ActivityNet Captions, and precision and recall on their own."""

from lvc_jax.metrics.dense_captioning.evaluator import evaluate
from lvc_jax.metrics.dense_captioning.localisation import (
    THRESHOLDS,
    Spans,
    interval_iou,
    localisation_signature,
    precision_recall,
)
from lvc_jax.metrics.dense_captioning.versions import VERSIONS, Version, version_named
from lvc_jax.metrics.result import Result

__all__ = [
    "THRESHOLDS",
    "VERSIONS",
    "Result",
    "Spans",
    "Version",
    "evaluate",
    "interval_iou",
    "localisation_signature",
    "precision_recall",
    "version_named",
]
