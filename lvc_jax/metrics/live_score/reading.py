"""The choices that a Live Score depends on; every one of them is part of its signature."""

import dataclasses
import math
from typing import Any, Literal

from lvc_jax.errors import InputError
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.text.scorers import SCORERS
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER

# What the authors' toolkit scores with, and the names it prints: its "Bleu_4" is BLEU-1.
TOOLKIT_LABELS = {"BLEU-1": "Bleu_4", "METEOR": "METEOR", "ROUGE-L": "ROUGE_L"}
_LARGEST_WINDOW = 1_000_000

_WITHOUT_EXTRA = tuple(scorer for scorer in SCORERS if scorer != "METEOR")
# The values that an option takes if none is given: by clock, and for the mode `reference`.
_DEFAULTS: dict[str, dict[str, Any]] = {
    "dt": {"gamma": "mean", "history": "min(K,w)", "silent": "skip", "missed": "zero", "references": "both"},
    "prediction": {"gamma": "mean", "history": "K", "silent": "skip", "missed": "skip", "references": "first"},
    "reference": {
        "clock": "prediction",
        "gamma": "aggregate",
        "history": "min(K,w)",
        "silent": "skip",
        "missed": "skip",
        "references": "first",
    },
}
_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": ("paper", "reference"),
    "clock": ("dt", "prediction"),
    "gamma": ("mean", "aggregate"),
    "history": ("min(K,w)", "K"),
    "silent": ("skip", "one", "zero"),
    "missed": ("zero", "skip"),
    "references": ("both", "first"),
}


@dataclasses.dataclass(frozen=True)
class Reading:
    """How a Live Score is read. An option that is None takes the default of its mode and clock.

    Attributes:
        segment_frames: Δt in frames; "video" makes the whole video one slot. Without meaning where a slot is a
            prediction.
        mode: "paper": equations 2 to 7; "reference": the curves of the authors' toolkit, which averages the values it
            has already published. `reference` fixes every option but `window` and `scorers`.
        clock: "dt" (default): a slot is Δt of time; "prediction": a slot is one prediction, in file order, and time
            without a prediction does not exist.
        gamma: "mean" (default): a slot's score is the mean over its (caption, reference) pairs; "aggregate": what the
            original scorers print for the list of its pairs (BLEU and METEOR of summed statistics).
        history: denominator of the windowed forms, "min(K,w)" or "K" as printed in equations 5 to 7. Default:
            "min(K,w)"; "K" with clock "prediction".
        silent: a slot without event and without caption: "skip" (default) leaves it out, "one" scores it 1, "zero" 0.
        missed: a slot with events and without caption: "zero" (default) scores it 0, "skip" leaves it out.
        references: "both" (default) pairs with the events of every annotation set, "first" with the first set's only,
            the default with clock "prediction".
        window: w, slots of the history.
        fps: frames a second that `segment_frames` counts.
        scorers: names out of `text.scorers.SCORERS`. Default: all but METEOR, which needs the extra `[meteor]`; in
            `reference` the toolkit's three.
    """

    segment_frames: int | Literal["video"] = 150
    mode: Literal["paper", "reference"] = "paper"
    clock: Literal["dt", "prediction"] | None = None
    gamma: Literal["mean", "aggregate"] | None = None
    history: Literal["min(K,w)", "K"] | None = None
    silent: Literal["skip", "one", "zero"] | None = None
    missed: Literal["zero", "skip"] | None = None
    references: Literal["both", "first"] | None = None
    window: int = 5
    fps: float = 30.0
    scorers: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        _check_choice("mode", self.mode)
        reference = self.mode == "reference"
        self._settle("clock", "prediction" if reference else "dt")
        for name, default in _DEFAULTS["reference" if reference else str(self.clock)].items():
            self._settle(name, default)
            if reference and getattr(self, name) != default:
                raise InputError(
                    f"live score: {name}={getattr(self, name)!r}: mode 'reference' has {name}={default!r}; "
                    "use mode 'paper' for others"
                )
        if self.clock == "prediction" and (self.silent, self.missed) != ("skip", "skip"):
            raise InputError(
                "live score: silent and missed need clock 'dt': with clock 'prediction' every slot has a caption"
            )
        names = (tuple(TOOLKIT_LABELS) if reference else _WITHOUT_EXTRA) if self.scorers is None else self.scorers
        object.__setattr__(self, "scorers", _checked_scorers(names))
        self._check_numbers()

    def _settle(self, name: str, default: str) -> None:
        if getattr(self, name) is None:
            object.__setattr__(self, name, default)
        _check_choice(name, getattr(self, name))

    def _check_numbers(self) -> None:
        if not isinstance(self.window, int) or not 1 <= self.window <= _LARGEST_WINDOW:
            raise InputError(f"live score: window={self.window}: must be at least 1 and at most {_LARGEST_WINDOW}")
        frames = self.segment_frames
        if frames != "video" and not (isinstance(frames, int) and frames >= 1):
            raise InputError(f"live score: segment_frames={frames!r}: must be a positive whole number, or 'video'")
        if not (math.isfinite(self.fps) and self.fps > 0):
            raise InputError(f"live score: fps={self.fps}: must be a positive number")

    @property
    def delta_t(self) -> float | None:
        """Δt in seconds; None for the whole video."""
        return None if self.segment_frames == "video" else self.segment_frames / self.fps

    @property
    def names(self) -> tuple[str, ...]:
        """The scorers, never None."""
        return self.scorers or ()

    @property
    def signature(self) -> str:
        """The signature line of scores made with this reading."""
        clock = "prediction"
        if self.clock == "dt":
            clock = f"dt{self.segment_frames}" + ("" if self.fps == 30 else f"@{self.fps:g}")
        return signature(
            "livescore",
            mode=self.mode,
            clock=clock,
            gamma=self.gamma,
            hist=self.history,
            w=self.window,
            silent=self.silent,
            miss=0 if self.missed == "zero" else self.missed,
            refs=self.references,
            **({"df": "video" if self.gamma == "mean" else "slot"} if "CIDEr" in self.names else {}),
            tok=TOKENIZER,
            scorers=",".join(self.names),
        )


def _check_choice(name: str, value: object) -> None:
    if value not in _CHOICES[name]:
        raise InputError(f"live score: {name}={value!r}: choose one of {', '.join(_CHOICES[name])}")


def _checked_scorers(names: object) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, list | tuple) or not names:
        raise InputError(f"live score: scorers={names!r}: expected one or more of {', '.join(SCORERS)}")
    unknown = next((name for name in names if name not in SCORERS), None)
    if unknown is not None:
        raise InputError(f"live score: scorer {unknown!r}: choose from {', '.join(SCORERS)}")
    return tuple(dict.fromkeys(names))
