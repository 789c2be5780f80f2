"""Deformable attention as one matrix product.

Linear interpolation at row x is a product with the hat function max(0, 1 - |x - t|) over the rows t, so all samples of
a query together are one row of a small [queries, rows] matrix W, and the output is W @ value. The backward pass needs
no scatter: dW = gradient @ value^T, of which each sample reads the two entries next to it, and dvalue = W^T @ gradient.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .taps import Rows, two_taps

Residuals = tuple[Array, Rows, Array, Array]

# Sums in float32, and float32 factors as they are: accelerators would round them.
_EXACT: dict[str, Any] = {"precision": jax.lax.Precision.HIGHEST, "preferred_element_type": jnp.float32}


def mixing_matrix(
    rows: Rows, weights: Float[Array, "b h q l p"], level_lengths: tuple[int, ...]
) -> Float[Array, "b h q s"]:
    """W: how much of each row of the concatenated levels every query takes, in float32."""
    weights = weights.astype(jnp.float32)
    parts = []
    for level, length in enumerate(level_lengths):
        grid = jnp.arange(length, dtype=jnp.float32)
        part = jnp.zeros((*weights.shape[:3], length), jnp.float32)
        for point in range(weights.shape[-1]):
            distance = jnp.abs((rows.whole[..., level, point, None] - grid) + rows.fraction[..., level, point, None])
            part += weights[..., level, point, None] * jnp.maximum(0.0, 1.0 - distance)
        parts.append(part)
    return jnp.concatenate(parts, axis=-1)


def attend(
    value: Float[Array, "b s h c"],
    rows: Rows,
    weights: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
) -> Float[Array, "b q h c"]:
    """Sum over levels and points of weight x sample; rows outside their level are zero."""
    by_head = Rows(*(part.transpose(0, 2, 1, 3, 4) for part in rows))
    out = _attend(value.transpose(0, 2, 1, 3), by_head, weights.transpose(0, 2, 1, 3, 4), level_lengths)
    return out.transpose(0, 2, 1, 3)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _attend(
    value: Float[Array, "b h s c"],
    rows: Rows,
    weights: Float[Array, "b h q l p"],
    level_lengths: tuple[int, ...],
) -> Float[Array, "b h q c"]:
    return _forward(value, rows, weights, level_lengths)[0]


def _forward(
    value: Array, rows: Rows, weights: Array, level_lengths: tuple[int, ...]
) -> tuple[Float[Array, "b h q c"], Residuals]:
    matrix = mixing_matrix(rows, weights, level_lengths).astype(value.dtype)
    out = jnp.einsum("bhqs,bhsc->bhqc", matrix, value, **_EXACT)
    return out.astype(value.dtype), (value, rows, weights, matrix)


def _backward(level_lengths: tuple[int, ...], residuals: Residuals, gradient: Array) -> tuple[Array, Rows, Array]:
    value, rows, weights, matrix = residuals
    d_value = jnp.einsum("bhqs,bhqc->bhsc", matrix, gradient, **_EXACT)
    d_matrix = jnp.einsum("bhqc,bhsc->bhqs", gradient, value, **_EXACT)
    taps = two_taps(rows.whole, level_lengths)

    def take(index: Array, inside: Array) -> Array:
        picked = jnp.take_along_axis(d_matrix, index.reshape(*index.shape[:3], -1), axis=-1, mode="clip")
        return jnp.where(inside, picked.reshape(index.shape), 0)

    lower, upper = take(taps.lower, taps.lower_inside), take(taps.upper, taps.upper_inside)
    d_weights = lower * (1 - rows.fraction) + upper * rows.fraction
    d_rows = Rows(jnp.zeros_like(rows.whole), weights.astype(jnp.float32) * (upper - lower))
    return d_value.astype(value.dtype), d_rows, d_weights.astype(weights.dtype)


_attend.defvjp(_forward, _backward)
