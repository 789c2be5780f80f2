"""What a score looks like, whatever the metric."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from lvc_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class Result:
    """Numbers with their origin; all values are fractions.

    Attributes:
        metric: name of the metric.
        mode: the reading or version that was asked for.
        signature: the line that says how the numbers were made.
        scores: {name: number}.
        per_video: {video: {name: number or list}}, JSON-able; a name is left out where the video does not count for it.
        coverage: counts of what was scored and what was not: `videos_scored` (in the mean), `videos_missing`
            (annotated, but without predictions; some readings score them all the same), `videos_extra` (predicted, but
            not annotated), and what else the metric counts.
        baselines: {baseline: {name: number}}, on all annotated videos.
        notes: sentences that belong beside the numbers.
    """

    metric: str
    mode: str
    signature: str
    scores: dict[str, float]
    per_video: dict[str, dict[str, Any]]
    coverage: dict[str, int]
    baselines: dict[str, dict[str, float]] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def covered(
    metric: str, references: Mapping[str, Any], predictions: Mapping[str, Any], *, lenient: bool = False
) -> dict[str, int]:
    """Which videos meet.

    Args:
        metric: named in the error.
        references: by video.
        predictions: by video.
        lenient: predictions for unknown videos alone are no error, as the originals have it.

    Raises:
        InputError: predictions, none of which belongs to an annotated video, unless `lenient`.
    """
    both = len(references.keys() & predictions.keys())
    if references and predictions and not both and not lenient:
        raise InputError(
            f"{metric}: none of the {len(predictions)} predicted videos (for example {next(iter(predictions))!r}) is "
            f"annotated (for example {next(iter(references))!r}): the two must name videos alike"
        )
    return {
        "videos_scored": both,
        "videos_missing": len(references) - both,
        "videos_extra": len(predictions) - both,
    }
