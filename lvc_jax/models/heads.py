"""Class, count and box heads, one copy per decoder layer (Live Video Captioning paper, section 3.2)."""

import math
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lvc_jax.models.attention import NEVER
from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import Initializer, fan_in_uniform, same_for_each, zeros

FOREGROUND_PRIOR = 0.01
INITIAL_LENGTH_LOGIT = -2.0


def _class_bias(key: Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Array:
    return jnp.full(shape, -math.log((1 - FOREGROUND_PRIOR) / FOREGROUND_PRIOR), dtype)


def _box_bias(key: Array, shape: tuple[int, ...], dtype: Any = jnp.float32) -> Array:
    # Only the first layer starts from short boxes: later layers refine what it found.
    return jnp.zeros(shape, dtype).at[0, 1].set(INITIAL_LENGTH_LOGIT)


class LayerHeads(nn.Module):
    """The heads of every decoder layer; parameters are stacked along their first axis.

    Without box refinement there is one copy, which all layers share (PDVC reference).
    """

    config: ModelConfig

    def setup(self) -> None:
        config = self.config
        copies = config.decoder_layers if config.box_refine else 1
        size = config.hidden_dim
        default = fan_in_uniform(size)

        def linear(name: str, features: int, kernel_init: Initializer, bias_init: Initializer) -> tuple[Array, Array]:
            kernel = self.param(f"{name}_kernel", same_for_each(kernel_init), (copies, size, features))
            return kernel, self.param(f"{name}_bias", bias_init, (copies, features))

        self.class_layer = linear("class", 1, default, _class_bias)
        if config.use_counter:
            self.count_layer = linear("count", config.max_events + 1, default, same_for_each(default))
        self.box_layers = (
            linear("box_0", size, default, same_for_each(default)),
            linear("box_1", size, default, same_for_each(default)),
            linear("box_2", 2, zeros, _box_bias),
        )

    def _apply(self, weights: tuple[Array, Array], rows: Array, layer: int) -> Array:
        copy = layer if self.config.box_refine else 0
        kernel, bias = (part[copy].astype(self.config.dtype) for part in weights)
        return rows @ kernel + bias

    def foreground(self, hidden: Float[Array, "b n e"], layer: int) -> Float[Array, "b n"]:
        """Logit that a query holds an event."""
        return self._apply(self.class_layer, hidden, layer)[..., 0].astype(jnp.float32)

    def box(self, hidden: Float[Array, "b n e"], layer: int) -> Float[Array, "b n 2"]:
        """Change of the logits of (center, length) against the incoming reference."""
        first, second, last = self.box_layers
        hidden = jax.nn.relu(self._apply(first, hidden, layer))
        hidden = jax.nn.relu(self._apply(second, hidden, layer))
        return self._apply(last, hidden, layer).astype(jnp.float32)

    def count(
        self, hidden: Float[Array, "b n e"], layer: int, mask: Bool[Array, "b n"] | None = None
    ) -> Float[Array, "b classes"]:
        """Logits of the number of events, from the largest value of each channel over the (valid) queries."""
        if mask is not None:
            hidden = jnp.where(mask[..., None], hidden, NEVER)
            hidden = jnp.where(mask.any(axis=1)[:, None, None], hidden, 0)
        # One query per channel, picked by index: the gradient of a plain maximum looks for entries equal to it, finds
        # none where the compiler computed `hidden` twice with different rounding, and divides by zero.
        chosen = jax.nn.one_hot(jnp.argmax(hidden, axis=1), hidden.shape[1], axis=1, dtype=hidden.dtype)
        return self._apply(self.count_layer, jnp.sum(hidden * chosen, axis=1), layer).astype(jnp.float32)
