"""The bodies of the GPU kernels (see pallas_gpu). Blocks are whole arrays of one head; a kernel reads tiles of them.

lower, lower_weight, upper_weight: [samples, queries], samples level by level; v: [rows, channels]; g, out: [queries,
channels].
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu
from jaxtyping import Array, Float

from .pallas_common import dot, first_rows

NOWHERE = -2  # as the lower row of a sample: neither it nor the next one is a row


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything static: sizes, and tiles in powers of two."""

    level_lengths: tuple[int, ...]
    points: int
    queries: int
    channels: int
    block_queries: int
    block_rows: int
    block_channels: int
    interpret: bool

    @property
    def rows(self) -> int:
        return sum(self.level_lengths)

    def tiles(self) -> list[int]:
        """Tiles of rows in each level."""
        return [pl.cdiv(length, self.block_rows) for length in self.level_lengths]


def _span(start: Any, block: int, size: Any) -> tuple[Any, Array]:
    """A slice of `block` from `start`, and which of it are below `size`."""
    return pl.ds(start, block), start + jax.lax.iota(jnp.int32, block) < size


def _read(ref: Any, first: tuple[Any, Array], second: tuple[Any, Array]) -> Array:
    """A tile of a matrix, zero outside."""
    mask = first[1][:, None] & second[1][None, :]
    return plgpu.load(ref.at[first[0], second[0]], mask=mask, other=0)


def _write(ref: Any, first: tuple[Any, Array], second: tuple[Any, Array], tile: Array) -> None:
    mask = first[1][:, None] & second[1][None, :]
    plgpu.store(ref.at[first[0], second[0]], tile.astype(ref.dtype), mask=mask)


def _read_samples(ref: Any, sample: Any, queries: tuple[Any, Array], other: int) -> Array:
    """One number for each query of a block, as a row [1, queries]."""
    return plgpu.load(ref.at[pl.ds(sample, 1), queries[0]], mask=queries[1][None, :], other=other)


def _rows_before(plan: Plan, row: Any, lower: Array) -> Array:
    """How far each row of a tile lies above the lower tap of each query: 0 there, 1 at the upper tap."""
    shape = (plan.block_rows, plan.block_queries)
    return row + jax.lax.broadcasted_iota(jnp.int32, shape, 0) - lower


def _mixing_tile(plan: Plan, row: Any, samples: list[tuple[Array, Array, Array]]) -> Float[Array, "rows queries"]:
    """The tile of W^T that starts at `row`, of samples (lower row, its weight, the weight of the next)."""
    tile = jnp.zeros((plan.block_rows, plan.block_queries), jnp.float32)
    for lower, lower_weight, upper_weight in samples:
        above = _rows_before(plan, row, lower)
        tile += jnp.where(above == 0, lower_weight, jnp.where(above == 1, upper_weight, 0.0))
    return tile


def forward(plan: Plan, lower_ref: Any, lower_weight_ref: Any, upper_weight_ref: Any, v_ref: Any, out_ref: Any) -> None:
    """A block of queries and channels of the output."""
    queries = _span(pl.program_id(1) * plan.block_queries, plan.block_queries, plan.queries)
    channels = _span(pl.program_id(2) * plan.block_channels, plan.block_channels, plan.channels)
    total = jnp.zeros((plan.block_queries, plan.block_channels), jnp.float32)
    for level, (start, tiles) in enumerate(zip(first_rows(plan.level_lengths), plan.tiles(), strict=True)):
        samples = [
            (
                _read_samples(lower_ref, sample, queries, NOWHERE),
                _read_samples(lower_weight_ref, sample, queries, 0),
                _read_samples(upper_weight_ref, sample, queries, 0),
            )
            for sample in range(level * plan.points, (level + 1) * plan.points)
        ]

        def add(tile: Array, total: Array, start: int = start, samples: list[Any] = samples) -> Array:
            row = start + tile * plan.block_rows
            tile_of_value = _read(v_ref, _span(row, plan.block_rows, plan.rows), channels)
            return total + dot(_mixing_tile(plan, row, samples).astype(tile_of_value.dtype), tile_of_value, (0, 0))

        total = jax.lax.fori_loop(0, tiles, add, total)
    _write(out_ref, queries, channels, total)


