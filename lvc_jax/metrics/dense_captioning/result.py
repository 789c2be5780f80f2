"""What a scored set of predictions looks like."""

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True)
class Result:
    """Scores with everything that is needed to read them.

    Attributes:
        metric: name of the metric.
        mode: the reading or version that was asked for.
        signature: one line that names every choice.
        scores: fractions by name.
        per_video: the same for each scored video; a name is left out where the video does not count for it.
        coverage: how many videos and predictions were and were not scored.
    """

    metric: str
    mode: str
    signature: str
    scores: dict[str, float]
    per_video: dict[str, dict[str, float]]
    coverage: dict[str, int]

    def to_dict(self) -> dict[str, Any]:
        """The JSON-able form."""
        return dataclasses.asdict(self)
