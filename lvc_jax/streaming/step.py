"""One segment in, its captions out: the function that training's forward pass, evaluation and serving all share."""

import dataclasses
import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lvc_jax.errors import InputError
from lvc_jax.models.live_captioner import LiveCaptioner
from lvc_jax.models.resample import resample_indices
from lvc_jax.streaming.decide import decide, event_count
from lvc_jax.streaming.state import StreamConfig, StreamState, check_open, close

Captions = dict[str, Array]
AnyArray = jax.Array | np.ndarray


def push(state: StreamState, rows: Float[Array, "R C"], n_valid: Int[Array, ""]) -> StreamState:
    """Appends one segment to the memory, forgets the oldest and advances the clock.

    Rows beyond `n_valid` are replaced by zeros, so that padding cannot leak into the model.
    """
    real = jnp.arange(rows.shape[0])[:, None] < n_valid
    rows = jnp.where(real, rows, 0).astype(jnp.float32)
    return dataclasses.replace(
        state,
        rows=jnp.concatenate([state.rows[1:], rows[None]]),
        n_valid=jnp.concatenate([state.n_valid[1:], jnp.asarray(n_valid, jnp.int32)[None]]),
        segment=state.segment + 1,
    )


def window(state: StreamState) -> Float[Array, "T C"]:
    """The rows in memory, oldest first, resampled to T by nearest index (ties down); zeros when there are none."""
    ends = jnp.cumsum(state.n_valid)
    total = ends[-1]
    index = resample_indices(jnp.maximum(total, 1), state.config.model.num_frames)
    slot = jnp.sum(index[:, None] >= ends[None, :-1], axis=1)
    row = index - (ends - state.n_valid)[slot]
    flat = state.rows.reshape(-1, state.rows.shape[-1])
    return jnp.where(total > 0, flat[slot * state.config.max_rows + row], 0)


def step_fn(
    params: Any, state: StreamState, rows: Float[Array, "R C"], n_valid: Int[Array, ""], fraction: Float[Array, ""]
) -> tuple[StreamState, Captions]:
    """`step` as a plain function of arrays: no checks, no donation; jit, vmap, scan or export it.

    Without rows nothing is decoded and nothing is emitted, but the model's forward pass runs; `step` skips it.
    """
    config = state.config
    state = push(state, rows, n_valid)
    model = LiveCaptioner(config.model)
    past = jnp.minimum(state.segment, config.memory) - 1  # segments before the current one in the window
    duration = (past + fraction) * state.segment_seconds
    outputs: Any = model.apply(params, window(state)[None], duration[None])
    last = {name: outputs[name][-1] for name in ("class_logits", "boxes", "hidden", "references")}
    count_logits = outputs["count_logits"][-1][0] if config.model.use_counter else None
    count = jnp.where(n_valid > 0, event_count(config, last["class_logits"][0], count_logits), 0)
    active = jnp.broadcast_to(count > 0, last["class_logits"].shape)
    captioned = last["hidden"], last["references"], outputs["memory"], active, config.beam_size
    decoded: Any = model.apply(params, *captioned, method=LiveCaptioner.decode)
    tokens, log_probs = decoded
    captions = decide(config, last["class_logits"][0], last["boxes"][0], tokens[0], log_probs[0], count, past, fraction)
    return state, captions


def silence(config: StreamConfig) -> Captions:
    """The captions of a segment that says nothing: the structure of every `step`'s result, all invalid."""
    slots, words = config.model.num_queries, config.model.max_caption_len
    zeros = jnp.zeros((slots,), jnp.float32)
    return {
        "tokens": jnp.zeros((slots, words), jnp.int32),
        "start": zeros,
        "end": zeros,
        "score": zeros,
        "proposal_score": zeros,
        "sentence_score": zeros,
        "query": jnp.zeros((slots,), jnp.int32),
        "valid": jnp.zeros((slots,), bool),
        "count": jnp.zeros((), jnp.int32),
    }


@partial(jax.jit, donate_argnames=("state",))
def _step(params: Any, state: StreamState, rows: Array, n_valid: Array, fraction: Array) -> Any:
    return jax.lax.cond(
        n_valid > 0,
        lambda: step_fn(params, state, rows, n_valid, fraction),
        lambda: (push(state, rows, n_valid), silence(state.config)),
    )


@partial(jax.jit, donate_argnames=("states",))
def _batched_step(params: Any, states: StreamState, rows: Array, n_valid: Array, fraction: Array) -> Any:
    return jax.vmap(step_fn, in_axes=(None, 0, 0, 0, 0))(params, states, rows, n_valid, fraction)


