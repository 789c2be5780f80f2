"""The Pallas kernels as an implementation: forward and backward, for TPU (Mosaic) and for GPU (Triton).

One program takes one head of one sample and a block of queries, makes the rows of the mixing matrix that it needs in
registers, and multiplies them with the values: no matrix of queries x rows and no sample ever lies in main memory. On a
GPU the Triton route is named explicitly, because the default one (Mosaic GPU) cannot lower these kernels.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from . import pallas_kernels as kernels
from .pallas_kernels import Tiles
from .taps import Rows

Target = Literal["tpu", "gpu"]
Residuals = tuple[Array, Rows, Array]

TPU_BLOCK, TPU_CHUNK, TPU_LONG_CHUNK = 128, 128, 512
GPU_BLOCK, GPU_CHUNK, GPU_CHANNELS = 32, 32, 128


def cut(level_lengths: tuple[int, ...], queries: int, points: int, target: Target) -> Tiles:
    """Sizes of blocks and chunks: multiples of 16 and 128 on a TPU, powers of two on a GPU."""
    if target == "tpu":
        block = min(TPU_BLOCK, -(-queries // 16) * 16)
        chunk = TPU_LONG_CHUNK if min(level_lengths) >= TPU_LONG_CHUNK else TPU_CHUNK
    else:
        block, chunk = GPU_BLOCK, GPU_CHUNK
    chunks = tuple(-(-length // chunk) for length in level_lengths)
    starts = tuple(chunk * sum(chunks[:level]) for level in range(len(chunks)))
    return Tiles(block, chunk, starts, chunks, points)


def channels_of(channels: int, target: Target) -> int:
    """Channels after padding: a GPU's arrays have a power of two of them, at least 16."""
    return channels if target == "tpu" else max(16, 1 << (channels - 1).bit_length())


def attend(
    value: Float[Array, "b s h c"],
    rows: Rows,
    weights: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
    target: Target,
    interpret: bool = False,
) -> Float[Array, "b q h c"]:
    """Sum over levels and points of weight x sample; rows outside their level are zero.

    Args:
        value, rows, weights, level_lengths: as for every implementation.
        target: which machine the kernels are for.
        interpret: runs them as ordinary operations, on any machine, slowly.
    """
    batch, length, heads, channels = value.shape
    groups = -(-channels // GPU_CHANNELS) if target == "gpu" else 1
    if groups == 1:
        return _attend(value, rows, weights, level_lengths, target, interpret)
    # Wide heads do not fit the registers: each group of channels becomes a head that samples at the same places.
    value = jnp.pad(value, [(0, 0)] * 3 + [(0, groups * GPU_CHANNELS - channels)])
    value = value.reshape(batch, length, heads * groups, GPU_CHANNELS)
    rows, weights = jax.tree.map(lambda part: jnp.repeat(part, groups, axis=2), (rows, weights))
    out = _attend(value, rows, weights, level_lengths, target, interpret)
    return out.reshape(*out.shape[:2], heads, groups * GPU_CHANNELS)[..., :channels]


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4, 5))
def _attend(
    value: Array, rows: Rows, weights: Array, level_lengths: tuple[int, ...], target: Target, interpret: bool
) -> Array:
    return _forward(value, rows, weights, level_lengths, target, interpret)[0]


