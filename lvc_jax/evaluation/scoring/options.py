"""What can be asked of `score`, and what each metric makes of it."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from lvc_jax.errors import InputError
from lvc_jax.metrics.dense_captioning import THRESHOLDS
from lvc_jax.metrics.text.scorers import SCORERS, meteor_available

METRICS = ("text", "dense_captioning", "soda", "live_score", "instantaneous_accuracy", "average_precision")
MODES = ("reference", "paper")


@dataclasses.dataclass(frozen=True)
class Options:
    """Everything that changes a number; None takes the metric's default (docs/metrics.md).

    Attributes:
        predictions: path of the file to score.
        references: paths of the annotation files.
        mode: one of `MODES`.
        version: evaluator of dense captioning.
        segment_frames: Δt of the Live Score in frames, or "video".
        fps: frames a second that `segment_frames` counts.
        window: slots of the Live Score's history.
        clock, gamma, history, silent, missed: of the Live Score.
        reference_sets: which annotation sets count and how (Live Score, SODA).
        subset: the part of the videos to score (online action detection).
        slot: Δt of online action detection in seconds.
        scorers: text scorers.
        timeliness: match of the suite's timeliness: `label`, or as in `ROUGE-L>=0.3`.
        tiou: thresholds of dense captioning and of SODA a.
        paragraph: dense captioning also scores paragraphs.
        variants: of SODA.
        implementation: whose rules average precision follows.
        ambiguous, ignore, per_stage: of average precision.
    """

    predictions: str
    references: Sequence[str]
    mode: str | None = None
    version: str | None = None
    segment_frames: str | None = None
    fps: float = 30.0
    window: int = 5
    clock: str | None = None
    gamma: str | None = None
    history: str | None = None
    silent: str | None = None
    missed: str | None = None
    reference_sets: str | None = None
    subset: str | None = None
    slot: float = 0.5
    scorers: Sequence[str] | None = None
    timeliness: str | None = None
    tiou: Sequence[float] = THRESHOLDS
    paragraph: bool = False
    variants: Sequence[str] = ("c",)
    implementation: str | None = None
    ambiguous: str | None = None
    ignore: Sequence[str] = ()
    per_stage: bool = False

    @property
    def reference(self) -> bool:
        """Whether the original's numbers are asked for, which is the default."""
        return self.mode != "paper"

    def live(self, **more: Any) -> dict[str, Any]:
        """The options of the Live Score, by the names of `live_score.Reading`, and more of them."""
        names = ("clock", "gamma", "history", "silent", "missed", "window")
        return {name: getattr(self, name) for name in names} | {"references": self.reference_sets} | more


def chosen_scorers(asked: Sequence[str] | None, default: Sequence[str] = SCORERS) -> tuple[tuple[str, ...], list[str]]:
    """The scorers to use, and notes about them.

    Args:
        asked: names that are used as they are; None takes the default.
        default: of this METEOR is left out where its extra is not installed.

    Raises:
        InputError: an unknown name, one given twice, or none.
    """
    if asked is not None:
        names = tuple(asked)
        unknown = next((name for name in names if name not in SCORERS), None)
        if unknown is not None:
            raise InputError(f"--scorers: {unknown!r}: choose from {', '.join(SCORERS)}")
        if len(set(names)) != len(names) or not names:
            raise InputError(f"--scorers={','.join(names)}: give one or more names, none twice")
        return names, []
    if "METEOR" in default and not meteor_available():
        note = "METEOR is left out: its extra is not installed (pip install 'lvc-jax[meteor]')."
        return tuple(name for name in default if name != "METEOR"), [note]
    return tuple(default), []