def step(
    params: Any,
    state: StreamState,
    rows: Float[AnyArray, "R C"],
    n_valid: int | Int[AnyArray, ""],
    fraction: float | Float[AnyArray, ""] = 1.0,
) -> tuple[StreamState, Captions]:
    """Takes the next segment of a stream and returns the captions that it emits; they are final.

    Compiled once for a `StreamConfig`; `state` is donated. Works inside jit, vmap and scan.

    Args:
        params: the parameters of `LiveCaptioner`; `models.prepare` makes ones that step faster.
        state: from `init` or the previous `step`; unusable afterwards.
        rows: the segment's feature rows, padded to R.
        n_valid: how many of them are real. 0 is a dropped or missing segment: the clock advances, the memory holds a
            gap, nothing is emitted and the model does not run.
        fraction: the part of Δt that the segment lasts, in (0, 1]; below 1 only for the last segment of a stream.

    Returns:
        The next state, and K = num_queries caption slots: "tokens" [K, W] int32, "start" and "end" [K] in fractions
        of the segment (of its actual length), "score", "proposal_score" (foreground probability), "sentence_score"
        (sum of word log-probabilities), "query" [K] int32 and "valid" [K] bool, valid ones first, by time; "count"
        [] int32 is the counter's number of events.

    Raises:
        InputError: rows of another shape, or a row count or fraction out of range.
        RuntimeError: the stream was closed by `flush`, or the state was already used.
    """
    check_open(state)
    expected = (state.config.max_rows, state.config.model.feature_dim)
    if rows.shape != expected:
        raise InputError(f"step: rows have shape {tuple(rows.shape)}, this stream takes {expected}: pad_rows pads")
    return _step(params, state, rows, *_scalars(expected[0], n_valid, fraction))


def batched_step(
    params: Any,
    states: StreamState,
    rows: Float[AnyArray, "B R C"],
    n_valid: Int[AnyArray, " B"],
    fraction: Float[AnyArray, " B"],
) -> tuple[StreamState, Captions]:
    """`step` for B streams at once, every array with a leading axis B; a stream that has ended gets n_valid 0.

    `states` is donated. Raises RuntimeError when it was used before.
    """
    check_open(states)
    return _batched_step(params, states, rows, jnp.asarray(n_valid, jnp.int32), jnp.asarray(fraction, jnp.float32))


def init_batch(state: StreamState, streams: int) -> StreamState:
    """The state of `streams` streams that all start as `state`."""
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], streams, axis=0), state)


def flush(params: Any, state: StreamState) -> Captions:
    """Closes a stream. Every segment has emitted its captions already, so none is valid here.

    Frees the stream's memory: a later `step` or `flush` on the state raises RuntimeError. `state.segment` stays
    readable: the number of segments taken.
    """
    del params
    check_open(state)
    captions = silence(state.config)
    if not isinstance(state.rows, jax.core.Tracer):
        close(state)
    return captions


def pad_rows(config: StreamConfig, rows: Any) -> tuple[np.ndarray, int]:
    """Brings a segment's rows [n, C] to the fixed shape that `step` takes.

    Returns:
        The rows padded with zeros to [R, C] float32, and n.

    Raises:
        InputError: too many rows, another row size, or a value that is not finite.
    """
    rows = (
        np.asarray(rows, np.float32).reshape(-1, config.model.feature_dim) if np.size(rows) == 0 else np.asarray(rows)
    )
    if rows.ndim != 2 or rows.shape[1] != config.model.feature_dim:
        raise InputError(f"segment rows: shape {rows.shape}, the model takes [n, {config.model.feature_dim}]")
    if rows.shape[0] > config.max_rows:
        raise InputError(f"segment rows: {rows.shape[0]} in one segment, max_rows={config.max_rows}: raise max_rows")
    if not np.isfinite(rows).all():
        raise InputError("segment rows: NaN or infinite value: the features are corrupt")
    padded = np.zeros((config.max_rows, config.model.feature_dim), np.float32)
    padded[: rows.shape[0]] = rows
    return padded, rows.shape[0]


def _scalars(max_rows: int, n_valid: Any, fraction: Any) -> tuple[Array, Array]:
    """Fixes the types, so that numbers and arrays share one compiled step, and checks plain numbers."""
    if isinstance(n_valid, int | np.integer) and not 0 <= n_valid <= max_rows:
        raise InputError(f"step: n_valid={n_valid}: must lie in 0..{max_rows}")
    if isinstance(fraction, int | float | np.floating) and not (math.isfinite(fraction) and 0 < fraction <= 1):
        raise InputError(f"step: fraction={fraction}: must lie in (0, 1]")
    return jnp.asarray(n_valid, jnp.int32), jnp.asarray(fraction, jnp.float32)
