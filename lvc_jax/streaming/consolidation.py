"""The temporal filter: from one prediction a query to the captions that a segment emits, on token arrays.

Live Video Captioning paper, section 3.2: among the predictions of a segment that overlap in time, the caption that
occurs most often wins and takes its maximum score. That vote is `slot`. `events` holds no vote: it merges predictions
that say the same words at overlapping times, and lets different words survive side by side.

Everything here is pairwise comparison of N predictions and one gather, with fixed shapes and exact tie rules; there is
no sort and no scatter, so it runs on small devices as it is.
"""

from typing import Literal

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Shaped

Predictions = dict[str, Array]


def precedes(*keys: Shaped[Array, " N"]) -> Bool[Array, "N N"]:
    """[i, j] is true where i comes before j in ascending lexicographic order of `keys`, ties by index.

    A strict total order as long as no key is NaN.
    """
    index = jnp.arange(keys[0].shape[0])
    before = index[:, None] < index[None, :]
    for key in reversed(keys):
        mine, other = key[:, None], key[None, :]
        before = (mine < other) | ((mine == other) & before)
    return before


def select_top(
    score: Float[Array, " N"], proposal_score: Float[Array, " N"], candidate: Bool[Array, " N"], count: Int[Array, ""]
) -> Bool[Array, " N"]:
    """The `count` candidates of highest score; ties by proposal score, then by lowest query."""
    better = precedes(-score, -proposal_score) & candidate[:, None]
    return candidate & (jnp.sum(better, axis=0) < count)


def same_caption(tokens: Int[Array, "N W"]) -> Bool[Array, "N N"]:
    """[i, j] is true where queries i and j say the same words."""
    return jnp.all(tokens[:, None, :] == tokens[None, :, :], axis=-1)


def same_event(
    tokens: Int[Array, "N W"], start: Float[Array, " N"], end: Float[Array, " N"], member: Bool[Array, " N"]
) -> Bool[Array, "N N"]:
    """[i, j] is true where i and j are members of one group.

    Two members are linked when they say the same words and share some time (more than an instant); a group is
    everything reachable through links. Predictions with different words are different events however much they
    overlap.
    """
    overlap = (start[:, None] < end[None, :]) & (start[None, :] < end[:, None])
    linked = same_caption(tokens) & overlap & member[:, None] & member[None, :]
    reach = 1
    while reach < tokens.shape[0] - 1:  # squaring doubles the length of the paths that are covered
        hops = linked.astype(jnp.float32)
        linked = linked | (hops @ hops > 0)
        reach *= 2
    return linked


def winners(
    predictions: Predictions, member: Bool[Array, " N"], how: Literal["slot", "events", "rerank"]
) -> Bool[Array, " N"]:
    """Which members are emitted under the rule `how`; see `consolidate`."""
    score, start = predictions["score"], predictions["start"]
    if how == "rerank":
        return member
    if how == "events":
        rivals = same_event(predictions["tokens"], start, predictions["end"], member)
        better = precedes(-score, start)
    else:
        rivals = member[:, None] & member[None, :]
        frequency = jnp.sum(same_caption(predictions["tokens"]) & rivals, axis=0)
        better = precedes(-frequency, -score, start)
    return member & ~jnp.any(better & rivals, axis=0)


def consolidate(
    predictions: Predictions, member: Bool[Array, " N"], how: Literal["slot", "events", "rerank"]
) -> Predictions:
    """Applies the temporal filter to the predictions of one segment.

    Args:
        predictions: one entry a query: "tokens" [N, W] int32 (0 after the last word), "start", "end" [N] in fractions
            of the segment, "score", "proposal_score", "sentence_score" [N].
        member: the predictions that take part: the counter's top ones.
        how: "slot": one caption a segment. All members vote: the caption that most of them say wins; ties go to the
                higher score, then the earlier start, then the lower query. Its score is its maximum and its times
                are the whole segment (Live Video Captioning paper, section 3.2).
            "events": one caption per group of members that say the same words at overlapping times (`same_event`).
                A group is one event seen by several queries; its best member stands for it, by highest score, then
                earliest start, then lowest query. Simultaneous events have different words, so all of them survive.
            "rerank": every member, as the PDVC reference does after its rerank.

    Returns:
        The same entries for K = N caption slots, emitted ones first, in order of start, then end, score (highest
        first) and query; with "query" [K] int32, the query each came from, and "valid" [K]. Unused slots are 0.
    """
    chosen = winners(predictions, member, how)
    if how == "slot":
        zero = jnp.zeros_like(predictions["start"])
        predictions = {**predictions, "start": zero, "end": zero + 1}
    earlier = precedes(predictions["start"], predictions["end"], -predictions["score"]) & chosen[:, None]
    position = jnp.sum(earlier, axis=0)
    slots = jnp.arange(position.shape[0])
    hit = (position[None, :] == slots[:, None]) & chosen[None, :]
    query = jnp.sum(jnp.where(hit, slots[None, :], 0), axis=1).astype(jnp.int32)
    valid = jnp.any(hit, axis=1)
    packed = {name: _keep(values[query], valid) for name, values in predictions.items()}
    return {**packed, "query": _keep(query, valid), "valid": valid}


def _keep(values: Shaped[Array, "K ..."], valid: Bool[Array, " K"]) -> Shaped[Array, "K ..."]:
    mask = valid.reshape(valid.shape + (1,) * (values.ndim - 1))
    return jnp.where(mask, values, jnp.zeros_like(values))
