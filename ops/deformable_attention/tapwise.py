"""Deformable attention one tap at a time: the form that a CPU runs fastest, and that never holds a sample.

A tap is one of the two rows that a sample mixes. The forward pass adds the taps up one after the other in a single
loop, which the compiler keeps free of intermediate arrays. The backward pass follows the number of queries: for a few,
the value gradient is summed query by query and the taps are read again; for many, it is matrix products with the mixing
matrix of `dense`, head by head and in blocks of queries, so that memory does not grow with queries x rows.
"""

import functools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from .dense import mixing_matrix
from .taps import Rows, two_taps

FEW_QUERIES = 32  # up to this many, the value gradient is a sum written out query by query
BLOCK_BYTES = 2**26  # of one block of the mixing matrix
LANES = 32  # channels that are multiplied before they are summed

Residuals = tuple[Array, Rows, Array]
Gradients = tuple[Array, Array, Array]


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def attend(
    value: Float[Array, "b s h c"],
    rows: Rows,
    weights: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
) -> Float[Array, "b q h c"]:
    """Sum over levels and points of weight x sample; rows outside their level are zero."""
    return _forward(value, rows, weights, level_lengths)[0]


def _forward(
    value: Array, rows: Rows, weights: Array, level_lengths: tuple[int, ...]
) -> tuple[Float[Array, "b q h c"], Residuals]:
    taps = two_taps(rows.whole, level_lengths)
    weights32 = weights.astype(jnp.float32)
    batch, queries, heads = weights.shape[:3]
    flat = value.reshape(batch, -1, value.shape[-1])
    out = jnp.zeros((batch, queries * heads, value.shape[-1]), jnp.float32)
    shares = (
        (taps.lower, jnp.where(taps.lower_inside, weights32 * (1 - rows.fraction), 0)),
        (taps.upper, jnp.where(taps.upper_inside, weights32 * rows.fraction, 0)),
    )
    for index, share in shares:
        index, share = _by_query(_own_head(index)), _by_query(share)
        for tap in range(index.shape[-1]):
            picked = jnp.take_along_axis(flat, index[..., tap, None], axis=1, mode="clip")
            out += picked.astype(jnp.float32) * share[..., tap, None]
    return out.reshape(batch, queries, heads, -1).astype(value.dtype), (value, rows, weights)


def _backward(level_lengths: tuple[int, ...], residuals: Residuals, gradient: Array) -> tuple[Array, Rows, Array]:
    value, rows, weights = residuals
    queries = weights.shape[1]
    few = queries <= FEW_QUERIES and 4 * queries <= value.shape[1]
    pull = _few_queries if few else _many_queries
    d_value, lower, upper = pull(value, rows, weights, gradient, level_lengths)
    taps = two_taps(rows.whole, level_lengths)
    lower, upper = jnp.where(taps.lower_inside, lower, 0), jnp.where(taps.upper_inside, upper, 0)
    d_weights = lower * (1 - rows.fraction) + upper * rows.fraction
    d_rows = Rows(jnp.zeros_like(rows.whole), weights.astype(jnp.float32) * (upper - lower))
    return d_value.astype(value.dtype), d_rows, d_weights.astype(weights.dtype)


attend.defvjp(_forward, _backward)


def _own_head(index: Int[Array, "b q h l p"]) -> Int[Array, "b q h l p"]:
    """Row of a level to row of the values with heads laid side by side, [s h]."""
    heads = index.shape[2]
    return index * heads + jnp.arange(heads, dtype=index.dtype)[:, None, None]


def _by_query(numbers: Float[Array, "b q h l p"]) -> Float[Array, "b qh lp"]:
    return numbers.reshape(numbers.shape[0], -1, math.prod(numbers.shape[3:]))


