"""Instantaneous Accuracy: how right an online action detector has been so far, slot after slot.

IA (Instantaneous Accuracy paper, equation 1), its weighted form, their mean over a video (aIA) and over videos (maIA,
equation 2), in the reading of the authors' toolkit (`reference`) and of the paper.
"""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lvc_jax.errors import InputError
from lvc_jax.metrics import instantaneous_accuracy_slots as slots
from lvc_jax.metrics.instantaneous_accuracy_slots import BACKGROUND, Clock, Segments
from lvc_jax.metrics.result import Result, covered
from lvc_jax.metrics.signature import signature

METRIC = "instantaneous_accuracy"

References = Mapping[str, Mapping[str, Any]]
Predictions = Mapping[str, Segments]


@dataclasses.dataclass(frozen=True)
class Reading:
    """Every choice that changes a number; all of them are part of the signature.

    Attributes:
        mode: the name of the reading.
        clock: slots and labels.
        missing: an annotated video without predictions: "skip" leaves it out, "background" scores it as one in which
            nothing was detected.
        average: aIA is the mean over the "slots"; or Δt/T times their sum, by the "duration", as equation 2 is printed
            (a perfect model is then below 1 where T is no multiple of Δt).
    """

    mode: str = "reference"
    clock: Clock = dataclasses.field(default_factory=Clock)
    missing: Literal["skip", "background"] = "skip"
    average: Literal["slots", "duration"] = "slots"

    def __post_init__(self) -> None:
        for name, choices in (("missing", ("skip", "background")), ("average", ("slots", "duration"))):
            if getattr(self, name) not in choices:
                raise InputError(f"{METRIC}: {name}={getattr(self, name)!r}: choose one of {', '.join(choices)}")

    def signature(self, subset: str = "all") -> str:
        """The signature line of scores made with this reading."""
        clock = self.clock
        return signature(
            METRIC,
            mode=self.mode,
            slot=f"{clock.slot:g}",
            slots=clock.slots,
            raster=clock.raster,
            overlap=clock.overlap,
            missing=self.missing,
            average=self.average,
            subset=subset,
        )


def reading(mode: str = "reference", slot: float = 0.5) -> Reading:
    """The reading of a name.

    Args:
        mode: "reference": the toolkit's rules, NaN where it prints NaN; "paper": whole slots, labelled by their
            middle, simultaneous annotated actions all right, every annotated video scored, never NaN.
        slot: Δt in seconds.

    Raises:
        InputError: another name, or a slot that is no positive number.
    """
    if mode == "reference":
        return Reading("reference", Clock(slot))
    if mode == "paper":
        return Reading("paper", Clock(slot, "floor", "middle", "any"), "background")
    raise InputError(f"{METRIC}: mode={mode!r}: choose reference or paper")


class Curves(NamedTuple):
    """IA and weighted IA after each slot; `time` is the end of the slot in seconds."""

    time: Float[np.ndarray, " n"]
    plain: Float[np.ndarray, " n"]
    weighted: Float[np.ndarray, " n"]


