"""Which query answers for which event: a one-to-one matching of least cost, on the device."""

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lvc_jax.training.boxes import giou_1d
from lvc_jax.training.loss_weights import LossWeights

_ALPHA, _GAMMA, _TINY = 0.25, 2.0, 1e-8


def match_cost(
    class_logits: Float[Array, "B N"],
    boxes: Float[Array, "B N 2"],
    target_boxes: Float[Array, "B G 2"],
    weights: LossWeights,
) -> Float[Array, "B G N"]:
    """The cost of giving event g to query n: weighted focal class cost, -GIoU and L1 of (center, length).

    Source: PDVC reference; the weights are those of the losses.
    """
    boxes, target_boxes = boxes.astype(jnp.float32), target_boxes.astype(jnp.float32)
    p = jax.nn.sigmoid(class_logits.astype(jnp.float32))
    event = _ALPHA * (1 - p) ** _GAMMA * -jnp.log(p + _TINY)
    silence = (1 - _ALPHA) * p**_GAMMA * -jnp.log(1 - p + _TINY)
    a, b = target_boxes[:, :, None, :], boxes[:, None, :, :]
    return (
        weights.cls * (event - silence)[:, None, :]
        - weights.giou * giou_1d(a, b)
        + weights.bbox * jnp.abs(a - b).sum(-1)
    )


def match(
    class_logits: Float[Array, "B N"],
    boxes: Float[Array, "B N 2"],
    target_boxes: Float[Array, "B G 2"],
    mask: Bool[Array, "B G"],
    weights: LossWeights,
) -> tuple[Int[Array, "B G"], Bool[Array, "B G"]]:
    """Matches every real event to a query of its own, at the least total cost. No gradient flows through it.

    Args:
        class_logits: foreground logit of every query.
        boxes: predicted (center, length), fractions of the window.
        target_boxes: the events' (center, length); any value where `mask` is false.
        mask: which events are real.
        weights: the loss weights, which are the cost weights too.

    Returns:
        query_index [B, G]: the query of event g (some valid index where nothing was matched);
        matched [B, G]: `mask`, less the events that found no query because there are more events than queries.
    """
    cost = lax.stop_gradient(match_cost(class_logits, boxes, target_boxes, weights))
    # The assignment loops never end on NaN; a diverged step must reach the guard that reports it.
    cost = jnp.nan_to_num(cost, nan=0.0, posinf=0.0, neginf=0.0)
    return jax.vmap(_assign)(cost, mask)


def _assign(cost: Float[Array, "G N"], mask: Bool[Array, " G"]) -> tuple[Int[Array, " G"], Bool[Array, " G"]]:
    """Least-cost assignment of the real rows; masked rows cost nothing anywhere, so they never push a real one away."""
    events, queries = cost.shape
    low = jnp.min(cost, where=mask[:, None], initial=jnp.inf)
    high = jnp.max(cost, where=mask[:, None], initial=-jnp.inf)
    cost = jnp.where(mask[:, None], cost - low, 0.0)
    if events > queries:
        # Stand-in queries take the surplus. One of them costs a real event more than any matching can save.
        surplus = jnp.where(mask.any(), 1 + queries * (high - low), 0.0)
        stand_in = jnp.broadcast_to(jnp.where(mask, surplus, 0.0)[:, None], (events, events - queries))
        cost = jnp.concatenate([cost, stand_in], axis=1)
    row, column = optax.assignment.hungarian_algorithm(cost)
    index = jnp.zeros(events, jnp.int32).at[row].set(column.astype(jnp.int32))
    return jnp.minimum(index, queries - 1), mask & (index < queries)
