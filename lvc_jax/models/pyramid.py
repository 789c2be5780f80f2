"""The temporal pyramid: frame features to levels of halving length."""

import flax.linen as nn
import jax.numpy as jnp
from jaxtyping import Array, Float

from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import group_count, xavier, zeros


class TemporalConv(nn.Module):
    """A 1-D convolution with kernel 1 (stride 1) or 3 (stride 2, one row of zeros at both ends).

    Written as one matrix product over the taps laid side by side, whose gradient is fast on every backend.
    """

    features: int
    taps: int
    dtype: str

    @nn.compact
    def __call__(self, rows: Float[Array, "b t c"]) -> Float[Array, "b length features"]:
        """Length stays (kernel 1) or halves with rounding up (kernel 3)."""
        channels = rows.shape[-1]
        kernel = self.param("kernel", xavier, (self.taps, channels, self.features))
        bias = self.param("bias", zeros, (self.features,))
        rows = rows.astype(self.dtype)
        if self.taps == 3:
            length = (rows.shape[1] + 1) // 2
            padded = jnp.pad(rows, ((0, 0), (1, 2), (0, 0)))
            rows = jnp.concatenate([padded[:, tap : tap + 2 * length : 2] for tap in range(3)], axis=-1)
        return rows @ kernel.reshape(-1, self.features).astype(self.dtype) + bias.astype(self.dtype)


class Pyramid(nn.Module):
    """Level 0 sees the features row by row, level 1 strides over the features, each later level over the one before.

    No activation; group normalisation after each convolution (PDVC reference).
    """

    config: ModelConfig

    @nn.compact
    def __call__(self, features: Float[Array, "b t c"]) -> tuple[Float[Array, "b length hidden"], ...]:
        """Returns one array per level, of the lengths `config.level_lengths`."""
        config = self.config
        levels: list[Array] = []
        for level in range(config.num_levels):
            source = levels[-1] if level >= 2 else features
            conv = TemporalConv(config.hidden_dim, 3 if level else 1, config.dtype, name=f"conv_{level}")
            norm = nn.GroupNorm(
                num_groups=group_count(config.hidden_dim),
                epsilon=1e-5,
                dtype=config.dtype,
                use_fast_variance=False,
                name=f"norm_{level}",
            )
            levels.append(norm(conv(source)))
        return tuple(levels)
