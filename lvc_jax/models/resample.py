"""Nearest resampling in time by exact integer arithmetic."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int


def resample_indices(length: int | Int[Array, ""], num_frames: int) -> Int[Array, " num_frames"]:
    """Which of `length` rows stands at each of `num_frames` evenly spread places, from the first row to the last.

    Place i lies at i * (length - 1) / (num_frames - 1); the nearest row is taken, and the lower one of a tie, as the
    PDVC reference does. One row is repeated.

    Args:
        length: rows available, at least 1; a Python integer gives a numpy array, a traced one a jax array.
        num_frames: T.

    Returns:
        int32 row numbers, non-decreasing.
    """
    xp = np if isinstance(length, int | np.integer) else jnp
    places = xp.arange(num_frames, dtype=np.int32)
    steps = max(num_frames - 1, 1)
    last = xp.maximum(xp.asarray(length, np.int32) - 1, 0)
    # last = whole * steps + rest keeps every product below 2 * num_frames ** 2.
    whole, rest = last // steps, last % steps
    rounded = -((steps - 2 * places * rest) // (2 * steps))
    return (places * whole + rounded).astype(np.int32)