def _forward(
    value: Array, rows: Rows, weights: Array, level_lengths: tuple[int, ...], target: Target, interpret: bool
) -> tuple[Array, Residuals]:
    batch, queries, heads, _, points = weights.shape
    channels = value.shape[-1]
    tiles = cut(level_lengths, queries, points, target)
    samples = _samples(rows, weights, tiles)
    padded = _pad_value(value, level_lengths, tiles, target)
    own = _of_block(tiles, samples[0].shape[-1])
    out = _call(
        functools.partial(kernels.forward, tiles=tiles),
        "deformable_attention_forward",
        (samples[0].shape[0], samples[0].shape[1] // tiles.queries),
        [own, own, own, _whole(padded)],
        _of_block(tiles, padded.shape[-1]),
        jax.ShapeDtypeStruct((*samples[0].shape[:2], padded.shape[-1]), value.dtype),
        target,
        interpret,
    )(*samples, padded)
    return _by_batch(out, batch, heads, queries)[..., :channels], (value, rows, weights)


def _backward(
    level_lengths: tuple[int, ...], target: Target, interpret: bool, residuals: Residuals, gradient: Array
) -> tuple[Array, Rows, Array]:
    value, rows, weights = residuals
    batch, queries, heads, levels, points = weights.shape
    tiles = cut(level_lengths, queries, points, target)
    samples = _samples(rows, weights, tiles)
    padded = _pad_value(value, level_lengths, tiles, target)
    asked = _pad(_by_head(gradient.astype(value.dtype)), {1: tiles.queries, 2: padded.shape[-1]})
    grid = (samples[0].shape[0], samples[0].shape[1] // tiles.queries)
    own, own_gradient = _of_block(tiles, samples[0].shape[-1]), _of_block(tiles, padded.shape[-1])
    like_samples = jax.ShapeDtypeStruct(samples[0].shape, jnp.float32)
    d_fraction, d_weights = _call(
        functools.partial(kernels.backward_queries, tiles=tiles),
        "deformable_attention_backward_queries",
        grid,
        [own, own, own, _whole(padded), own_gradient],
        [own, own],
        [like_samples, like_samples],
        target,
        interpret,
    )(*samples, padded, asked)
    d_padded = _value_gradient(samples, asked, padded, tiles, target, interpret)
    d_value = jnp.concatenate(
        [d_padded[:, start : start + length] for start, length in zip(tiles.starts, level_lengths)], axis=1
    )
    d_value = _by_batch(d_value, batch, heads, value.shape[1])[..., : value.shape[-1]]

    def shaped(part: Array) -> Array:
        return _by_batch(part, batch, heads, queries).reshape(batch, queries, heads, levels, points)

    d_rows = Rows(jnp.zeros_like(rows.whole), shaped(d_fraction))
    return d_value.astype(value.dtype), d_rows, shaped(d_weights).astype(weights.dtype)


_attend.defvjp(_forward, _backward)


def _value_gradient(
    samples: list[Array], asked: Array, padded: Array, tiles: Tiles, target: Target, interpret: bool
) -> Float[Array, "bh s c"]:
    """Gradient of the padded values, float32."""
    heads, queries, columns = samples[0].shape
    if target == "tpu":
        own = _of_block(tiles, columns)
        return _call(
            functools.partial(kernels.backward_value_in_turn, tiles=tiles),
            "deformable_attention_backward_value",
            (heads, queries // tiles.queries),
            [own, own, own, _of_block(tiles, padded.shape[-1])],
            _whole(padded),
            jax.ShapeDtypeStruct(padded.shape, jnp.float32),
            target,
            interpret,
        )(*samples, asked)
    every = _whole(samples[0])
    parts = [
        _call(
            functools.partial(kernels.backward_value_at_once, tiles=tiles, level=level),
            f"deformable_attention_backward_value_{level}",
            (heads, chunks),
            [every, every, every, _whole(asked)],
            pl.BlockSpec((1, tiles.rows, padded.shape[-1]), lambda head, chunk: (head, chunk, 0)),
            jax.ShapeDtypeStruct((heads, chunks * tiles.rows, padded.shape[-1]), jnp.float32),
            target,
            interpret,
        )(*samples, asked)
        for level, chunks in enumerate(tiles.chunks)
    ]
    return jnp.concatenate(parts, axis=1)


def _call(
    kernel: Callable[..., None],
    name: str,
    grid: tuple[int, int],
    in_specs: list[pl.BlockSpec],
    out_specs: Any,
    out_shape: Any,
    target: Target,
    interpret: bool,
) -> Callable[..., Any]:
    options: dict[str, Any] = {"interpret": True} if interpret else {"compiler_params": _compiler_params(target)}
    return pl.pallas_call(
        kernel, name=name, grid=grid, in_specs=in_specs, out_specs=out_specs, out_shape=out_shape, **options
    )


def _compiler_params(target: Target) -> Any:
    """Imported here: each of the two modules is there only where its platform is."""
    if target == "tpu":
        from jax.experimental.pallas import tpu

        return tpu.CompilerParams(dimension_semantics=("parallel", "arbitrary"))
    from jax.experimental.pallas import triton

    return triton.CompilerParams(num_warps=4, num_stages=1)


def _of_block(tiles: Tiles, last: int) -> pl.BlockSpec:
    return pl.BlockSpec((1, tiles.queries, last), lambda head, block: (head, block, 0))


def _whole(array: Array) -> pl.BlockSpec:
    """Everything of one head."""
    return pl.BlockSpec((1, *array.shape[1:]), lambda head, block: (head, 0, 0))


def _by_head(array: Float[Array, "b n h ..."]) -> Float[Array, "bh n m"]:
    array = jnp.moveaxis(array, 2, 1)
    return array.reshape(array.shape[0] * array.shape[1], array.shape[2], math.prod(array.shape[3:]))


def _by_batch(array: Float[Array, "bh n m"], batch: int, heads: int, length: int) -> Float[Array, "b n h m"]:
    return jnp.moveaxis(array[:, :length].reshape(batch, heads, length, -1), 1, 2)


def _samples(rows: Rows, weights: Array, tiles: Tiles) -> list[Float[Array, "bh q lp"]]:
    """whole, fraction and weights of every sample; queries that fill up the last block weigh nothing."""
    return [_pad(_by_head(part.astype(jnp.float32)), {1: tiles.queries}) for part in (*rows, weights)]


def _pad_value(value: Array, level_lengths: tuple[int, ...], tiles: Tiles, target: Target) -> Float[Array, "bh s c"]:
    flat = _by_head(value)
    flat = _pad(flat, {2: channels_of(flat.shape[-1], target)})
    starts = [sum(level_lengths[:level]) for level in range(len(level_lengths))]
    levels = [flat[:, start : start + length] for start, length in zip(starts, level_lengths)]
    return jnp.concatenate([_pad(level, {1: tiles.rows}) for level in levels], axis=1)


def _pad(array: Array, multiples: dict[int, int]) -> Array:
    """Zeros at the end of the given axes, up to a multiple."""
    widths = [(0, -size % multiples.get(axis, 1)) for axis, size in enumerate(array.shape)]
    return jnp.pad(array, widths)
