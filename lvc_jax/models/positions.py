"""Position codes: sines of the place in a window, a learned code of the window's duration, sines of proposals."""

import math

import flax.linen as nn
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import fan_in_uniform


def _divisors(channels: int) -> np.ndarray:
    return 10000.0 ** (2 * (np.arange(channels) // 2) / channels)


def sine_positions(length: int, channels: int) -> Float[np.ndarray, "length channels"]:
    """Sine (even channels) and cosine (odd ones) of the places 0.5, 1.5, ... scaled to 2 pi over the window."""
    places = (np.arange(1, length + 1) - 0.5) / (length + 1e-6) * 2 * math.pi
    angles = places[:, None] / _divisors(channels)
    return np.where(np.arange(channels) % 2 == 0, np.sin(angles), np.cos(angles)).astype(np.float32)


def sine_proposals(boxes: Float[Array, "b g 2"], hidden_dim: int) -> Float[Array, "b g hidden"]:
    """Sine code of (center, length), half of the channels each (PDVC reference, proposal mode)."""
    channels = hidden_dim // 2
    angles = boxes[..., None] * (2 * math.pi) / _divisors(channels).astype(np.float32)
    code = jnp.where(np.arange(channels) % 2 == 0, jnp.sin(angles), jnp.cos(angles))
    return code.reshape(*boxes.shape[:-1], hidden_dim)


class PositionCode(nn.Module):
    """Half sine code, half duration code, for every level of the pyramid.

    The duration code is a linear map of a vector whose first int(seconds) entries are one, so it tells whole seconds
    apart and saturates at hidden_dim / 2 of them; windows under a second share the code of zero (PDVC reference).
    """

    config: ModelConfig

    @nn.compact
    def __call__(self, duration: Float[Array, " b"]) -> tuple[Float[Array, "b length hidden"], ...]:
        """Takes window lengths in seconds; returns one code per level, without the level embedding, in float32."""
        half = self.config.hidden_dim // 2
        seconds = jnp.arange(1, half + 1) <= duration[:, None]
        init = fan_in_uniform(half)
        code = nn.Dense(half, kernel_init=init, bias_init=init, name="duration")(seconds.astype(jnp.float32))
        codes = []
        for length in self.config.level_lengths:
            sines = jnp.broadcast_to(sine_positions(length, half), (duration.shape[0], length, half))
            spread = jnp.broadcast_to(code[:, None], sines.shape)
            codes.append(jnp.concatenate([sines, spread], axis=-1))
        return tuple(codes)