def curves(
    action: Bool[np.ndarray, " n"], true_positive: Bool[np.ndarray, " n"], true_negative: Bool[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """IA and weighted IA after each slot.

    With A action and B background slots annotated so far, weighted IA scales all true positives so far by B/A and all
    true negatives by A/B; by 1 until there is one of both.

    Args:
        action: slots with an annotated action.
        true_positive: slots with an action that was predicted rightly.
        true_negative: slots that are background in annotation and prediction.

    Returns:
        IA [n], weighted IA [n].
    """
    number = np.arange(1, len(action) + 1, dtype=np.float64)
    actions, background = np.cumsum(action), np.cumsum(~action)
    positives, negatives = np.cumsum(true_positive), np.cumsum(true_negative)
    both = (actions > 0) & (background > 0)
    for_action = np.where(both, background / np.maximum(actions, 1), 1.0)
    for_background = np.where(both, actions / np.maximum(background, 1), 1.0)
    weighted = (positives * for_action + negatives * for_background) / number
    return (positives + negatives) / number, weighted


def score_video(annotation: Mapping[str, Any], segments: Segments, how: Reading, where: str = "video") -> Curves:
    """One video over time.

    Args:
        annotation: {"duration": seconds, "annotations": [segments]}.
        segments: what was detected.
        how: the reading.
        where: names the video in messages.

    Raises:
        InputError: a malformed segment or duration.
    """
    slots.check_annotation(annotation, how.clock, where, lasting=how.mode != "reference")
    slots.check(segments, f"{where}: predictions")
    return _curves_of(annotation, segments, how)


def _curves_of(annotation: Mapping[str, Any], segments: Segments, how: Reading) -> Curves:
    truth = annotation["annotations"]
    number = how.clock.number(annotation["duration"], "video")
    codes = {BACKGROUND: 0}
    shared = how.clock.overlap == "any"
    predicted = slots.label_slots(segments, number, how.clock, codes, best_score=shared)
    if shared:
        action, right = slots.slots_with(truth, predicted, how.clock, codes)
    else:
        labels = slots.label_slots(truth, number, how.clock, codes)
        action, right = labels != 0, labels == predicted
    plain, weighted = curves(action, right & action, ~action & (predicted == 0))
    return Curves((np.arange(number) + 1.0) * how.clock.slot, plain, weighted)


def all_background(references: References) -> dict[str, list]:
    """The detector that never detects anything."""
    return {video: [] for video in references}


def perfect_model(references: References, how: Reading) -> dict[str, list]:
    """The detector that says what was annotated.

    Where a slot holds every annotated label, it says no background: an action that overlaps it is on.
    """
    said = {video: list(annotation["annotations"]) for video, annotation in references.items()}
    if how.clock.overlap == "any":
        return {video: [item for item in items if item["label"] != BACKGROUND] for video, items in said.items()}
    return said


def _mean(values: Float[np.ndarray, " n"], how: Reading, duration: float) -> float:
    if not len(values):
        return float("nan")
    if how.average == "duration":
        return float(values.sum() * how.clock.slot / duration)
    return float(np.mean(values))


def _score_all(references: References, predictions: Predictions, how: Reading) -> dict[str, dict[str, Any]]:
    per_video = {}
    for video, annotation in references.items():
        if video not in predictions and how.missing == "skip":
            continue
        result = _curves_of(annotation, predictions.get(video, ()), how)
        duration = float(annotation["duration"])
        per_video[video] = {
            "aIA": _mean(result.plain, how, duration),
            "weighted_aIA": _mean(result.weighted, how, duration),
            "slots": len(result.plain),
            "IA": result.plain.tolist(),
            "weighted_IA": result.weighted.tolist(),
        }
    return per_video


def _summary(per_video: Mapping[str, Mapping[str, Any]]) -> dict[str, float]:
    if not per_video:
        return {"maIA": float("nan"), "weighted_maIA": float("nan")}
    return {
        f"{prefix}maIA": float(np.mean([video[f"{prefix}aIA"] for video in per_video.values()]))
        for prefix in ("", "weighted_")
    }


def score(
    references: References, predictions: Predictions, how: Reading | None = None, *, subset: str = "all"
) -> Result:
    """Scores detections, and the two baselines of the paper on the same videos.

    Args:
        references: {video: {"duration": seconds, "annotations": [{"segment": [start, end], "label"}]}}, of the subset.
        predictions: {video: [{"segment": [start, end], "label", optionally "score"}]}; predictions of other videos are
            counted as extra.
        how: the reading; `reading()` if None.
        subset: name of the part of the data set, for the signature.

    Returns:
        Scores `maIA` and `weighted_maIA`; for each video `aIA`, `weighted_aIA`, `slots` and the curves `IA` and
        `weighted_IA`. With mode "reference" they are NaN, and a note says so, where there is no slot or no video.

    Raises:
        InputError: a malformed segment or duration; without mode "reference" also nothing to score.
    """
    how = how or reading()
    coverage = covered(METRIC, references, predictions, lenient=how.mode == "reference")
    for video, annotation in references.items():
        slots.check_annotation(annotation, how.clock, f"video {video}", lasting=how.mode != "reference")
    for video, segments in predictions.items():
        slots.check(segments, f"video {video}: predictions")
    per_video = _score_all(references, predictions, how)
    if not per_video and how.mode != "reference":
        raise InputError(f"{METRIC}: no video to score (subset {subset})")
    coverage["videos_scored"] = len(per_video)
    scored = {video: predictions.get(video, ()) for video in per_video}
    coverage["predictions"] = sum(len(segments) for segments in scored.values())
    models = {"all_background": all_background(references), "perfect_model": perfect_model(references, how)}
    return Result(
        METRIC,
        how.mode,
        how.signature(subset),
        _summary(per_video),
        per_video,
        coverage,
        {name: _summary(_score_all(references, items, how)) for name, items in models.items()},
        tuple(_notes(references, scored, per_video, coverage, how, subset)),
    )


def _notes(
    references: References,
    scored: Predictions,
    per_video: Mapping[str, Mapping[str, Any]],
    coverage: Mapping[str, int],
    how: Reading,
    subset: str,
):
    if coverage["videos_missing"]:
        what = "left out" if how.missing == "skip" else "scored as background throughout"
        yield f"{coverage['videos_missing']} annotated videos have no entry in the predictions: {what}."
    if coverage["videos_extra"] and references and not references.keys() & scored.keys():
        yield f"None of the predicted videos is annotated (subset {subset}): do both files name videos alike?"
    empty = sum(not video["slots"] for video in per_video.values())
    if empty or not per_video:
        yield f"{f'{empty} videos have no slot' if empty else 'No video was scored'}: NaN, as the toolkit prints."
    known = {item["label"] for annotation in references.values() for item in annotation["annotations"]}
    unknown = Counter(item["label"] for items in scored.values() for item in items if item["label"] not in known)
    unknown.pop(BACKGROUND, None)
    if unknown:
        name, count = unknown.most_common(1)[0]
        yield (
            f"{len(unknown)} predicted labels are annotated nowhere, for example {name!r} ({count} predictions): "
            "they are never right."
        )
