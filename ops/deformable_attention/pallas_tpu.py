"""The Pallas kernel for TPUs (Mosaic).

Every program builds a block of the mixing matrix from the two taps of each sample (pallas_common) and multiplies it on
the spot: the matrix never leaves the chip, and there is no gather and no scatter. It is built transposed, rows down the
sublanes and queries along the lanes: the numbers of a sample are then one row that is broadcast down, and the sums of
the backward pass run down the sublanes. Only the samples of a level meet the rows of that level.

Few rows: one block holds all levels as they lie. Many rows: levels are padded to whole blocks of `LONG_BLOCK` rows,
each block belongs to one level, and the output is summed over the blocks, so a window of any length fits.

The grid of a TPU runs in order, so sums are kept in the output block that stays on the chip from step to step:

    forward   grid (n, queries, rows)   out       += W value
    taps      grid (n, queries, rows)   d weights += the two entries of gradient value^T
    value     grid (n, rows, queries)   d value   += W^T gradient

Float32 values are multiplied in full float32, bfloat16 values in bfloat16 with float32 sums.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
from jaxtyping import Array, Float

from . import pallas_tpu_kernels as kernels
from .over_batch import Arrays
from .pallas_common import Folded, differentiable, first_rows, fold
from .pallas_tpu_kernels import Plan, Section
from .taps import Rows

WHOLE_LIMIT = 1024  # up to so many rows in one block
LONG_BLOCK = 512
QUERY_BLOCK = 128
TILE = 16  # sublanes of one tile of bfloat16 (two of float32)
VMEM_LIMIT = 64 * 2**20  # of 128 MiB on a v5e or v6e core


def plan(level_lengths: tuple[int, ...], points: int, queries: int, *, interpret: bool = False) -> Plan:
    """One block of rows where they are few, otherwise blocks of one level each."""
    block_queries = queries if queries <= 2 * QUERY_BLOCK else QUERY_BLOCK
    rows = sum(level_lengths)
    if rows <= WHOLE_LIMIT:
        sections = tuple(
            # Whole tiles: where two levels share a tile both add to it, each with zeros outside itself.
            Section(
                start // TILE * TILE,
                min(-(-(start + length) // TILE) * TILE, rows),
                level * points,
                (level + 1) * points,
            )
            for level, (start, length) in enumerate(zip(first_rows(level_lengths), level_lengths, strict=True))
        )
        return Plan(level_lengths, level_lengths, 1, rows, block_queries, sections, interpret)
    padded = tuple(-(-length // LONG_BLOCK) * LONG_BLOCK for length in level_lengths)
    sections = (Section(0, LONG_BLOCK, 0, points),)
    return Plan(level_lengths, padded, len(padded), LONG_BLOCK, block_queries, sections, interpret)


def attend(
    value: Float[Array, "b s h c"],
    rows: Rows,
    weights: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
    *,
    interpret: bool = False,
) -> Float[Array, "b q h c"]:
    """Sum over levels and points of weight x sample; rows outside their level are zero.

    `interpret` runs the kernel as plain operations on any platform: slow, for tests.
    """
    batch, queries, heads, _, points = weights.shape
    settings = plan(level_lengths, points, queries, interpret=interpret)
    folded = fold(rows, weights, level_lengths, first_rows(settings.padded_lengths))

    def lay(part: Array) -> Array:
        part = part.reshape(batch, queries, heads, settings.groups, -1).transpose(0, 2, 3, 4, 1)
        part = part.reshape(batch * heads, *part.shape[2:])
        return jnp.pad(part, ((0, 0), (0, 0), (0, 0), (0, -queries % settings.block_queries)))

    by_head = value.swapaxes(1, 2).reshape(batch * heads, value.shape[1], -1)
    out = _mix(_pad_levels(by_head, settings), Folded(*map(lay, folded)), settings)
    return out[:, :queries].reshape(batch, heads, queries, -1).swapaxes(1, 2)


def _pad_levels(value: Float[Array, "n s c"], plan: Plan) -> Float[Array, "n rows c"]:
    if plan.padded_lengths == plan.level_lengths:
        return value
    parts = jnp.split(value, first_rows(plan.level_lengths)[1:], axis=1)
    return jnp.concatenate(
        [
            jnp.pad(part, ((0, 0), (0, padded - length), (0, 0)))
            for part, length, padded in zip(parts, plan.level_lengths, plan.padded_lengths, strict=True)
        ],
        axis=1,
    )


def _run_forward(plan: Plan, value: Array, *taps: Array) -> Arrays:
    batch, _, channels = value.shape
    queries = taps[0].shape[-1]
    sample, rows, query = _specs(taps[0].shape[2], channels, plan, rows_inside=True)
    out = pl.pallas_call(
        functools.partial(kernels.forward, plan),
        grid=(batch, queries // plan.block_queries, plan.row_blocks),
        in_specs=[sample, sample, sample, rows],
        out_specs=query,
        out_shape=jax.ShapeDtypeStruct((batch, queries, channels), value.dtype),
        scratch_shapes=[pltpu.VMEM((plan.block_queries, channels), jnp.float32)],
        name="deformable_attention_forward",
        **_options(plan),
    )(*taps, value)
    return (out,)


def _run_backward(plan: Plan, value: Array, lower: Array, lower_weight: Array, upper_weight: Array, g: Array) -> Arrays:
    batch, _, channels = value.shape
    query_blocks = lower.shape[-1] // plan.block_queries
    sample, rows, query = _specs(lower.shape[2], channels, plan, rows_inside=True)
    weight = jax.ShapeDtypeStruct(lower.shape, jnp.float32)
    d_lower, d_upper = pl.pallas_call(
        functools.partial(kernels.taps, plan),
        grid=(batch, query_blocks, plan.row_blocks),
        in_specs=[sample, rows, query],
        out_specs=[sample, sample],
        out_shape=[weight, weight],
        name="deformable_attention_taps",
        **_options(plan),
    )(lower, value, g)
    sample, rows, query = _specs(lower.shape[2], channels, plan, rows_inside=False)
    d_value = pl.pallas_call(
        functools.partial(kernels.value, plan),
        grid=(batch, plan.row_blocks, query_blocks),
        in_specs=[sample, sample, sample, query],
        out_specs=rows,
        out_shape=jax.ShapeDtypeStruct(value.shape, jnp.float32),
        name="deformable_attention_value",
        **_options(plan),
    )(lower, lower_weight, upper_weight, g)
    return d_value.astype(value.dtype), d_lower, d_upper


def _options(plan: Plan) -> dict[str, Any]:
    if plan.interpret:
        return {"interpret": True}
    parameters = pltpu.CompilerParams(
        dimension_semantics=("parallel", "arbitrary", "arbitrary"), vmem_limit_bytes=VMEM_LIMIT
    )
    return {"compiler_params": parameters}


def _specs(samples: int, channels: int, plan: Plan, *, rows_inside: bool) -> tuple[pl.BlockSpec, ...]:
    """Blocks of samples, of rows and of queries; in the grid the rows are the last axis, or else the queries."""

    def spec(shape: tuple[int | None, ...], index: Any) -> pl.BlockSpec:
        if rows_inside:
            return pl.BlockSpec(shape, lambda n, q, s: index(n, q, s))
        return pl.BlockSpec(shape, lambda n, s, q: index(n, q, s))

    return (
        spec((None, None, samples, plan.block_queries), lambda n, q, s: (n, plan.group(s), 0, q)),
        spec((None, plan.block_rows, channels), lambda n, q, s: (n, s, 0)),
        spec((None, plan.block_queries, channels), lambda n, q, s: (n, q, 0)),
    )


_mix = differentiable(_run_forward, _run_backward, ask=False)
