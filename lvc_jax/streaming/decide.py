"""From the last decoder layer's outputs to one segment's captions."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lvc_jax.streaming.consolidation import Predictions, consolidate, select_top
from lvc_jax.streaming.state import StreamConfig

EMPTY_SENTENCE_SCORE = -1e5  # the PDVC reference's sentence score when no query says a word


def event_count(
    config: StreamConfig, class_logits: Float[Array, " N"], count_logits: Float[Array, " K"] | None
) -> Int[Array, ""]:
    """How many events the segment shows: the counter's argmax, or without a counter the queries with p >= 0.5.

    At least `config.min_events`, and at least 1 in "reference" mode, as the PDVC reference has it.
    """
    least = max(config.min_events, 1) if config.mode == "reference" else config.min_events
    count = jnp.sum(class_logits >= 0) if count_logits is None else jnp.argmax(count_logits)
    return jnp.maximum(count.astype(jnp.int32), least)


def decide(
    config: StreamConfig,
    class_logits: Float[Array, " N"],
    boxes: Float[Array, "N 2"],
    tokens: Int[Array, "N W"],
    log_probs: Float[Array, "N W"],
    count: Int[Array, ""],
    past: Int[Array, ""],
    fraction: Float[Array, ""],
) -> Predictions:
    """Scores every query, keeps the `count` best and consolidates them.

    A query's score is its foreground probability plus ec_alpha · sentence_score / (words² + 1e-5), the
    length-modulated caption confidence (Live Video Captioning paper, section 3.2; the exponent is the PDVC
    reference's). Boxes become fractions of the current segment, clipped to it: nothing is said about times that have
    not come, nor about segments whose captions are out. In "paper" mode a query without words is no caption, and
    (except in "slot", which does not use boxes) neither is one whose box lies wholly before the segment.

    Args:
        class_logits, boxes: foreground logit and (centre, length) in fractions of the window, of every query.
        tokens, log_probs: decoded words, 0 after the last, and their log-probabilities.
        count: events to keep; 0 emits nothing.
        past: whole segments in the window before the current one.
        fraction: length of the current segment as a part of Δt.

    Returns:
        What `step` returns as captions.
    """
    said = tokens != 0
    words = jnp.sum(said, axis=-1)
    sentence_score = jnp.sum(jnp.where(said, log_probs, 0), axis=-1)
    if config.mode == "reference":
        sentence_score = jnp.where(jnp.any(said), sentence_score, EMPTY_SENTENCE_SCORE)
    proposal_score = jax.nn.sigmoid(class_logits)
    score = proposal_score + config.ec_alpha * sentence_score / (words.astype(jnp.float32) ** 2 + 1e-5)
    start, end = segment_times(boxes, past, fraction)
    candidate = jnp.ones_like(said[:, 0]) if config.mode == "reference" else words > 0
    if config.mode == "paper" and config.consolidation != "slot":
        candidate &= end > start
    predictions = {
        "tokens": tokens,
        "start": start,
        "end": end,
        "score": score,
        "proposal_score": proposal_score,
        "sentence_score": sentence_score,
    }
    member = select_top(score, proposal_score, candidate, count)
    return {**consolidate(predictions, member, config.consolidation), "count": count}


def segment_times(
    boxes: Float[Array, "N 2"], past: Int[Array, ""], fraction: Float[Array, ""]
) -> tuple[Float[Array, " N"], Float[Array, " N"]]:
    """(Centre, length) in fractions of the window to start and end in fractions of its last segment, clipped to it."""
    centre, half = boxes[:, 0], boxes[:, 1] / 2
    length = past + fraction

    def inside(position: Float[Array, " N"]) -> Float[Array, " N"]:
        return jnp.clip((position * length - past) / fraction, 0, 1)

    return inside(centre - half), inside(centre + half)
