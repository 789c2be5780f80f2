"""Captions from event queries: an LSTM over words, alone (`lstm`) or looking at the memory as well (`lstm_dsa`)."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lvc_jax.models.caption_attention import CaptionAttention
from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import fan_in_uniform, uniform, zeros
from lvc_jax.models.recurrence import lstm, lstm_step, matmul

# The reference averages a clip of one vector with the denominator 1 + 1e-5.
CLIP_MEAN = 1.0 / (1.0 + 1e-5)


class CaptionHead(nn.Module):
    """Word LSTM (PDVC reference, light and standard captioner). Token 0 begins, ends and pads."""

    config: ModelConfig

    def setup(self) -> None:
        config = self.config
        words, rnn = config.vocab_size + 1, config.rnn_dim
        self.attends = config.caption_head == "lstm_dsa"
        self.embedding = self.param("embedding", uniform(0.1), (words, config.embed_dim))
        self.logit_kernel = self.param("logit_kernel", uniform(0.1), (rnn, words))
        self.logit_bias = self.param("logit_bias", zeros, (words,))
        init = fan_in_uniform(rnn)
        self.word_kernel = self.param("word_kernel", init, (config.embed_dim, 4 * rnn))
        self.event_kernel = self.param("event_kernel", init, (config.hidden_dim, 4 * rnn))
        self.recurrent_kernel = self.param("recurrent_kernel", init, (rnn, 4 * rnn))
        if self.attends:
            self.attended_kernel = self.param("attended_kernel", init, (config.hidden_dim, 4 * rnn))
            self.attention = CaptionAttention(config)
        self.dropout = nn.Dropout(config.caption_dropout)

    def token_log_probs(
        self,
        hidden: Float[Array, "b g e"],
        tokens: Int[Array, "b g w"],
        reference: Float[Array, "b g r"],
        memory: Float[Array, "b s e"],
        *,
        deterministic: bool = True,
    ) -> Float[Array, "b g w-1"]:
        """log p(tokens[t + 1] | tokens[: t + 1]) with the given words as input at every step."""
        embedded = self._cast(self.embedding)[tokens[..., :-1]]
        event = self._event_gates(hidden)
        gates = matmul(embedded, self._cast(self.word_kernel)) + event[:, :, None]
        gates = jnp.moveaxis(gates, 2, 0)
        if self.attends:
            states = self._attending_states(gates, hidden, reference, memory)
        else:
            flat = gates.reshape(gates.shape[0], -1, gates.shape[-1])
            states = lstm(flat, self._cast(self.recurrent_kernel)).reshape(*gates.shape[:-1], -1)
        states = self.dropout(jnp.moveaxis(states, 0, 2), deterministic=deterministic)
        logits = matmul(states, self._cast(self.logit_kernel)) + self.logit_bias
        chosen = jnp.take_along_axis(logits, tokens[..., 1:, None], axis=-1)[..., 0]
        return chosen - jax.nn.logsumexp(logits, axis=-1)

    def decode(
        self,
        hidden: Float[Array, "b n e"],
        reference: Float[Array, "b n r"],
        memory: Float[Array, "b s e"],
        active: Bool[Array, "b n"] | None = None,
    ) -> tuple[Int[Array, "b n w"], Float[Array, "b n w"]]:
        """Greedy words, at most `config.max_caption_len`, and their log-probabilities.

        A row that has ended (its end token included in the log-probabilities) or is not `active` emits token 0 with
        log-probability 0. The loop stops when all rows have ended.
        """
        config = self.config
        rows = hidden.shape[:2]
        limit = config.max_caption_len
        event = self._event_gates(hidden)
        embedding, word_kernel = self._cast(self.embedding), self._cast(self.word_kernel)
        recurrent, logit_kernel = self._cast(self.recurrent_kernel), self._cast(self.logit_kernel)
        attend = self._attend(hidden, reference, memory)
        alive = jnp.ones(rows, bool) if active is None else jnp.broadcast_to(active, rows)
        zero = jnp.zeros((*rows, config.rnn_dim), jnp.float32)
        state = (
            jnp.int32(0),
            jnp.zeros(rows, jnp.int32),
            alive,
            zero,
            zero,
            jnp.zeros((*rows, limit), jnp.int32),
            jnp.zeros((*rows, limit), jnp.float32),
        )

        def step(state: Any) -> Any:
            index, token, alive, lstm_hidden, cell, tokens, log_probs = state
            gates = event + matmul(embedding[token], word_kernel) + matmul(lstm_hidden, recurrent)
            lstm_hidden, cell = lstm_step(gates + attend(lstm_hidden), cell)
            logits = matmul(lstm_hidden, logit_kernel) + self.logit_bias
            log_prob = jnp.max(logits, axis=-1) - jax.nn.logsumexp(logits, axis=-1)
            token = jnp.where(alive, jnp.argmax(logits, axis=-1).astype(jnp.int32), 0)
            tokens = tokens.at[..., index].set(token)
            log_probs = log_probs.at[..., index].set(jnp.where(alive, log_prob, 0.0))
            return index + 1, token, alive & (token > 0), lstm_hidden, cell, tokens, log_probs

        final = jax.lax.while_loop(lambda state: (state[0] < limit) & state[2].any(), step, state)
        return final[5], final[6]

    def _cast(self, parameter: Array) -> Array:
        return jnp.asarray(parameter, self.config.dtype)

    def _event_gates(self, hidden: Array) -> Array:
        scale = 1.0 if self.attends else CLIP_MEAN
        return matmul(hidden * scale, self._cast(self.event_kernel))

    def _attend(self, hidden: Array, reference: Array, memory: Array) -> Callable[[Array], Array]:
        """The gate contribution of what the LSTM state looks at; nothing for the plain head."""
        if not self.attends:
            return lambda state: jnp.float32(0)
        prepared = self.attention.prepare(memory)
        kernel = self._cast(self.attended_kernel)
        return lambda state: matmul(self.attention(prepared, state, hidden, reference), kernel)

    def _attending_states(self, gates: Array, hidden: Array, reference: Array, memory: Array) -> Array:
        attend = self._attend(hidden, reference, memory)
        recurrent = self._cast(self.recurrent_kernel)
        zero = jnp.zeros((*hidden.shape[:2], self.config.rnn_dim), jnp.float32)

        def step(state: tuple[Array, Array], word: Array) -> tuple[tuple[Array, Array], Array]:
            lstm_hidden, cell = state
            lstm_hidden, cell = lstm_step(word + attend(lstm_hidden) + matmul(lstm_hidden, recurrent), cell)
            return (lstm_hidden, cell), lstm_hidden

        return jax.lax.scan(step, (zero, zero), gates)[1]
