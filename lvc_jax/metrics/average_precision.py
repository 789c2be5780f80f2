"""Per-frame average precision of online action detection, plain and calibrated, by the rules of each known program.

One class against the rest, over all frames: AP = Σ_k precision(k)·[frame k is positive] / positives, frames by
descending score. Calibrated (De Geest et al. 2016): precision w·TP/(w·TP + FP) with w = negatives/positives.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Shaped

from lvc_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class Rules:
    """What the programs do differently.

    Attributes:
        ties: of frames with equal scores in AP: "grouped": one step of the curve, so that the order of frames does not
            matter; "stable": one after the other in the order of the frames.
        calibrated_ties: the same for calibrated AP; None: the program has no calibrated AP.
        epsilon: added to w and to the denominator of calibrated precision.
        empty: a class without a positive frame: "skip" leaves it out of the mean, "zero" counts 0, "nan" makes the
            mean NaN. The mean of a stage leaves it out only if `defined`; there "skip" counts 0, calibrated NaN.
        missing: an annotated video without predictions: "lowest" scores it, with the lowest score everywhere; "skip"
            leaves it out.
        cut: in per-stage AP every action ends with its video; else all videos run on in one piece.
        defined: never NaN: calibrated AP without a positive frame is 0, and no class to score is an error.
    """

    ties: Literal["grouped", "stable"]
    calibrated_ties: Literal["grouped", "stable"] | None
    epsilon: float
    empty: Literal["skip", "zero", "nan"]
    missing: Literal["lowest", "skip"] = "skip"
    cut: bool = False
    defined: bool = False


IMPLEMENTATIONS = {
    # Ours: independent of the order of frames, never NaN.
    "standard": Rules("grouped", "grouped", 0.0, "skip", missing="lowest", cut=True, defined=True),
    "lstr": Rules("grouped", "stable", float(np.finfo(np.float64).eps), "skip"),
    "trn": Rules("grouped", None, 0.0, "zero"),
    "oadtr": Rules("stable", "stable", 0.0, "nan"),
}


def rules(implementation: str) -> Rules:
    """The rules of a name in `IMPLEMENTATIONS`.

    Raises:
        InputError: another name.
    """
    if implementation not in IMPLEMENTATIONS:
        raise InputError(
            f"average_precision: implementation {implementation!r}: choose one of {', '.join(IMPLEMENTATIONS)}"
        )
    return IMPLEMENTATIONS[implementation]


def _counts(
    truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"], ties: str
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """At each step of the curve: true positives and false positives so far, and positives that the step adds."""
    order = np.argsort(-scores, kind="stable")
    positives = np.cumsum(truth[order], dtype=np.float64)
    if ties == "stable":
        ends = np.arange(len(scores))
    else:
        ranked = scores[order]
        ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(scores) - 1)
    found = positives[ends]
    return found, ends + 1.0 - found, np.diff(found, prepend=0.0)


def _column(truth: Shaped[np.ndarray, " n"], scores: Shaped[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
    truth, scores = array(truth, "labels"), array(scores, "scores")
    if truth.ndim != 1 or truth.shape != scores.shape or not len(truth):
        raise InputError(
            f"average_precision: labels {truth.shape} and scores {scores.shape}: expected one of each a frame"
        )
    return checked(truth, scores, "one class")


def array(values: Any, where: str) -> np.ndarray:
    """The values as an array.

    Raises:
        InputError: naming `where`, for nested lists of unequal length.
    """
    try:
        return np.asarray(values)
    except ValueError:
        raise InputError(f"average_precision: {where}: rows of unequal length") from None


def checked(
    truth: Shaped[np.ndarray, "..."], scores: Shaped[np.ndarray, "..."], where: str
) -> tuple[Bool[np.ndarray, "..."], Float[np.ndarray, "..."]]:
    """Labels as bool and scores as float64.

    Raises:
        InputError: naming `where`: a label other than 0 and 1, a score that is no number.
    """
    return _truth(truth, f"{where}: labels"), _scores(scores, f"{where}: scores")


def _truth(values: np.ndarray, where: str) -> Bool[np.ndarray, "..."]:
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InputError(f"average_precision: {where}: expected 0 or 1")
    return values.astype(bool)


def _scores(values: np.ndarray, where: str) -> Float[np.ndarray, "..."]:
    if values.dtype.kind not in "biuf":
        raise InputError(f"average_precision: {where}: expected numbers")
    values = values.astype(np.float64)
    if np.isnan(values).any():
        raise InputError(f"average_precision: {where}: NaN is no score")
    return values


def _no_positive(how: Rules, calibrated: bool) -> float:
    return float("nan") if (not how.defined if calibrated else how.empty == "nan") else 0.0


def _area(
    curve: tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"], Float[np.ndarray, " k"]],
    positives: int,
    negatives: int,
    how: Rules,
    calibrated: bool,
) -> float:
    """Mean precision of the positive frames; the curve as from `_counts`, where steps without a positive may lack."""
    found, wrong, added = curve
    ratio = negatives / positives
    if not calibrated:
        precision = found / (found + wrong)
    elif how.epsilon:
        precision = found / (found + wrong / (ratio + how.epsilon) + how.epsilon)
    elif ratio:
        precision = ratio * found / np.maximum(ratio * found + wrong, np.finfo(np.float64).tiny)
    else:
        precision = np.full(len(found), float("nan") if how.empty == "nan" else 1.0)
    return float(np.sum(precision * added) / positives)


def average_precision(
    truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"], implementation: str = "standard"
) -> float:
    """AP of one class.

    Args:
        truth: frames of the class, 0 or 1.
        scores: of the class; the greater the surer. Infinity is allowed, NaN is not.
        implementation: a name in `IMPLEMENTATIONS`.

    Returns:
        A fraction. Without a positive frame 0, with "oadtr" NaN.

    Raises:
        InputError: shapes or values that are not as above, or no frame.
    """
    return _of_column(truth, scores, implementation, calibrated=False)


def calibrated_average_precision(
    truth: Bool[np.ndarray, " n"], scores: Float[np.ndarray, " n"], implementation: str = "standard"
) -> float:
    """Calibrated AP of one class; arguments as in `average_precision`.

    Returns:
        A fraction. Without a positive frame 0, with "lstr" and "oadtr" NaN; without a negative frame 1, with "oadtr"
        NaN.

    Raises:
        InputError: as in `average_precision`, or an implementation without calibrated AP.
    """
    return _of_column(truth, scores, implementation, calibrated=True)


def _ties(implementation: str, calibrated: bool) -> str:
    how = rules(implementation)
    if not calibrated:
        return how.ties
    if how.calibrated_ties is None:
        raise InputError(f"calibrated average precision: implementation {implementation!r} has none")
    return how.calibrated_ties


def _of_column(truth: np.ndarray, scores: np.ndarray, implementation: str, *, calibrated: bool) -> float:
    how, ties = rules(implementation), _ties(implementation, calibrated)
    truth, scores = _column(truth, scores)
    positives = int(np.count_nonzero(truth))
    if not positives:
        return _no_positive(how, calibrated)
    return _area(_counts(truth, scores, ties), positives, len(truth) - positives, how, calibrated)


def average_precision_behind(
    negatives: Float[np.ndarray, " m"],
    positives: Float[np.ndarray, " n"],
    implementation: str = "standard",
    *,
    calibrated: bool = False,
) -> float:
    """AP of one class whose positive frames come after the negative ones in the order of the frames.

    So the negatives, of which there are many, are sorted once for several sets of positives.

    Args:
        negatives: scores of the frames without the class, in rising order.
        positives: scores of the frames of the class, in their order.
        implementation: a name in `IMPLEMENTATIONS`.
        calibrated: calibrated AP.

    Returns:
        As `average_precision` and `calibrated_average_precision`.

    Raises:
        InputError: no frame, or an implementation without calibrated AP.
    """
    how, ties = rules(implementation), _ties(implementation, calibrated)
    if not len(positives) + len(negatives):
        raise InputError("average_precision: no frame to score")
    if not len(positives):
        return _no_positive(how, calibrated)
    rising = np.sort(positives)
    found = np.arange(len(rising), 0.0, -1.0)
    if ties == "grouped":
        found = len(rising) - np.searchsorted(rising, rising).astype(np.float64)
    wrong = len(negatives) - np.searchsorted(negatives, rising).astype(np.float64)
    return _area((found, wrong, np.ones(len(rising))), len(positives), len(negatives), how, calibrated)


def scored_classes(
    truth: Bool[np.ndarray, "n c"],
    scores: Float[np.ndarray, "n c"],
    classes: Sequence[str],
    implementation: str = "standard",
    *,
    background: str | None = None,
    ignore: Sequence[str] = (),
    stages: bool = False,
) -> dict[str, int]:
    """The classes that are part of the mean, and their columns: what `per_class` and `per_stage` are given.

    Args:
        truth: frames by classes, 0 or 1; a frame may have several.
        scores: frames by classes.
        classes: names of the columns.
        implementation: a name in `IMPLEMENTATIONS`.
        background: the class that no mean contains; None: the first.
        ignore: further classes to leave out, such as the one of ambiguous frames.
        stages: those of the mean of a stage; the programs leave no class out of it.

    Returns:
        {class: column}; classes without a positive frame as the implementation has them.

    Raises:
        InputError: shapes or names that do not fit.
    """
    truth, scores = array(truth, "labels"), array(scores, "scores")
    how = rules(implementation)
    skip = how.empty == "skip" and (how.defined or not stages)
    if truth.ndim != 2 or truth.shape != scores.shape or truth.shape[1] != len(classes):
        raise InputError(
            f"average_precision: labels {truth.shape}, scores {scores.shape} and {len(classes)} classes: expected "
            "[frames, classes] twice"
        )
    left_out = {classes[0] if background is None else background, *ignore}
    unknown = sorted(left_out - set(classes))
    if unknown:
        raise InputError(f"average_precision: class {unknown[0]!r} to leave out: none of {', '.join(classes)}")
    return {
        name: column
        for column, name in enumerate(classes)
        if name not in left_out and (not skip or truth[:, column].any())
    }


def per_class(
    truth: Bool[np.ndarray, "n c"],
    scores: Float[np.ndarray, "n c"],
    columns: Mapping[str, int],
    implementation: str = "standard",
    *,
    calibrated: bool = False,
) -> dict[str, float]:
    """AP of the classes.

    Args:
        truth: frames by classes, 0 or 1; a frame may have several.
        scores: frames by classes.
        columns: {class: its column}, from `scored_classes`.
        implementation: a name in `IMPLEMENTATIONS`.
        calibrated: calibrated AP.

    Returns:
        {class: AP}.

    Raises:
        InputError: shapes or values that do not fit, or an implementation without calibrated AP.
    """
    truth, scores = array(truth, "labels"), array(scores, "scores")
    one = calibrated_average_precision if calibrated else average_precision
    return {name: one(truth[:, column], scores[:, column], implementation) for name, column in columns.items()}


def mean(values: dict[str, float]) -> float:
    """The mean over classes; NaN where there is none."""
    return float(np.mean(list(values.values()))) if values else float("nan")
