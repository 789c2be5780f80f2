"""What a score covers; every caption metric of `score` and every row of `tables` counts by these rules."""

from collections.abc import Collection, Mapping, Sized
from typing import Any


def videos(references: Mapping[str, Any], predictions: Mapping[str, Sized], what: str = "videos") -> dict[str, int]:
    """The videos that only one side has.

    Args:
        references: what is annotated.
        predictions: what is predicted.
        what: stands for `videos` in the names of the counts, where an id is that of something else.

    Returns:
        `videos_missing`: annotated, without an entry in the predictions (an empty list is an entry: it says that there
        is nothing to say); `videos_extra`: predicted, but not annotated.
    """
    return {
        f"{what}_missing": len(references.keys() - predictions.keys()),
        f"{what}_extra": len(predictions.keys() - references.keys()),
    }


def strangers(references: Collection[str], predictions: Collection[str], what: str = "videos") -> list[str]:
    """A note where more than half of either side does not meet the other, as when the two spell ids differently.

    Args:
        references: ids that are annotated.
        predictions: ids that are predicted.
        what: what an id is of.
    """
    annotated, predicted = set(references), set(predictions)
    sides = (
        ("predicted", "annotated", [name for name in predictions if name not in annotated], len(predictions)),
        ("annotated", "predicted", [name for name in references if name not in predicted], len(references)),
    )
    if not references or not predictions or not any(2 * len(alone) > number for *_, alone, number in sides):
        return []
    said = [
        f"{len(alone)} of {number} {own} {what} are not {other} ({', '.join(map(repr, alone[:2]))})"
        for own, other, alone, number in sides
        if alone
    ]
    return [f"{', and '.join(said)}: do both files name {what} alike?"]


def left_out(
    references: Mapping[str, Any], predictions: Mapping[str, Sized], scored: Collection[str]
) -> dict[str, int]:
    """The videos that both sides have and that are in no mean, such as those with an empty list in some readings.

    Returns:
        `videos_left_out`, if there are any.
    """
    number = len((references.keys() & predictions.keys()) - set(scored))
    return {"videos_left_out": number} if number else {}


def count(
    references: Mapping[str, Any],
    predictions: Mapping[str, Sized],
    what: str = "videos",
    /,
    *,
    scored: int,
    without_match: int,
    **more: int,
) -> dict[str, int]:
    """All counts of one score.

    Args:
        references: the annotated videos.
        predictions: {video: its predictions}.
        what: see `videos`.
        scored: videos that the score is the mean of.
        without_match: predictions that match nothing; what a match is, the metric says.
        more: further counts.
    """
    return {
        f"{what}_scored": scored,
        **videos(references, predictions, what),
        "predictions": sum(len(items) for items in predictions.values()),
        "predictions_without_match": without_match,
        **more,
    }
