"""One jitted step: devices, compilation, donation, the learning signal."""

import itertools

import jax
import numpy as np
import pytest

from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.optimizer import make_optimizer
from lvc_jax.training.step import make_train_step
from lvc_jax.training.train_state import create, make_mesh, place_batch, replicated
from tests.training.parts import batches, tiny_config, tiny_parts


def run(devices, steps, *, same_batch=False):
    config, parts = tiny_config(), tiny_parts()
    mesh = make_mesh(devices)
    tx, _ = make_optimizer(config.optimizer)
    step = make_train_step(parts.model, tx, LossWeights(), mesh, seed=3)
    state = jax.jit(lambda key: create(parts.init_params(key), tx), out_shardings=replicated(mesh))(jax.random.key(0))
    found, stream = [], itertools.repeat(next(batches(0))) if same_batch else batches(0)
    for _ in range(steps):
        state, metrics = step(state, place_batch(next(stream), mesh))
        found.append(jax.device_get(metrics))
    return state, found, step


@pytest.fixture(scope="module")
def one():
    return run(jax.devices()[:1], 6)


def test_two_devices_give_what_one_gives(one):
    state, found, _ = run(jax.devices()[:2], 6)
    for ours, theirs in zip(found, one[1]):
        for name in theirs:
            np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-5, atol=1e-6, err_msg=name)
    for a, b in zip(jax.tree.leaves(state.params), jax.tree.leaves(one[0].params)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_the_step_compiles_once_whatever_the_number_of_events(one):
    assert one[2]._cache_size() == 1


def test_the_step_counts_itself_and_learns():
    state, found, _ = run(jax.devices()[:1], 12, same_batch=True)
    assert int(state.step) == 12
    assert found[-1]["loss"] < 0.9 * found[0]["loss"]
    assert all(metrics["finite"] for metrics in found)
