"""The definition: gather two rows per sample, mix them, average the samples. Clear, exact, slow to differentiate."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from .taps import Rows, two_taps


def attend(
    value: Float[Array, "b h s c"],
    rows: Rows,
    weights: Float[Array, "b h q l p"],
    level_lengths: tuple[int, ...],
) -> Float[Array, "b h q c"]:
    """Sum over levels and points of weight x sample; rows outside their level are zero."""
    taps = two_taps(rows.whole, level_lengths)
    batch, heads, queries = weights.shape[:3]

    def take(index: Array, inside: Array) -> Array:
        picked = jnp.take_along_axis(value, index.reshape(batch, heads, -1, 1), axis=2, mode="clip")
        picked = picked.reshape(*weights.shape, value.shape[-1])
        return jnp.where(inside[..., None], picked, 0).astype(jnp.float32)

    fraction = rows.fraction[..., None]
    samples = take(taps.lower, taps.lower_inside) * (1 - fraction) + take(taps.upper, taps.upper_inside) * fraction
    out = jnp.sum(samples * weights.astype(jnp.float32)[..., None], axis=(3, 4))
    return out.reshape(batch, heads, queries, -1).astype(value.dtype)
