"""One-dimensional boxes (center, length) as fractions of the window: edges and generalised IoU."""

import jax.numpy as jnp
from jaxtyping import Array, Float

_EPSILON = 1e-5  # in both quotients of the PDVC reference; keeps empty boxes finite


def to_edges(boxes: Float[Array, "*n 2"]) -> tuple[Float[Array, "*n"], Float[Array, "*n"]]:
    """(center, length) to (start, end), not clipped to [0, 1]."""
    center, length = boxes[..., 0], boxes[..., 1]
    return center - length / 2, center + length / 2


def giou_1d(a: Float[Array, "*n 2"], b: Float[Array, "*n 2"]) -> Float[Array, "*n"]:
    """Generalised IoU of (center, length) pairs, element by element with broadcasting; at most 1, above -1.

    Source: PDVC reference, IoU - (hull - union) / hull with 1e-5 added to both denominators.
    """
    (a0, a1), (b0, b1) = to_edges(a), to_edges(b)
    inter = jnp.maximum(0.0, jnp.minimum(a1, b1) - jnp.maximum(a0, b0))
    union = (a1 - a0) + (b1 - b0) - inter
    hull = jnp.maximum(a1, b1) - jnp.minimum(a0, b0)
    return inter / (union + _EPSILON) - (hull - union) / (hull + _EPSILON)
