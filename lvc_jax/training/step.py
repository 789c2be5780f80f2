"""One training step as one jitted function, data parallel over a mesh."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from jax.sharding import Mesh

from lvc_jax.training import losses
from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.train_state import TrainState, by_sample, replicated

Metrics = dict[str, jax.Array]
TrainStep = Callable[[TrainState, Any], tuple[TrainState, Metrics]]


def make_train_step(
    model: nn.Module, tx: optax.GradientTransformation, weights: LossWeights, mesh: Mesh, *, seed: int
) -> TrainStep:
    """Builds `train_step(state, batch) -> (state, metrics)`.

    The state is donated: the caller must not use it again. Dropout depends on (seed, state.step) alone, and all sums
    and denominators run over the global batch, so the number of devices changes nothing but rounding.

    Metrics: `loss`, every loss term, `grad_norm` (before clipping) and `finite` (none of them is NaN or infinite).
    """

    def train_step(state: TrainState, batch: Any) -> tuple[TrainState, Metrics]:
        key = jax.random.fold_in(jax.random.key(seed), state.step)

        def loss(params: Any) -> tuple[jax.Array, losses.Terms]:
            return losses.compute(model, params, batch, weights, key=key, deterministic=False)

        (total, terms), grads = jax.value_and_grad(loss, has_aux=True)(state.params)
        updates, opt_state = tx.update(grads, state.opt_state, state.params)
        params = optax.apply_updates(state.params, updates)
        metrics = {"loss": total, **terms, "grad_norm": optax.tree.norm(grads)}
        metrics["finite"] = jnp.all(jnp.isfinite(jnp.stack(list(metrics.values()))))
        return TrainState(step=state.step + 1, params=params, opt_state=opt_state), metrics

    everywhere = replicated(mesh)
    return jax.jit(
        train_step,
        in_shardings=(everywhere, by_sample(mesh)),
        out_shardings=(everywhere, everywhere),
        donate_argnums=0,
    )
