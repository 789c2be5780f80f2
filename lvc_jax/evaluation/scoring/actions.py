"""The metrics of online action detection in `score`: files in, `Scored` out."""

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from lvc_jax.data import action_files, frame_files
from lvc_jax.data.json_fields import read_json
from lvc_jax.errors import InputError
from lvc_jax.evaluation.scoring import uses
from lvc_jax.evaluation.scoring.options import Options
from lvc_jax.evaluation.scoring.scored import Scored
from lvc_jax.metrics import average_precision_score as ap
from lvc_jax.metrics import instantaneous_accuracy as ia
from lvc_jax.metrics.result import Result
from lvc_jax.outputs import plots_actions, plots_scores

_SUBSET = "Test"
_SEGMENTS = frozenset({uses.SEGMENTS})


def instantaneous_accuracy(options: Options) -> Scored:
    """Detected segments slot by slot, beside the two baselines."""
    how = ia.reading("reference" if options.reference else "paper", options.slot)
    annotated, subset, notes = _annotated(options)
    detected = action_files.read_detections(options.predictions)
    result = ia.score(annotated, detected, how, subset=subset)
    result.coverage["predictions_without_match"] = _without_match(annotated, detected)
    return _scored(result, how.mode, notes, _accuracy_figures(result, annotated, detected, options.slot))


def average_precision(options: Options) -> Scored:
    """Per-frame class scores, or detected segments as frames; the rules of LSTR by default, ours in `paper`."""
    name = options.implementation or ("lstr" if options.reference else "standard")
    mode = "paper" if name == "standard" else "reference"
    if options.mode not in (None, mode):
        raise InputError(f"--implementation={name}: belongs to --mode={mode}; leave one out")
    chosen: dict[str, Any] = {
        "ignore": options.ignore,
        "ambiguous": options.ambiguous,
        "per_stage": options.per_stage,
    }
    notes: list[str] = []
    frames = _has_frames(options.predictions)
    if frames:
        if len(options.references) != 1:
            raise InputError(f"--references: {len(options.references)} files; expected one for {ap.METRIC}")
        truth = frame_files.read(options.references[0])
        values = frame_files.same_classes(truth, frame_files.read(options.predictions), options.predictions)
        result = ap.score(truth.videos, values.videos, truth.classes, name, **chosen)
    else:
        annotated, subset, notes = _annotated(options)
        detected = action_files.read_detections(options.predictions)
        clock = ia.reading(mode, options.slot).clock
        result = ap.score_segments(annotated, detected, clock, name, subset=subset, **chosen)
        result.coverage["predictions_without_match"] = _without_match(annotated, detected)
    by_class = {key: value for key, value in result.scores.items() if key.startswith(("AP/", "cAP/"))}
    figures = {"average_precision": functools.partial(plots_scores.bars, "Average precision", by_class)}
    holds = frozenset() if frames else _SEGMENTS
    return _scored(result, mode, notes, figures, {"implementation": name}, holds)


def _has_frames(path: str) -> bool:
    if path.endswith(".npz"):
        return True
    content = read_json(path, "predictions")
    return isinstance(content, dict) and "frames" in content


def _annotated(options: Options) -> tuple[action_files.Annotated, str, list[str]]:
    """The annotated videos of the subset, its name, and notes. Without --subset: `Test` where there is one."""
    if len(options.references) != 1:
        raise InputError(f"--references: {len(options.references)} files; expected one of online action detection")
    path = options.references[0]
    videos = action_files.read_annotations(path)
    sizes = Counter(record["subset"] for record in videos.values())
    if options.subset is None and (_SUBSET not in sizes or len(sizes) == 1):
        return videos, "all", []
    subset = _SUBSET if options.subset is None else options.subset
    known = ", ".join(f"{name!r} ({number} videos)" for name, number in sorted(sizes.items())) or "none"
    if subset not in sizes and not options.reference:
        raise InputError(f"{path}: no video of subset {subset!r}; subsets there: {known}")
    notes = []
    if subset not in sizes:
        notes = [f"No video of subset {subset!r} in {path}; subsets there: {known}."]
    elif options.subset is None:
        notes = [f"Subset {subset!r}, the default; subsets there: {known}."]
    return {video: record for video, record in videos.items() if record["subset"] == subset}, subset, notes


def _without_match(annotated: Mapping[str, Any], detected: Mapping[str, Any]) -> int:
    """Detections in annotated videos that have no moment in common with an annotation of their label."""
    number = 0
    for video in annotated.keys() & detected.keys():
        for label in {item["label"] for item in detected[video]}:
            said, meant = (
                np.array([item["segment"] for item in items if item["label"] == label]).reshape(-1, 2)
                for items in (detected[video], annotated[video]["annotations"])
            )
            starts = np.maximum(said[:, None, 0], meant[None, :, 0])
            met = np.minimum(said[:, None, 1], meant[None, :, 1]) > starts
            number += int((~met.any(axis=1)).sum())
    return number


def _scored(
    result: Result,
    mode: str,
    notes: Sequence[str],
    figures: Mapping[str, Callable[[], Figure]],
    more: Mapping[str, Any] | None = None,
    holds: frozenset[str] = _SEGMENTS,
) -> Scored:
    return Scored(
        result.metric,
        mode,
        result.signature,
        result.scores,
        result.per_video,
        result.coverage,
        result.baselines,
        (*notes, *result.notes),
        more or {},
        figures,
        holds,
    )


def _accuracy_figures(
    result: Result, annotated: action_files.Annotated, detected: Mapping[str, Any], slot: float
) -> dict[str, Callable[[], Figure]]:
    """Figure 2 of the paper for the video with the median accuracy."""
    ranked = sorted(result.per_video, key=lambda video: result.per_video[video]["weighted_aIA"])
    figures: dict[str, Callable[[], Figure]] = {}
    for name in ranked[len(ranked) // 2 :][:1]:
        figures["instantaneous_accuracy_median"] = functools.partial(
            plots_actions.instantaneous_accuracy,
            f"Video {name}",
            slot,
            {"detector": result.per_video[name]},
            annotated[name]["annotations"],
            detected.get(name, ()),
        )
    return figures
