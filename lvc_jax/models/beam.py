"""Beam search over words, for any model that turns (words so far, state) into scores of the next word."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

State = Any
Advance = Callable[[Int[Array, "b rows"], State], tuple[Float[Array, "b rows v"], State]]


def beam_search(
    advance: Advance, state: State, alive: Bool[Array, "b n"], beam: int, limit: int
) -> tuple[Int[Array, "b n w"], Float[Array, "b n w"]]:
    """The best caption that a beam of `beam` hypotheses finds for each row.

    A hypothesis is worth the plain sum of the log-probabilities of its words and, once it has ended, of its end token:
    the logarithm of its probability. There is no length penalty. Ties go to the hypothesis that was ahead one word
    earlier, then to the lowest word. A beam of 1 is greedy decoding.

    Args:
        advance: (last words [B, N * beam], state) to (logits of the next word [B, N * beam, V], state); word 0 begins
            and ends. Logits of -inf are words that are never said.
        state: a tree of arrays [B, N * beam, ...]; the hypotheses of a row stand side by side.
        alive: rows to caption; the others emit zeros.
        beam: hypotheses a row, at least 1.
        limit: W, the most words.

    Returns:
        Words, 0 after the last, and their log-probabilities; that of the end token stands after the last word.
    """
    batch, rows = alive.shape
    shape = (batch, rows, beam)
    # At first there is one hypothesis a row: the empty one.
    total = jnp.where(jnp.arange(beam) == 0, 0.0, -jnp.inf) * jnp.ones(shape, jnp.float32)
    ended = jnp.broadcast_to(~alive[..., None], shape)
    words = jnp.zeros((*shape, limit), jnp.int32)
    log_probs = jnp.zeros((*shape, limit), jnp.float32)
    first = (jnp.int32(0), jnp.zeros(shape, jnp.int32), total, ended, words, log_probs, state)

    def step(carry: Any) -> Any:
        index, last, total, ended, words, log_probs, state = carry
        logits, state = advance(last.reshape(batch, rows * beam), state)
        gain = jax.nn.log_softmax(logits, axis=-1).reshape(*shape, -1)
        vocabulary = gain.shape[-1]
        # One that has ended stays as it is: it says 0 at no cost.
        stays = jnp.where(jnp.arange(vocabulary) == 0, 0.0, -jnp.inf)
        gain = jnp.where(ended[..., None], stays, gain)
        total, pick = jax.lax.top_k((total[..., None] + gain).reshape(batch, rows, beam * vocabulary), beam)
        parent, word = pick // vocabulary, (pick % vocabulary).astype(jnp.int32)
        gained = jnp.take_along_axis(gain.reshape(batch, rows, -1), pick, axis=-1)

        def inherit(values: Array) -> Array:
            return jnp.take_along_axis(values, parent.reshape(*shape, *[1] * (values.ndim - 3)), axis=2)

        def follow(leaf: Array) -> Array:
            return inherit(leaf.reshape(*shape, *leaf.shape[2:])).reshape(leaf.shape)

        words = inherit(words).at[..., index].set(word)
        log_probs = inherit(log_probs).at[..., index].set(gained)
        ended = inherit(ended) | (word == 0)
        return index + 1, word, total, ended, words, log_probs, jax.tree.map(follow, state)

    # Hypotheses are in order, and a sum of log-probabilities only falls: a leader that has ended has won.
    final = jax.lax.while_loop(lambda carry: (carry[0] < limit) & ~carry[3][..., 0].all(), step, first)
    return final[4][:, :, 0], final[5][:, :, 0]
