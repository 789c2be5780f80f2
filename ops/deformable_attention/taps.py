"""Where a sample falls: positions in rows, and the two rows that linear interpolation mixes."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int


class Rows(NamedTuple):
    """A position in rows of a level, as whole + fraction: one float32 would lose digits of the fraction far out."""

    whole: Float[Array, "..."]  # an integer value; no gradient
    fraction: Float[Array, "..."]  # in [0, 1] up to rounding; carries the gradient


def row_positions(locations: Float[Array, "... levels points"], level_lengths: tuple[int, ...], padding: str) -> Rows:
    """Turns locations in [0, 1] into rows of their own level: location * length - 0.5 (row centres at i + 0.5).

    With `padding="border"` positions are clamped to the first and last row; with "zeros" they are left as they are and
    rows outside the level count as zero. Exact to one rounding of the fraction for levels under 4096 rows: a location
    is split into 12 leading bits and the rest, whose products with the length are exact.
    """
    lengths = np.asarray(level_lengths, np.float32)[:, None]
    locations = locations.astype(jnp.float32)
    leading = jax.lax.stop_gradient(jax.lax.reduce_precision(locations, exponent_bits=8, mantissa_bits=11))
    high = leading * lengths - 0.5
    low = (locations - leading) * lengths
    whole = jax.lax.stop_gradient(jnp.floor(high + low))
    fraction = (high - whole) + low
    if padding == "border":
        position = jax.lax.stop_gradient(high + low)
        outside = (position <= 0) | (position >= lengths - 1)
        whole = jnp.where(outside, jnp.clip(whole, 0.0, lengths - 1), whole)
        fraction = jnp.where(outside, 0.0, fraction)
    return Rows(whole, fraction)


class Taps(NamedTuple):
    """The two neighbouring rows of each sample, as indices into the concatenated levels."""

    lower: Int[Array, "..."]
    upper: Int[Array, "..."]
    lower_inside: Bool[Array, "..."]
    upper_inside: Bool[Array, "..."]


def two_taps(whole: Float[Array, "... levels points"], level_lengths: tuple[int, ...]) -> Taps:
    """The rows `whole` and `whole` + 1; indices are clipped into the level, and `inside` tells which were not."""
    lengths = np.asarray(level_lengths, np.int32)[:, None]
    starts = np.cumsum([0, *level_lengths[:-1]]).astype(np.int32)[:, None]
    below = whole.astype(jnp.int32)

    def place(index: Int[Array, "..."]) -> tuple[Int[Array, "..."], Bool[Array, "..."]]:
        return jnp.clip(index, 0, lengths - 1) + starts, (index >= 0) & (index < lengths)

    lower, lower_inside = place(below)
    upper, upper_inside = place(below + 1)
    return Taps(lower, upper, lower_inside, upper_inside)
