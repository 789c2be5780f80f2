"""Average precision by the stage of an action: how well its first tenth is known, its second, and so on."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from lvc_jax.errors import InputError
from lvc_jax.metrics import average_precision as ap
from lvc_jax.metrics.runs import spread

STAGES = tuple((tenth / 10, (tenth + 1) / 10) for tenth in range(10))


def runs(truth: Bool[np.ndarray, " n"], starts: Sequence[int] = (0,)) -> tuple[np.ndarray, np.ndarray]:
    """First and last frame of every run of positive frames, cut at the frames `starts`, where videos begin."""
    truth = np.asarray(truth, bool)
    fresh = np.zeros(len(truth), bool)
    fresh[[start for start in starts if start < len(truth)]] = True
    before = np.concatenate([[False], truth[:-1]])
    after = np.concatenate([truth[1:], [False]])
    fresh_after = np.concatenate([fresh[1:], [True]])
    return np.flatnonzero(truth & (fresh | ~before)), np.flatnonzero(truth & (fresh_after | ~after))


def stage_frames(
    truth: Bool[np.ndarray, " n"], start: float, end: float, starts: Sequence[int] = (0,)
) -> Int[np.ndarray, " m"]:
    """The frames that one stage is scored on.

    All background frames, then of each run [first, last] of length L = last - first the frames first + int(L·start)
    up to, but not with, max(that + 1, first + int(L·end)). The last frame of a run longer than 1 is in no stage; a run
    of 1 is in every stage.

    Args:
        truth: frames of the class.
        start: of the stage, as a fraction of the run.
        end: of the stage.
        starts: frames where videos begin; a run ends there.

    Raises:
        InputError: not 0 <= start < end <= 1.
    """
    if not 0 <= start < end <= 1:
        raise InputError(f"per-stage average precision: stage {start} to {end}: expected 0 <= start < end <= 1")
    truth = np.asarray(truth, bool)
    return np.concatenate([np.flatnonzero(~truth), _of_runs(*runs(truth, starts), start, end)])


def _of_runs(
    first: Int[np.ndarray, " r"], last: Int[np.ndarray, " r"], start: float, end: float
) -> Int[np.ndarray, " m"]:
    begin = first + ((last - first) * start).astype(np.int64)
    stop = np.maximum(begin + 1, first + ((last - first) * end).astype(np.int64))
    return spread(begin, stop - begin)


def per_stage(
    truth: Bool[np.ndarray, "n c"],
    scores: Float[np.ndarray, "n c"],
    columns: Mapping[str, int],
    implementation: str = "standard",
    *,
    calibrated: bool = False,
    starts: Sequence[int] = (0,),
) -> list[float]:
    """The mean over classes for each of the ten stages.

    Args:
        truth, scores, columns, implementation, calibrated: as in `average_precision.per_class`; the columns are those
            of `scored_classes` with `stages`.
        starts: frames where videos begin; a run ends there.

    Returns:
        Ten fractions, for the stages 0 to 0.1, 0.1 to 0.2, ...

    Raises:
        InputError: values that do not fit, or an implementation without calibrated AP.
    """
    truth, scores = ap.array(truth, "labels"), ap.array(scores, "scores")
    truth, scores = ap.checked(truth, scores, "all classes")
    values: list[dict[str, float]] = [{} for _ in STAGES]
    for name, column in columns.items():
        own, ranked = truth[:, column], scores[:, column]
        # A stage has all background frames, and before those of the action.
        negatives = np.sort(ranked[~own])
        first, last = runs(own, starts)
        for by_class, (begin, end) in zip(values, STAGES):
            positives = ranked[_of_runs(first, last, begin, end)]
            by_class[name] = ap.average_precision_behind(negatives, positives, implementation, calibrated=calibrated)
    return [ap.mean(by_class) for by_class in values]
