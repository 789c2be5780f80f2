"""The optimiser and its learning rate, from the `optimizer` part of a config."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax

from lvc_jax.errors import InputError

Schedule = Callable[[Any], Any]


def make_schedule(config: Any) -> Schedule:
    """Learning rate as a function of the training step (batches read so far).

    Args:
        config: `learning_rate` and `schedule`: "constant"; "piecewise" (times `decay_factor` at every step of
            `boundaries`, as the PDVC reference halves it); "warmup_cosine" (linear from 0 over `warmup_steps`, then a
            cosine to `end_factor` times the peak at step `decay_steps`, constant after it). The horizon is a key of
            its own, so a run that is stopped early and continued with more steps follows the same curve.

    Raises:
        InputError: for an unknown name or an impossible number.
    """
    peak = float(config.learning_rate)
    if not peak > 0:  # also if it is not a number
        raise InputError(f"optimizer.learning_rate={peak}: must be positive")
    if config.schedule == "constant":
        return optax.constant_schedule(peak)
    if config.schedule == "piecewise":
        return optax.piecewise_constant_schedule(peak, {int(b): float(config.decay_factor) for b in config.boundaries})
    if config.schedule == "warmup_cosine":
        warmup, horizon = int(config.warmup_steps), int(config.decay_steps)
        if not 0 <= warmup < horizon:
            raise InputError(f"optimizer.warmup_steps={warmup}: must be at least 0 and below decay_steps={horizon}")
        end = peak * float(config.end_factor)
        return optax.warmup_cosine_decay_schedule(0.0 if warmup else peak, peak, warmup, horizon, end)
    raise InputError(f"optimizer.schedule={config.schedule!r}: choose constant, piecewise or warmup_cosine")


def _outside_captioner(params: Any) -> Any:
    """True for every parameter that is not the captioner's."""
    return jax.tree_util.tree_map_with_path(
        lambda path, _: all(getattr(part, "key", None) != "caption" for part in path), params
    )


# Parameters that no training step reads: the proposal mode's, and two layers that the reference's caption attention
# inherits and leaves unused. PyTorch skips them (they have no gradient), so neither Adam nor weight decay moves them.
_NEVER_READ = (
    ("proposal_layer",),
    ("proposal_norm",),
    ("attention", "weights_kernel"),
    ("attention", "weights_bias"),
    ("attention", "output_kernel"),
    ("attention", "output_bias"),
)


def never_read(path: tuple[Any, ...]) -> bool:
    """Whether training leaves the parameter at this path of the tree as it is."""
    names = tuple(getattr(part, "key", None) for part in path)
    return any(
        names[start : start + len(part)] == part for part in _NEVER_READ for start in range(len(names) - len(part) + 1)
    )


def _by_parameter(factor: float) -> optax.GradientTransformation:
    """Times `factor` for all but the captioner, and nothing for parameters that are never read.

    Its state is the same for every factor, so that a run may change it.
    """

    def scaled(path: tuple[Any, ...], update: jax.Array, slow: bool) -> jax.Array:
        if never_read(path):
            return jnp.zeros_like(update)
        return update * factor if slow else update

    return optax.stateless(
        lambda updates, _: jax.tree_util.tree_map_with_path(scaled, updates, _outside_captioner(updates))
    )


def make_optimizer(config: Any, accumulation_steps: int = 1) -> tuple[optax.GradientTransformation, Schedule]:
    """Clipping by global norm, weight decay, Adam, learning rate; optionally over several accumulated batches.

    Args:
        config: `name` ("adam" adds weight decay to the gradient, as the PDVC reference does; "adamw" decouples it),
            `weight_decay`, `clip_norm` (0 for none), `b1`, `b2`, `eps`, `transformer_factor` (times the learning rate
            for all parameters but the captioner's) and what `make_schedule` reads.
        accumulation_steps: batches whose mean gradient makes one update; `schedule` still counts batches.

    Returns:
        the optax transformation, and the learning rate of the update that batch number `step` (from 0) belongs to.
    """
    if accumulation_steps < 1:
        raise InputError(f"accumulation_steps={accumulation_steps}: must be at least 1")
    if config.name not in ("adam", "adamw"):
        raise InputError(f"optimizer.name={config.name!r}: choose adam or adamw")
    factor = float(config.transformer_factor)
    if not factor > 0:  # also if it is not a number
        raise InputError(f"optimizer.transformer_factor={factor}: must be positive")
    schedule = make_schedule(config)
    adam = optax.scale_by_adam(b1=config.b1, b2=config.b2, eps=config.eps)
    decay = optax.add_decayed_weights(config.weight_decay)
    tx = optax.chain(
        optax.clip_by_global_norm(config.clip_norm) if config.clip_norm else optax.identity(),
        *((decay, adam) if config.name == "adam" else (adam, decay)),
        _by_parameter(factor),
        optax.scale_by_learning_rate(lambda updates: schedule(updates * accumulation_steps)),
    )
    if accumulation_steps == 1:
        return tx, schedule
    many = optax.MultiSteps(tx, accumulation_steps)
    return many.gradient_transformation(), lambda step: schedule(
        jnp.asarray(step) // accumulation_steps * accumulation_steps
    )
