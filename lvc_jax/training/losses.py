"""The training loss: matched boxes, foreground, event count and captions, of every decoder layer."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lvc_jax.training.boxes import giou_1d
from lvc_jax.training.count_loss import count_loss
from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.matching import match

Batch = dict[str, Any]
Terms = dict[str, jax.Array]

_ALPHA, _GAMMA = 0.25, 2.0
LEAST_CHUNK = 4  # event slots whose captions are computed together: products of fewer rows are no faster


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
    model: Any,
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
    batch = jax.tree.map(jnp.asarray, batch)  # numpy arrays cannot be indexed by traced ones
    if deterministic:
        rngs, caption_key = None, None
    elif key is None:
        raise ValueError("training needs a dropout key: give key, or deterministic=True")
    else:
        rngs, caption_key = {"dropout": key}, jax.random.fold_in(key, 1)
    outputs = model.apply(params, batch["features"], batch["duration"], deterministic=deterministic, rngs=rngs)
    layers = outputs["class_logits"].shape[0]
    total, terms = jnp.float32(0.0), {}
    for name, values in _terms(model, params, outputs, batch, weights, caption_key).items():
        total = total + getattr(weights, name) * values.sum()
        for layer in range(layers):
            terms[f"loss_{name}" + ("" if layer == layers - 1 else f"_{layer}")] = values[layer]
    return total, terms


def _terms(
    model: Any, params: Any, outputs: dict[str, Any], batch: Batch, weights: LossWeights, key: jax.Array | None
) -> dict[str, Float[Array, " D"]]:
    """Every term of every layer; each layer has its own matching."""
    events = batch["events"]
    logits, boxes = outputs["class_logits"], outputs["boxes"].astype(jnp.float32)
    match_layers = jax.vmap(match, in_axes=(0, 0, None, None, None))
    index, matched = match_layers(logits, boxes, events["boxes"], events["mask"], weights)
    num_boxes = jnp.maximum(1, events["mask"].sum())
    target = jnp.any((index[..., None] == jnp.arange(logits.shape[-1])) & matched[..., None], axis=2)
    own = jnp.take_along_axis(boxes, index[..., None], axis=2)
    giou = jnp.where(matched, 1 - giou_1d(own, events["boxes"][None]), 0.0)
    distance = jnp.where(matched, jnp.abs(own - events["boxes"][None]).sum(-1), 0.0)
    terms = {
        "cls": focal_loss(logits, target.astype(jnp.float32)).sum((1, 2)) / num_boxes,
        "giou": giou.sum((1, 2)) / num_boxes,
        "bbox": distance.sum((1, 2)) / num_boxes,
    }
    if weights.count > 0 and outputs["count_logits"] is not None:
        count = partial(count_loss, weights.count_loss)
        terms["count"] = jax.vmap(count, in_axes=(0, None))(outputs["count_logits"], batch["count"])
    if weights.caption > 0:
        hidden = jnp.take_along_axis(outputs["hidden"], index[..., None], axis=2)
        references = _matched_references(model, outputs["references"], index)
        nll = [
            _caption_nll_sums(
                partial(_log_probs, model),
                params,
                outputs["memory"],
                hidden[start:stop],
                events["tokens"],
                jnp.stack(references[start:stop]),
                matched[start:stop],
                None if key is None else jax.random.fold_in(key, start),
            )
            for start, stop in _runs(references)
        ]
        terms["caption"] = jnp.concatenate(nll) / jnp.maximum(1, matched.sum((1, 2)))
    return terms


def _matched_references(model: Any, references: tuple[jax.Array, ...], index: jax.Array) -> list[jax.Array]:
    """The references of the matched queries, [B, G, r] of each layer."""
    if model.config.caption_head == "lstm":
        # That head does not look at them; with one form for all layers, their captions run as one batch.
        references = tuple(reference[..., :1] for reference in references)
    return [jnp.take_along_axis(r, index[layer, ..., None], axis=1) for layer, r in enumerate(references)]


def _runs(references: list[jax.Array]) -> list[tuple[int, int]]:
    """Ranges of successive layers whose references have the same last axis (centers, or centers and lengths)."""
    starts = [i for i, r in enumerate(references) if i == 0 or r.shape[-1] != references[i - 1].shape[-1]]
    return list(zip(starts, [*starts[1:], len(references)]))


def _log_probs(
    model: Any,
    params: Any,
    memory: jax.Array,
    hidden: jax.Array,
    tokens: jax.Array,
    reference: jax.Array,
    key: jax.Array | None,
) -> Float[Array, "B G W-1"]:
    rngs = None if key is None else {"dropout": key}
    return model.apply(
        params, hidden, tokens, reference, memory, deterministic=key is None, rngs=rngs, method="token_log_probs"
    )


def _caption_nll_sums(
    log_probs: Callable[..., jax.Array],
    params: Any,
    memory: Float[Array, "B S E"],
    hidden: Float[Array, "D B G E"],
    tokens: Int[Array, "B G W"],
    references: Float[Array, "D B G r"],
    matched: Bool[Array, "D B G"],
    key: jax.Array | None,
) -> Float[Array, " D"]:
    """Sum over the matched pairs of each layer's length-normalised NLL, a chunk of event slots at a time.

    Filled slots come first, whichever sample they belong to, and the loop ends with them, forwards and backwards: the
    work follows the number of events in the batch, and the value is the same as with all slots computed. The backward
    pass computes a chunk again instead of keeping the word distributions of all slots in memory.
    """
    layers, samples, slots = matched.shape
    size = min(max(samples, LEAST_CHUNK), samples * slots)
    filled = matched.any(axis=0).reshape(-1)
    order = jnp.argsort(~filled, stable=True)
    # The last chunk is filled up with slots that do not count.
    counts = jnp.arange(-(-order.size // size) * size) < order.size
    order = jnp.pad(order, (0, counts.size - order.size)).reshape(-1, size)
    counts = counts.reshape(-1, size)
    used = -(-filled.sum() // size)

    def chunks(rows: jax.Array) -> jax.Array:
        """[D, B, G, ...] to [chunk, slot of the chunk, D, ...]: layers stand where events of a sample are expected."""
        flat = jnp.moveaxis(rows, 0, 2).reshape(samples * slots, layers, *rows.shape[3:])
        return flat[order]

    said = tokens.reshape(samples * slots, -1)[order]
    fixed = (said, chunks(matched) & counts[..., None], order // slots, used, key)
    return _sum_chunks(partial(_chunk_nll, log_probs), params, memory, chunks(hidden), chunks(references), fixed)


def _chunk_nll(
    log_probs: Callable[..., jax.Array],
    params: Any,
    memory: jax.Array,
    hidden: jax.Array,
    reference: jax.Array,
    fixed: Any,
    chunk: jax.Array,
) -> Float[Array, " D"]:
    """The sums of one chunk: `hidden` [slot, D, E] and `reference` [slot, D, r] are its own."""
    tokens, matched, sample, _, key = fixed
    tokens, matched, sample = tokens[chunk], matched[chunk], sample[chunk]
    chunk_key = None if key is None else jax.random.fold_in(key, chunk)
    tokens = jnp.broadcast_to(tokens[:, None], (tokens.shape[0], matched.shape[1], tokens.shape[1]))
    nll = caption_nll(log_probs(params, memory[sample], hidden, tokens, reference, chunk_key), tokens)
    return jnp.where(matched, nll, 0.0).sum(0)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _sum_chunks(
    nll: Callable[..., jax.Array], params: Any, memory: jax.Array, hidden: jax.Array, reference: jax.Array, fixed: Any
) -> Float[Array, " D"]:
    """`nll` summed over the used chunks. A loop of so many turns has no gradient of its own: it is given below."""

    def add(chunk: jax.Array, total: jax.Array) -> jax.Array:
        return total + nll(params, memory, hidden[chunk], reference[chunk], fixed, chunk)

    return lax.fori_loop(0, fixed[3], add, jnp.zeros(hidden.shape[2]))


def _sum_chunks_forward(nll: Callable[..., jax.Array], *inputs: Any) -> tuple[jax.Array, Any]:
    return _sum_chunks(nll, *inputs), inputs


def _sum_chunks_backward(nll: Callable[..., jax.Array], inputs: Any, gradient: jax.Array) -> tuple[Any, ...]:
    params, memory, hidden, reference, fixed = inputs

    def add(chunk: jax.Array, totals: Any) -> Any:
        whole, d_hidden, d_reference = totals

        def again(params: Any, memory: jax.Array, hidden: jax.Array, reference: jax.Array) -> jax.Array:
            return nll(params, memory, hidden, reference, fixed, chunk)

        _, pullback = jax.vjp(again, params, memory, hidden[chunk], reference[chunk])
        d_params, d_memory, own_hidden, own_reference = pullback(gradient)
        whole = jax.tree.map(jnp.add, whole, (d_params, d_memory))
        return whole, d_hidden.at[chunk].set(own_hidden), d_reference.at[chunk].set(own_reference)

    start = jax.tree.map(jnp.zeros_like, ((params, memory), hidden, reference))
    (d_params, d_memory), d_hidden, d_reference = lax.fori_loop(0, fixed[3], add, start)
    return d_params, d_memory, d_hidden, d_reference, None


_sum_chunks.defvjp(_sum_chunks_forward, _sum_chunks_backward)
