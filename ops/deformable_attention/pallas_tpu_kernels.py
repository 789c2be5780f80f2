"""The bodies of the TPU kernels (see pallas_tpu), on blocks that lie on the chip.

lower, lower_weight, upper_weight: [samples of a group, queries]; v: [rows, channels]; g, out: [queries, channels].
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from .pallas_common import dot, first_rows


@dataclasses.dataclass(frozen=True)
class Section:
    """Rows of a block that the samples of one level reach: rows [start, stop), samples [first, last)."""

    start: int
    stop: int
    first: int
    last: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """Everything static. `groups` of samples lie side by side: one of all levels, or one for each level."""

    level_lengths: tuple[int, ...]
    padded_lengths: tuple[int, ...]
    groups: int
    block_rows: int
    block_queries: int
    sections: tuple[Section, ...]
    interpret: bool

    @property
    def rows(self) -> int:
        return sum(self.padded_lengths)

    @property
    def row_blocks(self) -> int:
        return self.rows // self.block_rows

    def first_blocks(self) -> tuple[int, ...]:
        """The first block of rows of each group."""
        if self.groups == 1:
            return (0,)
        return tuple(row // self.block_rows for row in first_rows(self.padded_lengths))

    def group(self, row_block: Any) -> Any:
        """The group whose samples reach a block of rows."""
        return sum((row_block >= first) * 1 for first in self.first_blocks()[1:]) + row_block * 0

    def is_first(self, row_block: Any) -> Any:
        """Whether a block of rows is the first of its group."""
        return functools.reduce(jnp.logical_or, [row_block == first for first in self.first_blocks()])


def _above(plan: Plan, section: Section, row_block: Any, lower: Float[Array, "1 q"]) -> Array:
    """How far each row of a section lies above the lower tap of each query: 0 there, 1 at the upper tap."""
    shape = (section.stop - section.start, plan.block_queries)
    first = section.start + row_block * plan.block_rows
    return jax.lax.broadcasted_iota(jnp.int32, shape, 0) - (lower - first)


def _mixing_block(plan: Plan, section: Section, row_block: Any, samples: tuple[Any, Any, Any]) -> Array:
    """The rows of a section of W^T, float32 [rows, queries]."""
    lower_ref, lower_weight_ref, upper_weight_ref = samples
    block = jnp.zeros((section.stop - section.start, plan.block_queries), jnp.float32)
    for sample in range(section.first, section.last):
        line = slice(sample, sample + 1)
        above = _above(plan, section, row_block, lower_ref[line])
        block += jnp.where(above == 0, lower_weight_ref[line], jnp.where(above == 1, upper_weight_ref[line], 0.0))
    return block


def forward(
    plan: Plan,
    lower_ref: Any,
    lower_weight_ref: Any,
    upper_weight_ref: Any,
    v_ref: Any,
    out_ref: Any,
    total_ref: Any,
) -> None:
    """Adds what a block of rows gives to a block of queries; total_ref: float32 [queries, channels]."""
    row_block = pl.program_id(2)

    @pl.when(row_block == 0)
    def _() -> None:
        total_ref[...] = jnp.zeros_like(total_ref)

    for section in plan.sections:
        mixing = _mixing_block(plan, section, row_block, (lower_ref, lower_weight_ref, upper_weight_ref))
        rows = v_ref[section.start : section.stop]
        total_ref[...] += dot(mixing.astype(rows.dtype), rows, (0, 0))

    @pl.when(row_block == plan.row_blocks - 1)
    def _() -> None:
        out_ref[...] = total_ref[...].astype(out_ref.dtype)


def taps(plan: Plan, lower_ref: Any, v_ref: Any, g_ref: Any, d_lower_ref: Any, d_upper_ref: Any) -> None:
    """Adds what a block of rows gives to the gradients of both weights of the samples that reach it."""
    row_block = pl.program_id(2)

    @pl.when(plan.is_first(row_block))
    def _() -> None:
        d_lower_ref[...] = jnp.zeros_like(d_lower_ref)
        d_upper_ref[...] = jnp.zeros_like(d_upper_ref)

    for section in plan.sections:
        d_mixing = dot(v_ref[section.start : section.stop], g_ref[...], (1, 1))
        for sample in range(section.first, section.last):
            line = slice(sample, sample + 1)
            above = _above(plan, section, row_block, lower_ref[line])
            for step, ref in enumerate((d_lower_ref, d_upper_ref)):
                ref[line] += jnp.sum(jnp.where(above == step, d_mixing, 0.0), axis=0, keepdims=True)


def value(plan: Plan, lower_ref: Any, lower_weight_ref: Any, upper_weight_ref: Any, g_ref: Any, dv_ref: Any) -> None:
    """Adds what a block of queries gives to the gradient of a block of rows, float32."""
    row_block = pl.program_id(1)

    @pl.when(pl.program_id(2) == 0)
    def _() -> None:
        dv_ref[...] = jnp.zeros_like(dv_ref)

    for section in plan.sections:
        mixing = _mixing_block(plan, section, row_block, (lower_ref, lower_weight_ref, upper_weight_ref))
        gradient = g_ref[...]
        dv_ref[section.start : section.stop] += dot(mixing.astype(gradient.dtype), gradient, (1, 0))
