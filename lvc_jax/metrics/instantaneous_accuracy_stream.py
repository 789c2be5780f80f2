"""Instantaneous Accuracy while a video runs: constant memory, a pytree of numbers, jit- and vmap-able.

    state = init()
    for each slot:   state = update(state, annotated, predicted);  result(state)["weighted_IA"]
    total = add(start(), state)                      after each video
    means(merge(total, total_of_another_host))       or jax.lax.psum(total, axis)

Equal to the batch form to 1e-12 in float64 (under `jax.enable_x64(True)`); float32 otherwise. A video's slots have to
come in order and to one host, because every value depends on all slots before it; videos may be spread at will.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int


class State(NamedTuple):
    """One video (or a batch of them) so far: numbers of slots, and sums of the two curves."""

    true_positives: Int[Array, "*b"]
    true_negatives: Int[Array, "*b"]
    actions: Int[Array, "*b"]
    background: Int[Array, "*b"]
    sum_plain: Float[Array, "*b"]
    sum_weighted: Float[Array, "*b"]


class Total(NamedTuple):
    """Videos that have ended: sums, so that totals of hosts add up."""

    videos: Int[Array, ""]
    sum_plain: Float[Array, ""]
    sum_weighted: Float[Array, ""]


def init(shape: tuple[int, ...] = ()) -> State:
    """The state before the first slot, for a batch of videos of this shape."""
    counts = (jnp.zeros(shape, jnp.int32) for _ in range(4))
    sums = (jnp.zeros(shape, jnp.result_type(float)) for _ in range(2))
    return State(*counts, *sums)


def _instant(state: State) -> tuple[Float[Array, "*b"], Float[Array, "*b"]]:
    """IA and weighted IA of all slots so far; 0 before the first."""
    kind = state.sum_plain.dtype
    actions, background = state.actions.astype(kind), state.background.astype(kind)
    positives, negatives = state.true_positives.astype(kind), state.true_negatives.astype(kind)
    number = jnp.maximum(actions + background, 1)
    both = (state.actions > 0) & (state.background > 0)
    for_action = jnp.where(both, background / jnp.maximum(actions, 1), 1)
    for_background = jnp.where(both, actions / jnp.maximum(background, 1), 1)
    weighted = (positives * for_action + negatives * for_background) / number
    return (positives + negatives) / number, weighted


def update(
    state: State, annotated: Int[ArrayLike, "*b"], predicted: Int[ArrayLike, "*b"], valid: Bool[ArrayLike, "*b"] = True
) -> State:
    """One more slot.

    Args:
        state: the slots before it.
        annotated: label code of the slot; 0 is background.
        predicted: label code that the detector gives it.
        valid: False leaves the state as it is (a video of the batch that has ended).
    """
    annotated, predicted, valid = jnp.asarray(annotated), jnp.asarray(predicted), jnp.asarray(valid)
    action = annotated != 0
    right = annotated == predicted
    counted = state._replace(
        true_positives=state.true_positives + (valid & action & right),
        true_negatives=state.true_negatives + (valid & ~action & right),
        actions=state.actions + (valid & action),
        background=state.background + (valid & ~action),
    )
    plain, weighted = _instant(counted)
    return counted._replace(
        sum_plain=counted.sum_plain + jnp.where(valid, plain, 0),
        sum_weighted=counted.sum_weighted + jnp.where(valid, weighted, 0),
    )


def result(state: State) -> dict[str, Array]:
    """`IA`, `weighted_IA` now, their means so far `aIA`, `weighted_aIA`, and `slots`; zeros before the first slot."""
    plain, weighted = _instant(state)
    slots = state.actions + state.background
    number = jnp.maximum(slots, 1)
    return {
        "IA": jnp.where(slots > 0, plain, 0),
        "weighted_IA": jnp.where(slots > 0, weighted, 0),
        "aIA": state.sum_plain / number,
        "weighted_aIA": state.sum_weighted / number,
        "slots": slots,
    }


def start() -> Total:
    """The total of no video."""
    zero = jnp.zeros((), jnp.result_type(float))
    return Total(jnp.zeros((), jnp.int32), zero, zero)


def add(total: Total, state: State) -> Total:
    """Counts the videos of a state as ended; one without a slot is no video."""
    values = result(state)
    return Total(
        total.videos + jnp.sum(values["slots"] > 0, dtype=jnp.int32),
        total.sum_plain + jnp.sum(values["aIA"]),
        total.sum_weighted + jnp.sum(values["weighted_aIA"]),
    )


def merge(first: Total, second: Total) -> Total:
    """The total of two hosts; the order of hosts does not matter."""
    return Total(*(a + b for a, b in zip(first, second)))


def means(total: Total) -> dict[str, Array]:
    """`maIA`, `weighted_maIA` and `videos`; zeros without a video."""
    number = jnp.maximum(total.videos, 1)
    return {
        "maIA": total.sum_plain / number,
        "weighted_maIA": total.sum_weighted / number,
        "videos": total.videos,
    }
