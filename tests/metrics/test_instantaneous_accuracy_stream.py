"""The streaming form equals the batch form, alone, in a batch of videos, under jit and over hosts."""

import subprocess
import sys
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.metrics import instantaneous_accuracy as ia
from lvc_jax.metrics import instantaneous_accuracy_stream as stream

CODES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=40)
LONGEST = 40


def batch(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    truth, said = np.array(pairs).T
    action, right = truth != 0, truth == said
    return ia.curves(action, right & action, right & ~action)


def padded(videos: list[list[tuple[int, int]]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes [slot, video] and which of them exist."""
    truth, said = (np.zeros((LONGEST, len(videos)), np.int32) for _ in range(2))
    valid = np.zeros((LONGEST, len(videos)), bool)
    for column, pairs in enumerate(videos):
        truth[: len(pairs), column], said[: len(pairs), column] = np.array(pairs).T
        valid[: len(pairs), column] = True
    return truth, said, valid


@jax.jit
def run(truth: jax.Array, said: jax.Array, valid: jax.Array) -> tuple[stream.State, dict[str, jax.Array]]:
    def step(state: stream.State, slot: tuple) -> tuple[stream.State, dict[str, jax.Array]]:
        state = stream.update(state, *slot)
        return state, stream.result(state)

    return jax.lax.scan(step, stream.init(truth.shape[1:]), (truth, said, valid))


@pytest.fixture
def double():
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.mark.usefixtures("double")
def test_equals_the_batch_form_in_float64() -> None:
    rng = np.random.default_rng(0)
    videos = [rng.integers(0, 3, (n, 2)).tolist() for n in (1, 2, 17, LONGEST)]
    videos += [[(0, 0)] * 5, [(1, 1)] * 5, [(0, 1), (1, 0)] * 4, [(2, 2), (0, 0)]]
    last, seen = run(*padded(videos))
    assert last.sum_plain.dtype == jnp.float64
    for column, pairs in enumerate(videos):
        plain, weighted = batch(pairs)
        np.testing.assert_allclose(seen["IA"][: len(pairs), column], plain, rtol=0, atol=1e-12)
        np.testing.assert_allclose(seen["weighted_IA"][: len(pairs), column], weighted, rtol=0, atol=1e-12)
        ended = stream.result(last)
        np.testing.assert_allclose(ended["aIA"][column], plain.mean(), rtol=0, atol=1e-12)
        np.testing.assert_allclose(ended["weighted_aIA"][column], weighted.mean(), rtol=0, atol=1e-12)


@given(st.lists(CODES, min_size=4, max_size=4), st.permutations(range(4)))
def test_hosts_merge(videos: list, order: list[int]) -> None:
    with jax.enable_x64(True), jax.default_device(jax.devices("cpu")[0]):
        last, _ = run(*padded(videos))
        ends = [jax.tree.map(lambda leaf, i=i: leaf[i], last) for i in order]
        hosts = [stream.add(stream.start(), end) for end in ends]
        merged = stream.means(reduce(stream.merge, hosts))
        together = stream.means(stream.add(stream.start(), last))
    curves = [batch(pairs) for pairs in videos]
    for index, name in enumerate(("maIA", "weighted_maIA")):
        expected = np.mean([curve[index].mean() for curve in curves])
        assert float(merged[name]) == pytest.approx(expected, abs=1e-12)
        assert float(together[name]) == pytest.approx(expected, abs=1e-12)
    assert int(merged["videos"]) == 4


def test_vmap_over_streams_and_float32() -> None:
    truth, said, valid = padded([[(1, 1), (0, 0), (2, 1)], [(0, 1)]])
    states = jax.vmap(lambda _: stream.init())(jnp.arange(2))
    for slot in range(3):
        states = jax.vmap(stream.update)(states, truth[slot], said[slot], valid[slot])
    assert states.sum_plain.dtype == jnp.float32
    values = stream.result(states)
    np.testing.assert_array_equal(values["slots"], [3, 1])
    np.testing.assert_allclose(values["IA"], [2 / 3, 0], rtol=1e-6)


def test_psum_is_a_merge() -> None:
    state = stream.update(stream.init(), 1, 1)
    total = stream.add(stream.start(), state)
    both = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), total)
    summed = jax.vmap(lambda own: jax.lax.psum(own, "host"), axis_name="host")(both)
    assert int(summed.videos[0]) == 2
    assert float(stream.means(jax.tree.map(lambda leaf: leaf[0], summed))["maIA"]) == 1


def test_nothing_is_zero() -> None:
    assert {name: float(value) for name, value in stream.result(stream.init()).items()} == {
        "IA": 0,
        "weighted_IA": 0,
        "aIA": 0,
        "weighted_aIA": 0,
        "slots": 0,
    }
    assert float(stream.means(stream.add(stream.start(), stream.init()))["maIA"]) == 0


def test_importing_touches_no_device() -> None:
    code = (
        "import lvc_jax.metrics.instantaneous_accuracy_stream, lvc_jax.metrics.average_precision_score;"
        "from jax._src import xla_bridge; assert not xla_bridge.backends_are_initialized()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
