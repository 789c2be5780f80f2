"""Where a sample falls: positions in rows, and the two rows that linear interpolation mixes."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int


def row_positions(
    locations: Float[Array, "... levels points"], level_lengths: tuple[int, ...], padding: str
) -> Float[Array, "... levels points"]:
    """Turns locations in [0, 1] into rows of their own level: location * length - 0.5 (row centres at i + 0.5).

    With `padding="border"` positions are clamped to the first and last row; with "zeros" they are left as they are and
    rows outside the level count as zero.
    """
    lengths = np.asarray(level_lengths, np.float32)[:, None]
    rows = locations.astype(jnp.float32) * lengths - 0.5
    return jnp.clip(rows, 0.0, lengths - 1) if padding == "border" else rows


class Taps(NamedTuple):
    """The two neighbouring rows of each sample, as indices into the concatenated levels."""

    lower: Int[Array, "..."]
    upper: Int[Array, "..."]
    lower_inside: Bool[Array, "..."]
    upper_inside: Bool[Array, "..."]
    fraction: Float[Array, "..."]  # weight of the upper row


def two_taps(rows: Float[Array, "... levels points"], level_lengths: tuple[int, ...]) -> Taps:
    """Rows floor(x) and floor(x) + 1 of every position; indices are clipped into the level, `inside` keeps track."""
    lengths = np.asarray(level_lengths, np.int32)[:, None]
    starts = np.cumsum([0, *level_lengths[:-1]]).astype(np.int32)[:, None]
    floor = jnp.floor(rows)
    below = floor.astype(jnp.int32)

    def place(index: Int[Array, "..."]) -> tuple[Int[Array, "..."], Bool[Array, "..."]]:
        return jnp.clip(index, 0, lengths - 1) + starts, (index >= 0) & (index < lengths)

    lower, lower_inside = place(below)
    upper, upper_inside = place(below + 1)
    return Taps(lower, upper, lower_inside, upper_inside, rows - floor)