def taps(plan: Plan, lower_ref: Any, v_ref: Any, g_ref: Any, d_lower_ref: Any, d_upper_ref: Any) -> None:
    """Gradients of both weights of all samples of a block of queries."""
    queries = _span(pl.program_id(1) * plan.block_queries, plan.block_queries, plan.queries)
    zeros = jnp.zeros((1, plan.block_queries), jnp.float32)
    for level, (start, tiles) in enumerate(zip(first_rows(plan.level_lengths), plan.tiles(), strict=True)):
        samples = range(level * plan.points, (level + 1) * plan.points)
        lowers = [_read_samples(lower_ref, sample, queries, NOWHERE) for sample in samples]

        def add(tile: Array, sums: tuple[Array, ...], start: int = start, lowers: list[Array] = lowers) -> Any:
            row = start + tile * plan.block_rows
            rows = _span(row, plan.block_rows, plan.rows)

            def channel_block(block: Array, d_mixing: Array) -> Array:
                channels = _span(block * plan.block_channels, plan.block_channels, plan.channels)
                return d_mixing + dot(_read(v_ref, rows, channels), _read(g_ref, queries, channels), (1, 1))

            d_mixing = jnp.zeros((plan.block_rows, plan.block_queries), jnp.float32)
            d_mixing = jax.lax.fori_loop(0, pl.cdiv(plan.channels, plan.block_channels), channel_block, d_mixing)
            added = []
            for lower in lowers:
                above = _rows_before(plan, row, lower)
                added += [jnp.sum(jnp.where(above == step, d_mixing, 0.0), axis=0, keepdims=True) for step in (0, 1)]
            return tuple(old + new for old, new in zip(sums, added, strict=True))

        sums = jax.lax.fori_loop(0, tiles, add, (zeros,) * (2 * plan.points))
        for point, sample in enumerate(samples):
            for ref, total in ((d_lower_ref, sums[2 * point]), (d_upper_ref, sums[2 * point + 1])):
                where = ref.at[pl.ds(sample, 1), queries[0]]
                plgpu.store(where, total, mask=queries[1][None, :])


def value(plan: Plan, lower_ref: Any, lower_weight_ref: Any, upper_weight_ref: Any, g_ref: Any, dv_ref: Any) -> None:
    """Gradient of a tile of rows and channels of the values."""
    tile = pl.program_id(1)
    level, row, end = locate(plan, tile)
    channels = _span(pl.program_id(2) * plan.block_channels, plan.block_channels, plan.channels)

    def add(block: Array, total: Array) -> Array:
        queries = _span(block * plan.block_queries, plan.block_queries, plan.queries)
        samples = [
            (
                _read_samples(lower_ref, level * plan.points + point, queries, NOWHERE),
                _read_samples(lower_weight_ref, level * plan.points + point, queries, 0),
                _read_samples(upper_weight_ref, level * plan.points + point, queries, 0),
            )
            for point in range(plan.points)
        ]
        gradient = _read(g_ref, queries, channels)
        return total + dot(_mixing_tile(plan, row, samples).astype(gradient.dtype), gradient, (1, 0))

    total = jnp.zeros((plan.block_rows, plan.block_channels), jnp.float32)
    total = jax.lax.fori_loop(0, pl.cdiv(plan.queries, plan.block_queries), add, total)
    _write(dv_ref, _span(row, plan.block_rows, end), channels, total)


def locate(plan: Plan, tile: Array) -> tuple[Array, Array, Array]:
    """Of a tile, counted through the levels: its level, its first row, and the row where its level ends."""
    level, row, end = jnp.int32(0), tile * plan.block_rows, jnp.int32(plan.level_lengths[0])
    first_tile = 0
    starts = first_rows(plan.level_lengths)
    for candidate, tiles in enumerate(plan.tiles()):
        reached = tile >= first_tile
        level = jnp.where(reached, candidate, level)
        row = jnp.where(reached, starts[candidate] + (tile - first_tile) * plan.block_rows, row)
        end = jnp.where(reached, starts[candidate] + plan.level_lengths[candidate], end)
        first_tile += tiles
    return level, row, end
