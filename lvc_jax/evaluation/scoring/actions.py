"""The metrics of online action detection in `score`: files in, `Scored` out."""

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from lvc_jax.data import action_files, frame_files
from lvc_jax.data.json_fields import read_json
from lvc_jax.errors import InputError
from lvc_jax.evaluation.scoring import coverage, inputs, uses
from lvc_jax.evaluation.scoring.options import Options
from lvc_jax.evaluation.scoring.scored import Scored
from lvc_jax.metrics import average_precision_score as ap
from lvc_jax.metrics import instantaneous_accuracy as ia
from lvc_jax.metrics.instantaneous_accuracy_slots import Clock
from lvc_jax.metrics.result import Result
from lvc_jax.outputs import plots_actions, plots_scores

_SUBSET = "Test"
_SEGMENTS = frozenset({uses.SEGMENTS})


def instantaneous_accuracy(options: Options) -> Scored:
    """Detected segments slot by slot, beside the two baselines."""
    how = ia.reading("reference" if options.reference else "paper", options.slot)
    part = _part(options, lenient=options.reference)
    annotated, detected = part.videos, action_files.read_detections(options.predictions)
    result = ia.score(annotated, detected, how, subset=part.subset)
    result.coverage["predictions_without_match"] = _without_match(annotated, detected)
    notes = [*part.notes, *_notes(part, detected, how.clock)]
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
        notes += coverage.strangers(truth.videos.keys(), values.videos.keys())
        result = ap.score(truth.videos, values.videos, truth.classes, name, **chosen)
    else:
        part = _part(options)
        detected = action_files.read_detections(options.predictions)
        clock = ia.reading(mode, options.slot).clock
        result = ap.score_segments(part.videos, detected, clock, name, subset=part.subset, **chosen)
        result.coverage["predictions_without_match"] = _without_match(part.videos, detected)
        notes = [*part.notes, *_notes(part, detected, clock)]
    by_class = {key: value for key, value in result.scores.items() if key.startswith(("AP/", "cAP/"))}
    figures = {"average_precision": functools.partial(plots_scores.bars, f"Average precision, {name}", by_class)}
    holds = frozenset() if frames else _SEGMENTS
    return _scored(result, mode, notes, figures, {"implementation": name}, holds)


def _has_frames(path: str) -> bool:
    if path.endswith(".npz"):
        return True
    content = read_json(path, "predictions")
    return isinstance(content, dict) and "frames" in content


class _Part(NamedTuple):
    """Annotated videos: those of the subset, its name, notes, and the names of the videos of other subsets."""

    videos: action_files.Annotated
    subset: str
    notes: list[str]
    others: frozenset[str]


def _part(options: Options, *, lenient: bool = False) -> _Part:
    """The subset that is asked for; without --subset `Test` where there is one, else everything.

    Args:
        options: name file and subset.
        lenient: let no video be of the subset; a note names those that there are.

    Raises:
        InputError: a file that cannot be read; more than one; no video of the subset.
    """
    if len(options.references) != 1:
        raise InputError(f"--references: {len(options.references)} files; expected one of online action detection")
    path = options.references[0]
    videos = action_files.read_annotations(path)
    sizes = Counter(record["subset"] for record in videos.values())
    if options.subset is None and (_SUBSET not in sizes or len(sizes) == 1):
        return _Part(videos, "all", [], frozenset())
    subset = _SUBSET if options.subset is None else options.subset
    known = ", ".join(f"{name!r} ({number} videos)" for name, number in sorted(sizes.items())) or "none"
    if subset not in sizes and not lenient:
        raise InputError(f"{path}: no video of subset {subset!r}; subsets there: {known}")
    notes = []
    if subset not in sizes:
        notes = [f"No video of subset {subset!r} in {path}; subsets there: {known}."]
    elif options.subset is None:
        notes = [f"Subset {subset!r}, the default; subsets there: {known}."]
    own = {video: record for video, record in videos.items() if record["subset"] == subset}
    return _Part(own, subset, notes, frozenset(videos.keys() - own.keys()))


def _notes(part: _Part, detected: Mapping[str, Any], clock: Clock) -> list[str]:
    """On ids that hardly meet, where detections in videos of another subset are no strangers, and on reversed times."""
    # Where none meets at all, the metric says so itself.
    known = [video for video in detected if video not in part.others]
    strangers = coverage.strangers(part.videos.keys(), known) if part.videos.keys() & detected.keys() else []
    scored = {video: own for video, own in detected.items() if video in part.videos}
    # A time below 0 is one from the end of the video, as in a Python slice.
    meaning = "they label no slot" + (", unless they end below 0" if clock.raster == "floor" else "")
    return [*strangers, *inputs.reversed_notes(scored, "segment", meaning)]


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
            f"Video {name}, median of {len(ranked)} by weighted aIA, mode {result.mode}",
            slot,
            {"detector": result.per_video[name]},
            annotated[name]["annotations"],
            detected.get(name, ()),
        )
    return figures
