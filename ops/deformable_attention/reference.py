"""The definition: gather two rows per sample, mix them, average the samples. Clear, exact, slow to differentiate."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .taps import Rows, two_taps


def attend(
    value: Float[Array, "b s h c"],
    rows: Rows,
    weights: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
) -> Float[Array, "b q h c"]:
    """Sum over levels and points of weight x sample; rows outside their level are zero."""
    taps = two_taps(rows.whole, level_lengths)
    batch, length, heads, channels = value.shape
    flat = value.reshape(batch, length * heads, channels)
    head = jnp.arange(heads)[:, None, None]

    def take(index: Array, inside: Array) -> Array:
        places = (index * heads + head).reshape(batch, -1, 1)
        picked = jnp.take_along_axis(flat, places, axis=1, mode="clip").reshape(*weights.shape, channels)
        return jnp.where(inside[..., None], picked, 0).astype(jnp.float32)

    fraction = rows.fraction[..., None]
    samples = take(taps.lower, taps.lower_inside) * (1 - fraction) + take(taps.upper, taps.upper_inside) * fraction
    out = jnp.sum(samples * weights.astype(jnp.float32)[..., None], axis=(3, 4))
    return out.astype(value.dtype)
