"""What the ablation compares, on which data, with which settings."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lvc_jax.errors import InputError

BASE = "base"
QUERIES = 10
VARIANTS: dict[str, dict[str, Any]] = {
    BASE: {},
    "plain": {"transformer": "plain"},
    "queries_5": {"num_queries": 5},
    "queries_20": {"num_queries": 20},
    "queries_50": {"num_queries": 50},
    "no_counter": {"use_counter": False},
}
"""What each variant changes in `model`. The base is the paper's: deformable, 10 queries, with the counter."""

PANELS: dict[str, dict[str, str]] = {
    "Transformer": {"plain": "plain", "deformable": BASE},
    "Queries": {"5": "queries_5", "10": BASE, "20": "queries_20", "50": "queries_50"},
    "Event counter": {"without": "no_counter", "with": BASE},
}
"""The three parts of the figure: {what is varied: {value: variant}}."""


@dataclasses.dataclass(frozen=True)
class Data:
    """A data set of the ablation: the config it is trained with, the split that is scored, Δt in frames."""

    config: str
    split: str
    segment_frames: int


DATA = {
    "fifty_salads": Data("configs/salads.py:fold=1", "fold_1", 150),
    "moving_shapes": Data("configs/shapes.py", "test", 48),
}


@dataclasses.dataclass(frozen=True)
class Study:
    """One ablation.

    Attributes:
        data: config, split and Δt.
        data_dir: folder of prepared data sets.
        output: folder of all runs; every variant has its own below it.
        num_train_steps: of each variant; None takes the config's.
        variants: names out of `VARIANTS`.
    """

    data: Data
    data_dir: str
    output: Path
    num_train_steps: int | None = None
    variants: tuple[str, ...] = tuple(VARIANTS)

    def folder(self, variant: str) -> Path:
        """The variant's own folder."""
        return self.output / variant

    def overrides(self, variant: str) -> dict[str, Any]:
        """What the variant's training changes in the config.

        The event slots of a sample and the counter's classes stay those of the config, so that variants differ in one
        thing only. With fewer queries than slots a sample keeps its longest events (`assemble.make_sample_config`),
        while the counter still learns the whole number.
        """
        model = {"transformer": "deformable", "num_queries": QUERIES, "use_counter": True} | VARIANTS[variant]
        changes: dict[str, Any] = {f"model.{name}": value for name, value in model.items()}
        if self.num_train_steps is not None:
            steps = self.num_train_steps
            schedule = {"num_train_steps": steps, "optimizer.decay_steps": steps, "optimizer.warmup_steps": steps // 10}
            changes |= schedule
        return {"data_dir": self.data_dir, **changes}

    def settings(self, variant: str) -> dict[str, Any]:
        """Everything that decides the variant's numbers, as JSON has it; not where the data lie."""
        changes = {name: value for name, value in self.overrides(variant).items() if name != "data_dir"}
        return {**dataclasses.asdict(self.data), **changes}


def chosen(names: Sequence[str] | None) -> tuple[str, ...]:
    """The variants that a list of names asks for, in the order of `VARIANTS`; all if None.

    Raises:
        InputError: an unknown name, or none.
    """
    if names is None:
        return tuple(VARIANTS)
    unknown = next((name for name in names if name not in VARIANTS), None)
    if unknown is not None or not names:
        raise InputError(f"--variants: {unknown or '(empty)'}: choose from {', '.join(VARIANTS)}")
    return tuple(name for name in VARIANTS if name in names)
