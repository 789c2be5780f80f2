"""Captions of 50Salads scored as online action detection: each says one of 17 labels, and silence is background."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from lvc_jax.data.datasets import fifty_salads_labels
from lvc_jax.data.datasets.fifty_salads_labels import LABELS, OTHER
from lvc_jax.errors import InputError
from lvc_jax.metrics import average_precision_score, instantaneous_accuracy
from lvc_jax.metrics.instantaneous_accuracy_slots import BACKGROUND
from lvc_jax.metrics.result import Result
from lvc_jax.metrics.slots import Predictions, References


def scored(dataset: str) -> bool:
    """Whether the captions of a data set (`fifty_salads` or `fifty_salads/...`) are verbalised action labels."""
    return dataset.partition("/")[0] == "fifty_salads"


class ActionScores(NamedTuple):
    """Scores of several captioners on the same videos.

    Attributes:
        scores: {method: {"maIA", "weighted_maIA", "mAP", "cmAP"}}; after the given methods the two baselines.
        accuracy: {method: Instantaneous Accuracy with curves and signature}.
        precision: {method: average precision with every class and signature}.
        unknown: {method: captions that are none of the table's sentences}.
        annotated: {video: {"duration", "annotations"}}, what was scored against.
        detected: {method: {video: segments}}, what the captions say.
    """

    scores: dict[str, dict[str, float]]
    accuracy: dict[str, Result]
    precision: dict[str, Result]
    unknown: dict[str, int]
    annotated: dict[str, dict[str, Any]]
    detected: dict[str, dict[str, list[dict[str, Any]]]]


def annotated_actions(references: References) -> dict[str, dict[str, Any]]:
    """The action labels behind verbalised references (the first annotation set).

    Args:
        references: {video: {"duration": seconds, "references": [[(start, end, sentence), ...]]}}.

    Raises:
        InputError: a sentence that is no verbalised label of 50Salads.
    """
    result = {}
    for video, reference in references.items():
        annotations = []
        for start, end, sentence in reference["references"][0]:
            label = fifty_salads_labels.label_of(sentence)
            if label is None:
                raise InputError(f"video {video}: {sentence!r} is no verbalised label of 50Salads: nothing to score")
            annotations.append({"segment": [start, end], "label": label})
        result[video] = {"duration": reference["duration"], "annotations": annotations}
    return result


def score(
    references: References, methods: Mapping[str, Predictions], mode: str = "paper", slot: float = 0.5
) -> ActionScores:
    """Scores captions as action labels, beside a detector that says nothing and a perfect one.

    A caption speaks for its timestamp. Where several overlap, the mode decides which is heard (see
    `instantaneous_accuracy.reading`).

    Args:
        references: verbalised references of 50Salads, see `annotated_actions`.
        methods: {method: {video: [{"timestamp", "sentence", optionally "score"}]}}; the model first, then baselines.
        mode: reading of the Instantaneous Accuracy. Average precision is "standard" on the same slots with "paper"
            and "lstr" with "reference".
        slot: Δt of the metric in seconds.

    Raises:
        InputError: references of another data set, malformed predictions, another mode, or no video.
    """
    how = instantaneous_accuracy.reading(mode, slot)
    implementation = "lstr" if mode == "reference" else "standard"
    annotated = annotated_actions(references)
    result = ActionScores({}, {}, {}, {}, annotated, {})
    for method, predictions in methods.items():
        said = {video: fifty_salads_labels.segments_of(items) for video, items in predictions.items()}
        result.detected[method] = said
        result.unknown[method] = sum(item["label"] == OTHER for items in said.values() for item in items)
        result.accuracy[method] = instantaneous_accuracy.score(annotated, said, how)
        result.precision[method] = average_precision_score.score_segments(
            annotated, said, how.clock, implementation, classes=[BACKGROUND, *LABELS]
        )
        result.scores[method] = {
            **result.accuracy[method].scores,
            **{name: result.precision[method].scores[name] for name in ("mAP", "cmAP")},
        }
    if methods:
        accuracy, precision = result.accuracy[method].baselines, result.precision[method].baselines
        for name in accuracy:
            result.scores[name] = {**accuracy[name], **precision[name]}
    return result
