"""Frames to what the video networks were trained on: TSP's resize, normalisation and crop, as JAX."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt8

RESIZED = (128, 171)
CROP = 112
MEAN = (0.43216, 0.394666, 0.37645)
STD = (0.22803, 0.22145, 0.216989)
_OFFSETS = tuple(round((size - CROP) / 2) for size in RESIZED)


def preprocess(frames: UInt8[Array, "*b h w 3"]) -> Float[Array, "*b 112 112 3"]:
    """Scales to [0, 1], resizes to 128 x 171, normalises and takes the middle 112 x 112, float32.

    Bilinear between the four nearest pixels with the corners of the pictures aligned, not the centres of their corner
    pixels, and without a filter against aliasing: TSP's transforms (Alwassel et al., 2021). The aspect ratio is not
    kept. Only what the crop keeps is computed.
    """
    (top, bottom, down), (left, right, across) = (
        _taps(size, resized, offset) for size, resized, offset in zip(frames.shape[-3:-1], RESIZED, _OFFSETS)
    )
    # First the rows, as bytes: most of a large picture is never made a float.
    down, across = down[:, None, None], across[:, None]
    upper, lower = (_unit(jnp.take(frames, rows, axis=-3)) for rows in (top, bottom))
    upper, lower = (
        jnp.take(rows, left, axis=-2) * (1 - across) + jnp.take(rows, right, axis=-2) * across
        for rows in (upper, lower)
    )
    picture = upper * (1 - down) + lower * down
    return (picture - jnp.array(MEAN, jnp.float32)) / jnp.array(STD, jnp.float32)


preprocess_jit = jax.jit(preprocess)


def _unit(rows: UInt8[Array, "*b"]) -> Float[Array, "*b"]:
    return rows.astype(jnp.float32) / 255


@functools.lru_cache(maxsize=16)
def _taps(size: int, resized: int, offset: int) -> tuple[Int[np.ndarray, "112"], ...]:
    """Of each kept row (or column): the two source rows and the weight of the second."""
    place = (np.arange(offset, offset + CROP, dtype=np.float32) + np.float32(0.5)) * np.float32(size / resized)
    place = np.maximum(place - np.float32(0.5), 0)
    first = np.minimum(place.astype(np.int32), size - 1)
    return first, np.minimum(first + 1, size - 1), (place - first).astype(np.float32)
