"""50Salads captions as online action detection, in both readings: what an evaluation keeps, shows and writes of it."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from lvc_jax.evaluation import actions
from lvc_jax.evaluation.baselines import NAMES
from lvc_jax.files import atomic_write
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.outputs import plots_actions, plots_scores

MODES = ("paper", "reference")
SLOT_S = 0.5
"""Δt of the metrics in seconds, as in the toolkit of the Instantaneous Accuracy."""
_SCORES = ("maIA", "weighted_maIA", "mAP", "cmAP")
_CURVES = ("IA", "weighted_IA")

Curves = dict[str, Float[np.ndarray, "2 n"]]
"""{video: IA and weighted IA after each slot}."""


class Example(NamedTuple):
    """The video of the picture: what was annotated, and what the first method said."""

    video: str
    annotated: list[dict[str, Any]]
    detected: list[dict[str, Any]]


class ActionTable(NamedTuple):
    """Every method in both readings.

    Attributes:
        rows: {method: {"paper/maIA": fraction or None, ..., "unknown": captions of no action}}; after the methods all
            background and the perfect model, which have no `unknown`.
        curves: {reading: {method: curves}}, float32: a hundredth of what lists of numbers would take.
        signatures: {reading: lines of the two metrics}.
        notes: sentences that belong beside the numbers.
        example: the video with the first method's median accuracy (reading `paper`).
    """

    rows: dict[str, dict[str, float | None]]
    curves: dict[str, dict[str, Curves]]
    signatures: dict[str, list[str]]
    notes: list[str]
    example: Example


def score(references: References, methods: Mapping[str, Predictions]) -> ActionTable:
    """Scores captions of 50Salads by Instantaneous Accuracy and average precision; see `actions.score`.

    Args:
        references: verbalised references.
        methods: {method: {video: items}}, the model first; at least one.

    Raises:
        InputError: references that are no verbalised labels of 50Salads.
    """
    rows: dict[str, dict[str, float | None]] = {}
    curves: dict[str, dict[str, Curves]] = {}
    signatures, notes = {}, []
    example = None
    for mode in MODES:
        found = actions.score(references, methods, mode, SLOT_S)
        for method, scores in found.scores.items():
            row = rows.setdefault(method, {})
            row |= {f"{mode}/{name}": _finite(scores[name]) for name in _SCORES}
            if method in found.unknown:
                row["unknown"] = found.unknown[method]
        curves[mode] = {
            method: {
                video: np.array([own[name] for name in _CURVES], np.float32) for video, own in result.per_video.items()
            }
            for method, result in found.accuracy.items()
        }
        first = next(iter(methods))
        signatures[mode] = [found.accuracy[first].signature, found.precision[first].signature]
        for result in (found.accuracy[first], found.precision[first]):
            notes += [f"{result.metric}, {mode}: {note}" for note in result.notes]
        example = example or _example(found, first)
    assert example is not None
    return ActionTable(rows, curves, signatures, notes, example)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _example(found: actions.ActionScores, method: str) -> Example:
    own = found.accuracy[method].per_video
    ranked = sorted(own, key=lambda video: (own[video]["aIA"], video))
    video = ranked[len(ranked) // 2]
    return Example(video, found.annotated[video]["annotations"], found.detected[method].get(video, []))


def write(path: Path, table: ActionTable) -> None:
    """Writes scores, signatures and the curves of every video as strict JSON; curves with six decimals.

    Args:
        path: the file.
        table: from `score`.
    """
    content = {
        "slot_s": SLOT_S,
        "signature": table.signatures,
        "notes": table.notes,
        "scores": {
            mode: {method: {name: row[f"{mode}/{name}"] for name in _SCORES} for method, row in table.rows.items()}
            for mode in MODES
        },
        "unknown": {method: row["unknown"] for method, row in table.rows.items() if "unknown" in row},
        "per_video": {
            mode: {
                method: {video: _video(values) for video, values in videos.items()} for method, videos in own.items()
            }
            for mode, own in table.curves.items()
        },
    }
    with atomic_write(path) as file:
        json.dump(content, file, allow_nan=False)
        file.write("\n")


def _video(values: Float[np.ndarray, "2 n"]) -> dict[str, list[float]]:
    rounded = np.round(values.astype(np.float64), 6)
    return {name: own.tolist() for name, own in zip(_CURVES, rounded, strict=True)}


def figure(table: ActionTable, title: str) -> Figure:
    """Figure 2 of the Instantaneous Accuracy paper for the example video, in the reading `paper`.

    Args:
        table: from `score`.
        title: says what was scored; the video's name is added.
    """
    video = table.example.video
    curves = {
        NAMES.get(method, method): dict(zip(_CURVES, (own.tolist() for own in videos[video]), strict=True))
        for method, videos in table.curves["paper"].items()
    }
    name = plots_scores.plain(f"Video {video}")
    return plots_actions.instantaneous_accuracy(
        f"{title}: {name}", SLOT_S, curves, table.example.annotated, table.example.detected
    )
