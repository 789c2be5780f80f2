"""Attention modules of the transformer: deformable (few samples of every level) and standard multi-head."""

import math

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import xavier, zeros
from lvc_jax.ops.deformable_attention import deformable_attention

NEVER = -1e9  # finite, so that a row without any valid key stays finite


def sampling_locations(
    reference: Float[Array, "b q r"],
    offsets: Float[Array, "b q heads levels points"],
    level_lengths: tuple[int, ...],
) -> Float[Array, "b q heads levels points"]:
    """Where to sample, as fractions of a level.

    A scalar reference (r = 1) is a centre and offsets count rows of the level; a box (r = 2: centre, length) scales
    them by half its length, shared out over the points (Deformable DETR, section 4.1; PDVC reference).
    """
    center = reference[..., None, None, None, 0]
    if reference.shape[-1] == 1:
        return center + offsets / np.asarray(level_lengths, np.float32)[:, None]
    return center + offsets * (reference[..., None, None, None, 1] * (0.5 / offsets.shape[-1]))


def initial_offsets(heads: int, levels: int, points: int) -> Float[np.ndarray, " heads*levels*points"]:
    """Heads look in directions spread over a circle, seen from the side; point p looks p steps far (PDVC reference)."""
    angles = 2 * math.pi * np.arange(heads) / heads
    direction = np.cos(angles) / np.maximum(np.abs(np.cos(angles)), np.abs(np.sin(angles)))
    grid = direction[:, None, None] * np.ones((1, levels, 1)) * np.arange(1, points + 1)
    return grid.reshape(-1).astype(np.float32)


class DeformableAttention(nn.Module):
    """Multi-scale deformable attention over the concatenated levels (Deformable DETR, section 4.1, one dimension)."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self, query: Float[Array, "b q e"], reference: Float[Array, "b q r"], memory: Float[Array, "b s e"]
    ) -> Float[Array, "b q e"]:
        """Samples `memory` around `reference` (fractions of the window, float32) as `query` asks."""
        config = self.config
        heads, levels, points = config.num_heads, config.num_levels, config.num_points
        shape = (*query.shape[:2], heads, levels, points)
        bias = initial_offsets(heads, levels, points)
        offsets = nn.Dense(
            heads * levels * points,
            kernel_init=zeros,
            bias_init=lambda key, shape, dtype=jnp.float32: jnp.asarray(bias, dtype),
            dtype=config.dtype,
            name="offsets",
        )(query)
        scores = nn.Dense(
            heads * levels * points, kernel_init=zeros, bias_init=zeros, dtype=config.dtype, name="weights"
        )(query)
        scores = scores.astype(jnp.float32).reshape(*shape[:3], levels * points)
        value = nn.Dense(config.hidden_dim, kernel_init=xavier, dtype=config.dtype, name="value")(memory)
        out = deformable_attention(
            value.reshape(*value.shape[:2], heads, -1),
            sampling_locations(reference, offsets.astype(jnp.float32).reshape(shape), config.level_lengths),
            jax.nn.softmax(scores, axis=-1).reshape(shape),
            config.level_lengths,
            padding=config.padding,
            implementation=config.attention,
        )
        out = out.reshape(*query.shape[:2], config.hidden_dim)
        return nn.Dense(config.hidden_dim, kernel_init=xavier, dtype=config.dtype, name="output")(out)


class MultiHeadAttention(nn.Module):
    """Standard scaled dot-product attention with one joint projection of query, key and value."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self,
        query: Float[Array, "b q e"],
        key: Float[Array, "b k e"],
        value: Float[Array, "b k e"],
        mask: Bool[Array, "b k"] | None = None,
        *,
        deterministic: bool = True,
    ) -> Float[Array, "b q e"]:
        """Keys where `mask` is false are not attended to."""
        config = self.config
        size, heads = config.hidden_dim, config.num_heads
        kernel = self.param("in_kernel", xavier, (size, 3 * size)).astype(config.dtype)
        bias = self.param("in_bias", zeros, (3 * size,)).astype(config.dtype)
        projected = [
            (rows.astype(config.dtype) @ part_kernel + part_bias).reshape(*rows.shape[:2], heads, size // heads)
            for rows, part_kernel, part_bias in zip(
                (query, key, value), jnp.split(kernel, 3, axis=1), jnp.split(bias, 3), strict=True
            )
        ]
        queries, keys, values = projected
        scores = jnp.einsum("bqhc,bkhc->bhqk", queries, keys, preferred_element_type=jnp.float32)
        scores /= math.sqrt(size // heads)
        if mask is not None:
            scores = jnp.where(mask[:, None, None, :], scores, NEVER)
        weights = jax.nn.softmax(scores, axis=-1)
        weights = nn.Dropout(config.dropout)(weights, deterministic=deterministic).astype(config.dtype)
        out = jnp.einsum("bhqk,bkhc->bqhc", weights, values).reshape(query.shape)
        return nn.Dense(size, kernel_init=xavier, dtype=config.dtype, name="output")(out)
