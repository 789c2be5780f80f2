"""Encoder and decoder layers, deformable or plain."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from lvc_jax.models.attention import DeformableAttention, MultiHeadAttention
from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import fan_in_uniform, layer_norm, xavier


def encoder_reference(level_lengths: tuple[int, ...]) -> Float[np.ndarray, "1 s 1"]:
    """The centre of every row of every level, as a fraction of the window."""
    rows = [(np.arange(length) + 0.5) / length for length in level_lengths]
    return np.concatenate(rows).astype(np.float32)[None, :, None]


class FeedForward(nn.Module):
    """Linear, ReLU, dropout, linear, dropout, added to the input and normalised."""

    config: ModelConfig

    @nn.compact
    def __call__(self, rows: Float[Array, "b q e"], *, deterministic: bool = True) -> Float[Array, "b q e"]:
        """Same shape out as in."""
        config = self.config
        sizes = (config.hidden_dim, config.ff_dim)
        inner = nn.Dense(
            config.ff_dim, kernel_init=xavier, bias_init=fan_in_uniform(sizes[0]), dtype=config.dtype, name="expand"
        )(rows)
        inner = nn.Dropout(config.dropout)(jax.nn.relu(inner), deterministic=deterministic)
        outer = nn.Dense(
            config.hidden_dim, kernel_init=xavier, bias_init=fan_in_uniform(sizes[1]), dtype=config.dtype, name="reduce"
        )(inner)
        outer = nn.Dropout(config.dropout)(outer, deterministic=deterministic)
        return layer_norm(config.dtype, "norm")(rows + outer)


class MemoryAttention(nn.Module):
    """Attention to the flattened levels, added to the input and normalised; deformable or standard as configured."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self,
        rows: Float[Array, "b q e"],
        position: Float[Array, "b q e"],
        reference: Float[Array, "b q r"],
        memory: Float[Array, "b s e"],
        memory_position: Float[Array, "b s e"],
        *,
        deterministic: bool = True,
    ) -> Float[Array, "b q e"]:
        """Positions are added to queries (and to the keys of standard attention), never to values."""
        config = self.config
        if config.transformer == "deformable":
            attended = DeformableAttention(config, name="attention")(rows + position, reference, memory)
        else:
            attended = MultiHeadAttention(config, name="attention")(
                rows + position, memory + memory_position, memory, deterministic=deterministic
            )
        attended = nn.Dropout(config.dropout)(attended, deterministic=deterministic)
        return layer_norm(config.dtype, "norm")(rows + attended)


class EncoderLayer(nn.Module):
    """Self-attention over all levels, then a feed-forward layer, each normalised after the sum."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self, rows: Float[Array, "b s e"], position: Float[Array, "b s e"], *, deterministic: bool = True
    ) -> Float[Array, "b s e"]:
        """One refinement of the flattened levels."""
        reference = jnp.broadcast_to(encoder_reference(self.config.level_lengths), (*rows.shape[:2], 1))
        rows = MemoryAttention(self.config, name="memory")(
            rows, position, reference, rows, position, deterministic=deterministic
        )
        return FeedForward(self.config, name="feed_forward")(rows, deterministic=deterministic)


class DecoderLayer(nn.Module):
    """Self-attention among the queries, attention to the memory, feed-forward layer."""

    config: ModelConfig

    @nn.compact
    def __call__(
        self,
        rows: Float[Array, "b q e"],
        position: Float[Array, "b q e"],
        reference: Float[Array, "b q r"],
        memory: Float[Array, "b s e"],
        memory_position: Float[Array, "b s e"],
        mask: Bool[Array, "b q"] | None = None,
        *,
        deterministic: bool = True,
    ) -> Float[Array, "b q e"]:
        """One refinement of the queries; those where `mask` is false are seen by no other."""
        config = self.config
        placed = rows + position
        attended = MultiHeadAttention(config, name="self_attention")(
            placed, placed, rows, mask, deterministic=deterministic
        )
        attended = nn.Dropout(config.dropout)(attended, deterministic=deterministic)
        rows = layer_norm(config.dtype, "self_norm")(rows + attended)
        rows = MemoryAttention(config, name="memory")(
            rows, position, reference, memory, memory_position, deterministic=deterministic
        )
        return FeedForward(config, name="feed_forward")(rows, deterministic=deterministic)
