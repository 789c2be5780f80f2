"""The Pallas kernel for GPUs, on the Triton route.

Every program builds a tile of the mixing matrix in registers, from the two taps of each sample (pallas_common), and
multiplies it on the spot: no matrix in memory, no gather, no scatter, no atomics. Only the samples of a level meet the
rows of that level. Three kernels, each owning what it writes, because the programs of a grid run at the same time:

    forward   a block of queries, channels    sum over the rows:     out      = W value
    taps      a block of queries              sum over the rows:     d weight = the two entries of gradient value^T
    value     a tile of rows, channels        sum over the queries:  d value  = W^T gradient

Triton knows arrays of powers of two: edges of queries, rows and channels are masked, so nothing is padded in memory.
Float32 values are multiplied in full float32 (no TF32), bfloat16 values in bfloat16 with float32 sums.

The default GPU route of Pallas (Mosaic GPU) does not take this kernel: see docs/performance.md.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Float

from . import pallas_gpu_kernels as kernels
from .over_batch import Arrays
from .pallas_common import Folded, differentiable, first_rows, fold
from .pallas_gpu_kernels import Plan
from .taps import Rows

# The largest tiles that the compiler keeps in the registers of an H100 (ptxas: no spills, float32 and bfloat16).
QUERIES, ROWS, CHANNELS = 32, 32, 64
SMALLEST_DOT = 16  # Triton multiplies no tile with a shorter side


def plan(level_lengths: tuple[int, ...], points: int, queries: int, channels: int, *, interpret: bool = False) -> Plan:
    """Tiles of queries, rows and channels in powers of two, no larger than the problem needs."""

    def block(limit: int, size: int) -> int:
        return min(limit, max(SMALLEST_DOT, pl.next_power_of_2(size)))

    return Plan(
        level_lengths,
        points,
        queries,
        channels,
        block(QUERIES, queries),
        block(ROWS, max(level_lengths)),
        block(CHANNELS, channels),
        interpret,
    )


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
    folded = fold(rows, weights, level_lengths, first_rows(level_lengths))
    # Queries last, so that neighbouring threads read neighbouring samples.
    taps = Folded(*(part.transpose(0, 2, 3, 1).reshape(batch * heads, -1, queries) for part in folded))
    out = _mix(
        value.swapaxes(1, 2).reshape(batch * heads, value.shape[1], -1),
        taps,
        plan(level_lengths, points, queries, value.shape[-1], interpret=interpret),
    )
    return out.reshape(batch, heads, queries, -1).swapaxes(1, 2)


def _run_forward(plan: Plan, value: Array, *taps: Array) -> Arrays:
    grid = (value.shape[0], pl.cdiv(plan.queries, plan.block_queries), pl.cdiv(plan.channels, plan.block_channels))
    shape = jax.ShapeDtypeStruct((value.shape[0], plan.queries, plan.channels), value.dtype)
    return (_call(kernels.forward, plan, grid, shape, "deformable_attention_forward")(*taps, value),)


def _run_backward(plan: Plan, value: Array, lower: Array, lower_weight: Array, upper_weight: Array, g: Array) -> Arrays:
    batch = value.shape[0]
    weight = jax.ShapeDtypeStruct(lower.shape, jnp.float32)
    grid: tuple[int, ...] = (batch, pl.cdiv(plan.queries, plan.block_queries))
    d_lower, d_upper = _call(kernels.taps, plan, grid, (weight, weight), "deformable_attention_taps")(lower, value, g)
    grid = (batch, sum(plan.tiles()), pl.cdiv(plan.channels, plan.block_channels))
    shape = jax.ShapeDtypeStruct(value.shape, value.dtype)
    call = _call(kernels.value, plan, grid, shape, "deformable_attention_value")
    return call(lower, lower_weight, upper_weight, g), d_lower, d_upper


def _call(kernel: Any, plan: Plan, grid: tuple[int, ...], out_shape: Any, name: str) -> Any:
    # Explicit: without parameters of this class Pallas takes its other GPU route.
    options: dict[str, Any] = {"compiler_params": plgpu.CompilerParams(num_warps=4, num_stages=2)}
    if plan.interpret:
        options = {"interpret": True}

    def whole(array: Any) -> pl.BlockSpec:
        return pl.BlockSpec((None, *array.shape[1:]), lambda n, *_: (n, 0, 0))

    def call(*arguments: Array) -> Any:
        return pl.pallas_call(
            functools.partial(kernel, plan),
            grid=grid,
            in_specs=[whole(argument) for argument in arguments],
            out_specs=jax.tree.map(whole, out_shape),
            out_shape=out_shape,
            name=name,
            **options,
        )(*arguments)

    return call


_mix = differentiable(_run_forward, _run_backward, ask=True)
