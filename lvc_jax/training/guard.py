"""Stops a diverged training before its state is written anywhere."""

import math

import jax

from lvc_jax.training.step import Metrics


class TrainingDivergedError(RuntimeError):
    """A loss term or the gradient is NaN or infinite; the message names the step and the term."""


def check(step: int, metrics: Metrics) -> None:
    """Raises `TrainingDivergedError` if step number `step` (from 1) gave a number that is not finite.

    Fetches one boolean in the ordinary case.
    """
    if bool(metrics["finite"]):
        return
    values = {name: float(value) for name, value in jax.device_get(metrics).items() if name != "finite"}
    # The terms come before the total and the gradient, which any bad term spoils.
    order = sorted(values, key=lambda name: (name == "grad_norm", name == "loss", name))
    bad = [name for name in order if not math.isfinite(values[name])]
    raise TrainingDivergedError(
        f"step {step}: {bad[0]} is {values[bad[0]]}; nothing after the last checkpoint was saved; "
        "lower optimizer.learning_rate or optimizer.clip_norm, or look at the batch of this step"
    )
