"""Small building blocks with PyTorch's default initial values, which the PDVC reference was trained from."""

import math
from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array

Initializer = Callable[..., Array]
xavier = nn.initializers.xavier_uniform()
zeros = nn.initializers.zeros_init()


def uniform(bound: float) -> Initializer:
    """Uniform on [-bound, bound)."""

    def init(key: Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Array:
        return jax.random.uniform(key, shape, dtype, -bound, bound)

    return init


def fan_in_uniform(fan_in: int) -> Initializer:
    """PyTorch's default of a linear layer, for its weight and its bias: uniform within 1 / sqrt(fan_in)."""
    return uniform(1.0 / math.sqrt(fan_in))


def same_for_each(init: Initializer) -> Initializer:
    """Draws once and copies the draw along the first axis: identical copies of a layer, stacked."""

    def stacked(key: Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Array:
        return jnp.broadcast_to(init(key, shape[1:], dtype), shape)

    return stacked


def layer_norm(dtype: Any, name: str | None = None) -> nn.LayerNorm:
    """Layer normalisation with PyTorch's epsilon and a two-pass variance."""
    return nn.LayerNorm(epsilon=1e-5, dtype=dtype, use_fast_variance=False, name=name)


def group_count(channels: int) -> int:
    """Groups of the pyramid's normalisation: 32, or the largest smaller divisor of the channels."""
    return max(groups for groups in range(1, 33) if channels % groups == 0)


def inverse_sigmoid(fractions: Array, epsilon: float = 1e-5) -> Array:
    """The logit of values in [0, 1], with both sides kept at least `epsilon` from zero (PDVC reference)."""
    fractions = jnp.clip(fractions, 0.0, 1.0)
    return jnp.log(jnp.maximum(fractions, epsilon) / jnp.maximum(1.0 - fractions, epsilon))
