"""Matching against scipy on the real sub-matrix; masked events take no query from real ones."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.matching import _assign, match, match_cost

SHAPES = ((4, 4), (3, 6), (6, 3), (1, 5), (5, 1))
assign = jax.jit(_assign)


def oracle_giou(a, b):
    (a0, a1), (b0, b1) = ((c - length / 2, c + length / 2) for c, length in (a, b))
    inter = max(0, min(a1, b1) - max(a0, b0))
    union = (a1 - a0) + (b1 - b0) - inter
    hull = max(a1, b1) - min(a0, b0)
    return inter / (union + 1e-5) - (hull - union) / (hull + 1e-5)


def oracle_cost(logits, boxes, targets, weights):
    p = 1 / (1 + np.exp(-logits))
    cls = 0.25 * (1 - p) ** 2 * -np.log(p + 1e-8) - 0.75 * p**2 * -np.log(1 - p + 1e-8)
    cost = np.zeros((len(targets), len(boxes)))
    for g, (tc, tl) in enumerate(targets):
        for n, (c, length) in enumerate(boxes):
            cost[g, n] = weights.cls * cls[n] - weights.giou * oracle_giou((tc, tl), (c, length))
            cost[g, n] += weights.bbox * (abs(tc - c) + abs(tl - length))
    return cost


def test_cost_equals_a_plain_loop():
    rng = np.random.default_rng(1)
    logits, boxes = rng.normal(size=(1, 5)), rng.uniform(0.1, 0.9, (1, 5, 2))
    targets = rng.uniform(0.1, 0.9, (1, 3, 2))
    weights = LossWeights(giou=4, cls=2, bbox=5)
    got = match_cost(jnp.asarray(logits), jnp.asarray(boxes), jnp.asarray(targets), weights)
    np.testing.assert_allclose(got[0], oracle_cost(logits[0], boxes[0], targets[0], weights), rtol=1e-4, atol=1e-5)


@given(st.sampled_from(SHAPES), st.integers(0, 2**31), st.integers(0, 6))
def test_assignment_is_optimal_on_the_real_events(shape, seed, real):
    events, queries = shape
    rng = np.random.default_rng(seed)
    cost = rng.normal(size=shape).astype(np.float32) * 10
    mask = rng.permutation(np.arange(events) < real)
    index, matched = (np.asarray(x) for x in assign(jnp.asarray(cost), jnp.asarray(mask)))
    assert not matched[~mask].any()
    assert matched.sum() == min(mask.sum(), queries)
    assert len(set(index[matched])) == matched.sum()
    rows, columns = linear_sum_assignment(cost[mask])
    np.testing.assert_allclose(
        cost[matched, index[matched]].sum(), cost[mask][rows, columns].sum(), rtol=1e-5, atol=1e-3
    )


@given(st.integers(0, 2**31), st.integers(0, 3))
def test_what_masked_slots_hold_does_not_matter(seed, real):
    rng = np.random.default_rng(seed)
    cost = rng.normal(size=(3, 6)).astype(np.float32)
    mask = np.arange(3) < real
    other = np.where(mask[:, None], cost, 1e6)
    a, b = assign(jnp.asarray(cost), jnp.asarray(mask)), assign(jnp.asarray(other), jnp.asarray(mask))
    np.testing.assert_array_equal(np.asarray(a[0])[:real], np.asarray(b[0])[:real])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_diverged_model_does_not_hang_the_matching(bad):
    logits, boxes = jnp.full((2, 4), bad), jnp.full((2, 4, 2), bad)
    index, matched = jax.jit(match, static_argnums=4)(
        logits, boxes, jnp.full((2, 3, 2), 0.5), jnp.ones((2, 3), bool), LossWeights()
    )
    assert matched.all()
    assert ((index >= 0) & (index < 4)).all()
