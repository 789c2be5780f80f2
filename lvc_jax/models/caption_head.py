"""Captions from event queries: an LSTM over words, alone (`lstm`) or looking at the memory as well (`lstm_dsa`)."""

from collections.abc import Callable
from typing import Any

import flax.linen as nn
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lvc_jax.models.beam import Advance, beam_search
from lvc_jax.models.caption_attention import CaptionAttention
from lvc_jax.models.config import ModelConfig
from lvc_jax.models.layers import fan_in_uniform, uniform, zeros
from lvc_jax.models.recurrence import lstm, lstm_step, matmul

# The reference averages a clip of one vector with the denominator 1 + 1e-5.
CLIP_MEAN = 1.0 / (1.0 + 1e-5)
LANES = 16  # float32 numbers in a cache line
DERIVED = "derived"  # the collection that `LiveCaptioner.prepare` adds


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
        beam_size: int = 1,
    ) -> tuple[Int[Array, "b n w"], Float[Array, "b n w"]]:
        """Words, at most `config.max_caption_len`, and their log-probabilities.

        A row that has ended (its end token included in the log-probabilities) or is not `active` emits token 0 with
        log-probability 0. The loop stops when all rows have ended. With `beam_size` 1 the most probable word is taken
        at every step; with more, the best caption of a beam search (`beam.beam_search`).
        """
        limit = self.config.max_caption_len
        alive = jnp.ones(hidden.shape[:2], bool) if active is None else jnp.broadcast_to(active, hidden.shape[:2])
        if beam_size > 1:
            hidden, reference = (jnp.repeat(rows, beam_size, axis=1) for rows in (hidden, reference))
        advance, state = self._speaker(hidden, reference, memory)
        if beam_size > 1:
            return beam_search(advance, state, alive, beam_size, limit)
        return greedy(advance, state, alive, limit)

    def derive(self) -> dict[str, Array]:
        """What decoding needs of the parameters alone; see `LiveCaptioner.prepare`."""
        table = matmul(self._cast(self.embedding), self._cast(self.word_kernel))
        kernel, bias = self._output()
        return {"word_gates": table, "logit_kernel": kernel, "logit_bias": bias}

    def _speaker(self, hidden: Array, reference: Array, memory: Array) -> tuple[Advance, tuple[Array, Array]]:
        """One step of the LSTM as a function (last words, state) -> (logits, state), and the state it begins with.

        Everything that does not depend on the words is computed here, once.
        """
        event, attend = self._event_gates(hidden), self._attend(hidden, reference, memory)
        recurrent = self._cast(self.recurrent_kernel)
        table: Array | None
        kernel: Array
        bias: Array
        if self.has_variable(DERIVED, "word_gates"):
            names = ("word_gates", "logit_kernel", "logit_bias")
            table, kernel, bias = (self.get_variable(DERIVED, name) for name in names)
        else:
            table, (kernel, bias) = None, self._output()
        embedding, word_kernel = self._cast(self.embedding), self._cast(self.word_kernel)

        def advance(token: Array, state: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
            lstm_hidden, cell = state
            word = matmul(embedding[token], word_kernel) if table is None else table[token]
            gates = event + word + matmul(lstm_hidden, recurrent) + attend(lstm_hidden)
            lstm_hidden, cell = lstm_step(gates, cell)
            return matmul(lstm_hidden, kernel) + bias, (lstm_hidden, cell)

        zero = jnp.zeros((*hidden.shape[:2], self.config.rnn_dim), jnp.float32)
        return advance, (zero, zero)

    def _output(self) -> tuple[Array, Array]:
        """The logits' kernel and bias, with words that are never said up to a multiple of `LANES`.

        A CPU multiplies rows that begin on a cache line half as fast again.
        """
        extra = -self.logit_kernel.shape[1] % LANES
        kernel = jnp.pad(self._cast(self.logit_kernel), ((0, 0), (0, extra)))
        return kernel, jnp.pad(self.logit_bias, (0, extra), constant_values=-jnp.inf)

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


def greedy(
    advance: Advance, state: Any, alive: Bool[Array, "b n"], limit: int
) -> tuple[Int[Array, "b n w"], Float[Array, "b n w"]]:
    """The most probable word at every step, ties to the lowest; arguments as `beam.beam_search` has them."""
    rows = alive.shape
    words, log_probs = jnp.zeros((*rows, limit), jnp.int32), jnp.zeros((*rows, limit), jnp.float32)
    first = (jnp.int32(0), jnp.zeros(rows, jnp.int32), alive, state, words, log_probs)

    def step(carry: Any) -> Any:
        index, word, alive, state, words, log_probs = carry
        logits, state = advance(word, state)
        word, log_prob = most_probable(logits)
        word = jnp.where(alive, word, 0)
        words = words.at[..., index].set(word)
        log_probs = log_probs.at[..., index].set(jnp.where(alive, log_prob, 0.0))
        return index + 1, word, alive & (word > 0), state, words, log_probs

    final = jax.lax.while_loop(lambda carry: (carry[0] < limit) & carry[2].any(), step, first)
    return final[4], final[5]


def most_probable(logits: Float[Array, "*rows v"]) -> tuple[Int[Array, "*rows"], Float[Array, "*rows"]]:
    """The first word of largest logit and its log-probability; plain reductions, far faster on a CPU than argmax."""
    top = jnp.max(logits, axis=-1, keepdims=True)
    last = logits.shape[-1] - 1
    # Without any comparison that holds (NaN) the last word, so that the index stays in range.
    word = jnp.min(jnp.where(logits == top, jnp.arange(last + 1, dtype=jnp.int32), last), axis=-1)
    return word, -jnp.log(jnp.sum(jnp.exp(logits - top), axis=-1))
