"""The training loss: matched boxes, foreground, event count and captions, of every decoder layer."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lvc_jax.training.boxes import giou_1d
from lvc_jax.training.count_loss import count_loss
from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.matching import match

Batch = dict[str, Any]
Terms = dict[str, jax.Array]

_ALPHA, _GAMMA = 0.25, 2.0


def focal_loss(logits: Float[Array, "*n"], target: Float[Array, "*n"]) -> Float[Array, "*n"]:
    """Sigmoid focal loss per query with alpha 0.25 and gamma 2; PDVC reference."""
    logits = logits.astype(jnp.float32)
    return optax.sigmoid_focal_loss(logits, target, alpha=_ALPHA, gamma=_GAMMA)


def caption_nll(log_probs: Float[Array, "*n W-1"], tokens: Int[Array, "*n W"]) -> Float[Array, "*n"]:
    """Negative log-likelihood per caption, divided by words + 1 + 1e-6 (the closing 0 is learnt too); PDVC reference.

    Args:
        log_probs: entry t is log p(tokens[t + 1]).
        tokens: 0, the words, then zeros.
    """
    inputs = tokens[..., :-1]
    real = (jnp.arange(inputs.shape[-1]) == 0) | (inputs > 0)
    total = -jnp.sum(jnp.where(real, log_probs.astype(jnp.float32), 0.0), axis=-1)
    return total / (real.sum(-1) + 1e-6)


def compute(
    model: nn.Module,
    params: Any,
    batch: Batch,
    weights: LossWeights,
    *,
    key: jax.Array | None = None,
    deterministic: bool = False,
) -> tuple[Float[Array, ""], Terms]:
    """The weighted total over all decoder layers, and every term.

    Args:
        model: a `LiveCaptioner`.
        params: its parameters.
        batch: features [B, T, C], duration [B] seconds, events {boxes [B, G, 2] fractions, tokens [B, G, W],
            mask [B, G]} and count [B]. No event at all is an ordinary batch.
        weights: of the terms and of the matching.
        key: for dropout; needed unless `deterministic`.
        deterministic: switches dropout off.

    Returns:
        total: scalar; terms: scalars `loss_giou`, `loss_cls`, `loss_bbox`, `loss_count`, `loss_caption` of the last
        layer and the same names with `_0`, `_1`, ... for the layers before it, unweighted.
    """
    rngs = None if deterministic else {"dropout": key}
    outputs = model.apply(params, batch["features"], batch["duration"], deterministic=deterministic, rngs=rngs)
    layers = outputs["class_logits"].shape[0]
    total, terms = jnp.float32(0.0), {}
    for layer in range(layers):
        layer_key = None if deterministic else jax.random.fold_in(key, layer)
        values = _layer_terms(model, params, outputs, layer, batch, weights, layer_key)
        suffix = "" if layer == layers - 1 else f"_{layer}"
        for name, value in values.items():
            terms[f"loss_{name}{suffix}"] = value
            total = total + getattr(weights, name) * value
    return total, terms


def _layer_terms(
    model: nn.Module,
    params: Any,
    outputs: dict[str, Any],
    layer: int,
    batch: Batch,
    weights: LossWeights,
    key: jax.Array | None,
) -> Terms:
    events = batch["events"]
    logits, boxes = outputs["class_logits"][layer], outputs["boxes"][layer].astype(jnp.float32)
    index, matched = match(logits, boxes, events["boxes"], events["mask"], weights)
    num_boxes = jnp.maximum(1, events["mask"].sum())
    target = jnp.any((index[:, :, None] == jnp.arange(logits.shape[-1])) & matched[:, :, None], axis=1)
    own = jnp.take_along_axis(boxes, index[:, :, None], axis=1)
    giou = jnp.where(matched, 1 - giou_1d(own, events["boxes"]), 0.0)
    distance = jnp.where(matched, jnp.abs(own - events["boxes"]).sum(-1), 0.0)
    terms = {
        "cls": focal_loss(logits, target.astype(jnp.float32)).sum() / num_boxes,
        "giou": giou.sum() / num_boxes,
        "bbox": distance.sum() / num_boxes,
    }
    if weights.count > 0 and outputs["count_logits"] is not None:
        terms["count"] = count_loss(weights.count_loss, outputs["count_logits"][layer], batch["count"])
    if weights.caption > 0:
        hidden = jnp.take_along_axis(outputs["hidden"][layer], index[:, :, None], axis=1)
        reference = jnp.take_along_axis(outputs["references"][layer], index[:, :, None], axis=1)
        terms["caption"] = _caption_loss(
            model, params, hidden, events["tokens"], reference, outputs["memory"], matched, key
        )
    return terms


def _caption_loss(
    model: nn.Module,
    params: Any,
    hidden: Float[Array, "B G E"],
    tokens: Int[Array, "B G W"],
    reference: Float[Array, "B G r"],
    memory: Float[Array, "B S E"],
    matched: Bool[Array, "B G"],
    key: jax.Array | None,
) -> Float[Array, ""]:
    """Mean length-normalised NLL of the matched pairs, one event slot of the whole batch at a time.

    Events fill the slots from the first, so a slot that is empty in every sample costs nothing: the work follows the
    largest number of events in the batch, and the value is the same as with all slots computed. The backward pass
    computes a slot again instead of keeping the word distributions of all slots in memory.
    """

    @jax.checkpoint
    def captioned(hidden: jax.Array, tokens: jax.Array, reference: jax.Array, matched: jax.Array, slot: jax.Array):
        rngs = None if key is None else {"dropout": jax.random.fold_in(key, slot)}
        log_probs = model.apply(
            params,
            hidden[:, None],
            tokens[:, None],
            reference[:, None],
            memory,
            deterministic=key is None,
            rngs=rngs,
            method="token_log_probs",
        )
        return jnp.where(matched, caption_nll(log_probs[:, 0], tokens), 0.0).sum()

    def add_slot(total: jax.Array, slot_inputs: tuple[jax.Array, ...]) -> tuple[jax.Array, None]:
        slot_matched = slot_inputs[3]
        value = lax.cond(slot_matched.any(), captioned, lambda *_: jnp.float32(0.0), *slot_inputs)
        return total + value, None

    slots = tuple(jnp.moveaxis(x, 1, 0) for x in (hidden, tokens, reference, matched))
    total, _ = lax.scan(add_slot, jnp.float32(0.0), (*slots, jnp.arange(tokens.shape[1])))
    return total / jnp.maximum(1, matched.sum())
