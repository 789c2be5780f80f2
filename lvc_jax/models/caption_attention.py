"""The caption head's look at the memory: a few samples around the event, weighed by what they hold (PDVC reference)."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lvc_jax.models.attention import sampling_locations
from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import fan_in_uniform, xavier, zeros
from lvc_jax.ops.deformable_attention import sample_values


class CaptionAttention(nn.Module):
    """Deformable sampling by (LSTM state, event), then additive attention over the samples; one head, border padding.

    The two layers `weights` and `output` take no part: they exist so that parameter sets of the PDVC reference, whose
    module inherits them, convert without loss. They get no gradient.
    """

    config: ModelConfig

    def setup(self) -> None:
        config = self.config
        size, samples = config.hidden_dim, config.num_levels * config.num_points
        joint = config.rnn_dim + size
        spread = np.arange(1, config.num_points + 1) - (config.num_points + 1) / 2
        bias = np.tile(spread, config.num_levels).astype(np.float32)
        self.offsets_kernel = self.param("offsets_kernel", zeros, (joint, samples))
        self.offsets_bias = self.param("offsets_bias", lambda key: jnp.asarray(bias))
        self.value = nn.Dense(size, kernel_init=xavier, dtype=config.dtype)
        self.param("weights_kernel", zeros, (joint, samples))
        self.param("weights_bias", zeros, (samples,))
        self.param("output_kernel", xavier, (size, size))
        self.param("output_bias", zeros, (size,))
        attention = config.attention_dim
        init = fan_in_uniform(size)
        self.content = nn.Dense(attention, kernel_init=init, bias_init=init, dtype=config.dtype)
        init = fan_in_uniform(config.rnn_dim)
        self.state_kernel = self.param("state_kernel", init, (config.rnn_dim, attention))
        self.state_bias = self.param("state_bias", init, (attention,))
        init = fan_in_uniform(attention)
        self.score_kernel = self.param("score_kernel", init, (attention,))
        self.score_bias = self.param("score_bias", init, (1,))

    def prepare(self, memory: Float[Array, "b s e"]) -> Float[Array, "b s 1 channels"]:
        """What does not depend on the words: values, and beside them their part of the additive attention.

        Border padding makes every sample a mean of rows, so the linear part can be taken before sampling.
        """
        value = self.value(memory)
        return jnp.concatenate([value, self.content(value)], axis=-1)[:, :, None, :]

    def __call__(
        self,
        prepared: Float[Array, "b s 1 channels"],
        state: Float[Array, "b n r"],
        event: Float[Array, "b n e"],
        reference: Float[Array, "b n ref"],
    ) -> Float[Array, "b n e"]:
        """The weighted mean of the samples for LSTM states `state` and event queries `event`, in float32."""
        config = self.config
        kernel_state, kernel_event = jnp.split(self.offsets_kernel.astype(config.dtype), [config.rnn_dim])
        offsets = state.astype(config.dtype) @ kernel_state + event.astype(config.dtype) @ kernel_event
        offsets = offsets.astype(jnp.float32) + self.offsets_bias
        offsets = offsets.reshape(*state.shape[:2], 1, config.num_levels, config.num_points)
        locations = sampling_locations(reference, offsets, config.level_lengths)
        samples = sample_values(prepared, locations, config.level_lengths, "border", config.attention)
        samples = samples.reshape(*state.shape[:2], -1, prepared.shape[-1])
        values, content = jnp.split(samples, [config.hidden_dim], axis=-1)
        asked = state.astype(config.dtype) @ self.state_kernel.astype(config.dtype) + self.state_bias
        energy = jnp.tanh(content + asked[:, :, None].astype(content.dtype)).astype(jnp.float32)
        weights = jax.nn.softmax(energy @ self.score_kernel + self.score_bias, axis=-1)
        return jnp.einsum("bnk,bnkc->bnc", weights, values.astype(jnp.float32))