def _few_queries(
    value: Array, rows: Rows, weights: Array, gradient: Array, level_lengths: tuple[int, ...]
) -> Gradients:
    """Gradient of the values, and the gradient's product with the lower and the upper tap of every sample."""
    by_head = Rows(*(part.transpose(1, 0, 2, 3, 4) for part in rows))
    shares = mixing_matrix(by_head, weights.transpose(1, 0, 2, 3, 4), level_lengths)  # [q, b, h, s]
    gradient = gradient.astype(jnp.float32)
    d_value = jnp.zeros(value.shape, jnp.float32)
    for query in range(shares.shape[0]):
        d_value += shares[query].transpose(0, 2, 1)[..., None] * gradient[:, query, None]
    taps = two_taps(rows.whole, level_lengths)
    batch, channels = value.shape[0], value.shape[-1]
    flat = value.reshape(batch, -1, channels)
    asked = gradient.reshape(batch, -1, 1, channels)
    lanes = math.gcd(channels, LANES)

    def products(index: Int[Array, "b q h l p"]) -> Float[Array, "b q h l p"]:
        places = _own_head(index).reshape(batch, -1, 1)
        partial = jnp.zeros((batch, asked.shape[1], places.shape[1] // asked.shape[1], lanes), jnp.float32)
        for start in range(0, channels, lanes):
            part = slice(start, start + lanes)
            picked = jnp.take_along_axis(flat[..., part], places, axis=1, mode="clip").astype(jnp.float32)
            partial += picked.reshape(partial.shape) * asked[..., part]
        # A product with ones adds the lanes up faster than a sum over the last axis does.
        return (partial.reshape(-1, lanes) @ jnp.ones((lanes, 1), jnp.float32)).reshape(index.shape)

    return d_value, products(taps.lower), products(taps.upper)


def _many_queries(
    value: Array, rows: Rows, weights: Array, gradient: Array, level_lengths: tuple[int, ...]
) -> Gradients:
    """As `_few_queries`, by matrix products. One head at a time: what a head needs fits the processor's cache."""
    queries = weights.shape[1]
    blocks = -(-4 * value.shape[0] * queries * value.shape[1] // BLOCK_BYTES)
    size = -(-queries // blocks)

    def head(inputs: tuple[Array, ...]) -> Gradients:
        own, *queried = inputs

        def pull(queried: tuple[Array, ...]) -> Gradients:
            whole, fraction, weights, gradient = queried
            places = Rows(whole[:, None], fraction[:, None])
            matrix = mixing_matrix(places, weights[:, None], level_lengths)[:, 0].astype(gradient.dtype)
            d_value = jnp.einsum("bqs,bqc->bsc", matrix, gradient, preferred_element_type=jnp.float32)
            d_matrix = jnp.einsum("bqc,bsc->bqs", gradient, own, preferred_element_type=jnp.float32)
            taps = two_taps(whole, level_lengths)
            return d_value, _read(d_matrix, taps.lower), _read(d_matrix, taps.upper)

        if blocks == 1:
            return pull(tuple(queried))

        def add_block(total: Array, queried: tuple[Array, ...]) -> tuple[Array, tuple[Array, Array]]:
            d_value, lower, upper = pull(queried)
            return total + d_value, (lower, upper)

        in_blocks = tuple(_in_blocks(part, blocks, size) for part in queried)
        d_value, products = jax.lax.scan(add_block, jnp.zeros(own.shape, jnp.float32), in_blocks)
        lower, upper = (jnp.moveaxis(part, 0, 1).reshape(part.shape[1], -1, *part.shape[3:]) for part in products)
        return d_value, lower[:, :queries], upper[:, :queries]

    inputs = tuple(jnp.moveaxis(part, 2, 0) for part in (value, *rows, weights, gradient))
    d_value, lower, upper = jax.lax.map(head, inputs)
    return jnp.moveaxis(d_value, 0, 2), jnp.moveaxis(lower, 0, 2), jnp.moveaxis(upper, 0, 2)


def _in_blocks(part: Float[Array, "b q ..."], blocks: int, size: int) -> Float[Array, "blocks b size ..."]:
    """Queries in blocks; those that fill the last block up are zero."""
    padding = [(0, 0)] * part.ndim
    padding[1] = (0, blocks * size - part.shape[1])
    return jnp.moveaxis(jnp.pad(part, padding).reshape(part.shape[0], blocks, size, *part.shape[2:]), 1, 0)


def _read(matrix: Float[Array, "b q s"], index: Int[Array, "b q l p"]) -> Float[Array, "b q l p"]:
    picked = jnp.take_along_axis(matrix, index.reshape(*index.shape[:2], -1), axis=-1, mode="clip")
    return picked.reshape(index.shape)
