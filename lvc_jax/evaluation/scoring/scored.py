"""A score with everything that is needed to read it, and the file that other programs read."""

import dataclasses
import json
import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from matplotlib.figure import Figure

from lvc_jax.files import atomic_write


@dataclasses.dataclass(frozen=True)
class Scored:
    """What one metric says of one predictions file; every number is a fraction, times are seconds.

    Attributes:
        metric: its name.
        mode: "reference" (the original program's numbers) or "paper" (ours, every case defined).
        signature: one line that names every choice.
        scores: {name: number}; None where there is nothing to count.
        per_video: {video: {name: number or list of numbers}}.
        coverage: counts of videos and predictions, those that have no score among them.
        baselines: {baseline: {name: number}}.
        notes: sentences that belong beside the numbers.
        more: further fields of the file, such as the version of an evaluator.
        figures: {file name without ending: draws the picture}.
        holds: of the conditions in `uses`, those that hold here.
    """

    metric: str
    mode: str
    signature: str
    scores: Mapping[str, float | None]
    per_video: Mapping[str, Mapping[str, Any]]
    coverage: Mapping[str, int]
    baselines: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    figures: Mapping[str, Callable[[], Figure]] = dataclasses.field(default_factory=dict)
    holds: frozenset[str] = frozenset()

    def content(self) -> dict[str, Any]:
        """The content of the file. A number that is not finite becomes null, and a note says so."""
        content = {
            "metric": self.metric,
            "mode": self.mode,
            **self.more,
            "signature": self.signature,
            "scores": self.scores,
            "per_video": self.per_video,
            "coverage": self.coverage,
            **({"baselines": self.baselines} if self.baselines else {}),
            "notes": list(self.notes),
        }
        finite = _finite(content)
        if finite != content:
            finite["notes"].append("null stands for NaN, which the original prints.")
        return finite

    def write(self, path: str | os.PathLike) -> None:
        """Writes the file as JSON."""
        # ASCII: an id may hold half of a surrogate pair, which JSON can spell but UTF-8 cannot.
        text = json.dumps(self.content(), allow_nan=False)
        with atomic_write(path) as file:
            file.write(text + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _finite(own) for name, own in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(own) for own in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
