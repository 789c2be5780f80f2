"""mAP and calibrated mAP of a data set: frames of all videos together, classes one by one."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from lvc_jax.errors import InputError
from lvc_jax.metrics import average_precision as ap
from lvc_jax.metrics import average_precision_stages as stages
from lvc_jax.metrics import instantaneous_accuracy_slots as slots
from lvc_jax.metrics.instantaneous_accuracy import Predictions, References
from lvc_jax.metrics.instantaneous_accuracy_slots import BACKGROUND, Clock, Segments
from lvc_jax.metrics.result import Result, covered
from lvc_jax.metrics.signature import signature

METRIC = "average_precision"
NEVER = -np.inf
"""The score of a class in a frame without any detection of it: below every detection."""

Frames = Mapping[str, np.ndarray]


def score(
    references: Frames,
    predictions: Frames,
    classes: Sequence[str],
    implementation: str = "standard",
    *,
    background: str | None = None,
    ignore: Sequence[str] = (),
    ambiguous: str | Frames | None = None,
    per_stage: bool = False,
    subset: str = "all",
    rate: str = "frames",
) -> Result:
    """Scores per-frame class scores.

    Args:
        references: {video: 0 or 1 [frames, classes]}; a frame may have several classes.
        predictions: {video: scores [frames, classes]}.
        classes: names of the columns.
        implementation: a name in `average_precision.IMPLEMENTATIONS`. With "standard" an annotated video without
            predictions counts, with the lowest score everywhere; the others leave it out.
        background: the class that no mean contains; None: the first, as in the programs, or with "standard" the one
            called `BACKGROUND`, if there is one.
        ignore: further classes to leave out of the means.
        ambiguous: frames to leave out: the class whose frames those are (it then is in no mean either), or
            {video: [frames]}, True where a frame is ambiguous.
        per_stage: also score the ten stages of actions.
        subset: name of the part of the data set, for the signature.
        rate: how often frames are taken, for the signature.

    Returns:
        Scores `mAP` and `cmAP`, `AP/<class>` and `cAP/<class>`, with `per_stage` `mAP/stage_0` to `mAP/stage_9` and the
        same for cmAP; for each video its `frames` and, where it has an action, its own `mAP` and `cmAP`, always by the
        rules of "standard": few videos have every class, which "trn" and "oadtr" would count. "trn" has no calibrated
        figures. "oadtr" and "trn" count classes without a positive frame, "oadtr" as NaN.

    Raises:
        InputError: shapes, values or names that do not fit; with "standard" also no positive frame at all.
    """
    how = ap.rules(implementation)
    classes = list(classes)
    if len(set(classes)) != len(classes) or len(classes) < 2:
        raise InputError(f"{METRIC}: {len(classes)} class names: expected at least two, each once")
    if background is None:
        background = BACKGROUND if how.defined and BACKGROUND in classes else classes[0]
    coverage = covered(METRIC, references, predictions)
    if isinstance(ambiguous, str):
        if ambiguous not in classes:
            raise InputError(f"{METRIC}: ambiguous class {ambiguous!r}: none of {', '.join(classes)}")
        ignore = [*ignore, ambiguous]
    parts = {
        video: _video(video, truth, predictions.get(video), classes, ambiguous)
        for video, truth in references.items()
        if video in predictions or how.missing == "lowest"
    }
    coverage["videos_scored"] = len(parts)
    coverage["frames"] = sum(len(truth) for truth, _ in parts.values())
    if not coverage["frames"]:
        raise InputError(f"{METRIC}: no frame to score (subset {subset})")
    truth = np.concatenate([part[0] for part in parts.values()])
    values = np.concatenate([part[1] for part in parts.values()])
    chosen: dict[str, Any] = {"background": background, "ignore": ignore}
    columns = ap.scored_classes(truth, values, classes, implementation, **chosen)
    if not columns and how.defined:
        raise InputError(f"{METRIC}: no frame of any class to score (subset {subset})")
    staged = ap.scored_classes(truth, values, classes, implementation, stages=True, **chosen) if per_stage else {}
    kinds = [("", False)] if how.calibrated_ties is None else [("", False), ("c", True)]
    scores: dict[str, float] = {}
    for letter, calibrated in kinds:
        by_class = ap.per_class(truth, values, columns, implementation, calibrated=calibrated)
        scores[f"{letter}mAP"] = ap.mean(by_class)
        scores |= {f"{letter}AP/{name}": value for name, value in by_class.items()}
        if per_stage:
            lengths = [len(part[0]) for part in parts.values()]
            starts = np.cumsum([0, *lengths[:-1]]) if how.cut else (0,)
            by_stage = stages.per_stage(
                truth, values, staged, implementation, calibrated=calibrated, starts=list(starts)
            )
            scores |= {f"{letter}mAP/stage_{number}": value for number, value in enumerate(by_stage)}
    return Result(
        METRIC,
        implementation,
        signature(
            METRIC,
            mode=implementation,
            ties=how.ties,
            cties=how.calibrated_ties,
            empty=how.empty,
            background=background,
            ignore=",".join(ignore) or "none",
            ambiguous=ambiguous if isinstance(ambiguous, str) else "kept" if ambiguous is None else "mask",
            missing=how.missing,
            rate=rate,
            subset=subset,
        ),
        scores,
        {video: _own(*part, classes, chosen) for video, part in parts.items()},
        coverage,
        notes=tuple(_notes(truth, classes, implementation, coverage, scores, per_stage)),
    )


def _video(
    video: str, truth: Any, values: Any, classes: Sequence[str], ambiguous: str | Frames | None
) -> tuple[Bool[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
    where = f"video {video}"
    truth = ap.array(truth, where)
    values = np.full(truth.shape, NEVER) if values is None else ap.array(values, where)
    for name, array in (("labels", truth), ("scores", values)):
        if array.ndim != 2 or array.shape[1] != len(classes):
            raise InputError(f"{METRIC}: {where}: {name} {array.shape}: expected [frames, {len(classes)} classes]")
    if len(truth) != len(values):
        raise InputError(
            f"{METRIC}: {where}: {len(truth)} frames of labels, {len(values)} of scores: score every frame once"
        )
    truth, values = ap.checked(truth, values, where)
    if isinstance(ambiguous, str):
        kept = ~truth[:, classes.index(ambiguous)]
    elif ambiguous is not None and video in ambiguous:
        mask = ap.array(ambiguous[video], where)
        if mask.shape != truth.shape[:1]:
            raise InputError(f"{METRIC}: {where}: ambiguous frames {mask.shape}: expected [{len(truth)}]")
        kept = ~mask.astype(bool)
    else:
        return truth, values
    return truth[kept], values[kept]


def _own(truth: np.ndarray, values: np.ndarray, classes: Sequence[str], chosen: Mapping[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = {"frames": len(truth)}
    columns = ap.scored_classes(truth, values, classes, **chosen)
    for name, calibrated in (("mAP", False), ("cmAP", True)) if columns else ():
        result[name] = ap.mean(ap.per_class(truth, values, columns, calibrated=calibrated))
    return result


def _notes(
    truth: np.ndarray,
    classes: Sequence[str],
    implementation: str,
    coverage: Mapping[str, int],
    scores: Mapping[str, float],
    per_stage: bool,
):
    how = ap.rules(implementation)
    if coverage["videos_missing"]:
        what = "scored lowest throughout" if how.missing == "lowest" else "left out"
        yield f"{coverage['videos_missing']} annotated videos have no entry in the predictions: {what}."
    absent = [name for column, name in enumerate(classes) if not truth[:, column].any()]
    if absent:
        what = {"skip": "in no mean", "zero": "count 0", "nan": "NaN"}[how.empty]
        if per_stage and how.empty == "skip" and not how.defined:
            what += ", but in those of the stages (0, calibrated NaN)"
        yield f"{len(absent)} classes have no frame ({', '.join(absent)}): {what}."
    if not how.defined and BACKGROUND in classes[1:] and f"AP/{BACKGROUND}" in scores:
        yield f"Class {BACKGROUND!r} is not the first: {implementation} takes {classes[0]!r} for the background."
    if any(np.isnan(value) for value in scores.values()):
        yield f"NaN as {implementation} prints it."


def class_names(references: References) -> list[str]:
    """`BACKGROUND`, then the labels of all annotations in alphabetical order."""
    labels = {item["label"] for annotation in references.values() for item in annotation["annotations"]}
    return [BACKGROUND, *sorted(labels - {BACKGROUND})]


def frames_of_segments(
    references: References,
    predictions: Predictions,
    clock: Clock,
    classes: Sequence[str] | None = None,
    *,
    lasting: bool = False,
) -> tuple[dict[str, Bool[np.ndarray, "n c"]], dict[str, Float[np.ndarray, "n c"]], list[str]]:
    """Annotated and detected segments as frames: one for each slot of the clock.

    Annotated segments that overlap all count. The score of a class in a slot is the best score of its detections there
    (1 for a detection without score), `NEVER` where there is none.

    Args:
        references: {video: {"duration", "annotations"}}, as for `instantaneous_accuracy`.
        predictions: {video: segments}; a video without an entry gets none here either.
        clock: slots, and which of them a segment labels.
        classes: names of the columns, background first; None: see `class_names`. Detections of others are dropped.
        lasting: refuse a video of 0 seconds.

    Returns:
        labels by video, scores by video, classes.

    Raises:
        InputError: a malformed segment or duration.
    """
    for video, annotation in references.items():
        slots.check_annotation(annotation, clock, f"video {video}", lasting=lasting)
        slots.check(predictions.get(video, ()), f"video {video}: predictions")
    names = class_names(references) if classes is None else list(classes)
    columns = {name: column for column, name in enumerate(names)}
    truth, scores = {}, {}
    for video, annotation in references.items():
        number = clock.number(annotation["duration"], f"video {video}")
        truth[video] = _paint(annotation["annotations"], number, clock, columns) > NEVER
        truth[video][:, 0] = ~truth[video][:, 1:].any(axis=1)
        if video in predictions:
            scores[video] = _paint(predictions[video], number, clock, columns)
    return truth, scores, names


def _paint(segments: Segments, number: int, clock: Clock, columns: Mapping[str, int]) -> Float[np.ndarray, "n c"]:
    values = np.full((number, len(columns)), NEVER)
    for item in segments:
        column = columns.get(item["label"])
        if column is not None:
            first, last = clock.span(item["segment"], number)
            values[first:last, column] = np.maximum(values[first:last, column], slots.score_of(item))
    return values


def score_segments(
    references: References,
    predictions: Predictions,
    clock: Clock,
    implementation: str = "standard",
    *,
    classes: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    ambiguous: str | None = None,
    per_stage: bool = False,
    subset: str = "all",
) -> Result:
    """Scores detected segments frame by frame, and the two baselines on the same videos.

    Arguments as in `frames_of_segments` and `score`. All background has the share of positive frames as its AP, for
    all frames tie. The perfect model gives a slot one label only, the later of those that are annotated, so it is below
    1 where actions overlap. "standard" refuses a video of 0 seconds, as Instantaneous Accuracy does in `paper`.
    """
    truth, scores, names = frames_of_segments(
        references, predictions, clock, classes, lasting=ap.rules(implementation).defined
    )
    rate = f"{clock.slot:g}s-{clock.slots}-{clock.raster}"
    result = score(
        truth,
        scores,
        names,
        implementation,
        ignore=ignore,
        ambiguous=ambiguous,
        per_stage=per_stage,
        subset=subset,
        rate=rate,
    )
    nothing = {video: np.full(labels.shape, NEVER) for video, labels in truth.items()}
    perfect = {}
    for video, labels in truth.items():
        codes = {name: code for code, name in enumerate(names)}
        chosen = slots.label_slots(references[video]["annotations"], len(labels), clock, codes)
        perfect[video] = np.where(chosen[:, None] == np.arange(len(names)), 1.0, NEVER)
    for name, frames in (("all_background", nothing), ("perfect_model", perfect)):
        own = score(truth, frames, names, implementation, ignore=ignore, ambiguous=ambiguous).scores
        result.baselines[name] = {key: own[key] for key in ("mAP", "cmAP") if key in own}
    return result
