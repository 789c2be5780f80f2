"""The streaming form: equal to the batch form in float64, under jit and vmap, over hosts."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from jax.sharding import Mesh, PartitionSpec

from lvc_jax.metrics import live_score
from lvc_jax.metrics.live_score import VARIANTS, Reading, curves, streaming
from tests.metrics.live_cases import DATA

SCORERS = ("BLEU-1", "ROUGE-L")
READINGS = [
    Reading(60, scorers=SCORERS),
    Reading(60, window=2, history="K", scorers=SCORERS),
    Reading(mode="reference", scorers=SCORERS),
    Reading(mode="reference", window=1, scorers=SCORERS),
    Reading(mode="reference", window=2, scorers=SCORERS),
]
IDS = [f"{reading.mode}-{reading.window}-{reading.history}" for reading in READINGS]
UPDATE = jax.jit(streaming.update)
RUN = jax.jit(streaming.run)


def slots(seed: int, number: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    wrong = (draw.random(number) < 0.4) * draw.integers(1, 4, number)
    return draw.random((number, len(SCORERS))) * (wrong == 0)[:, None], wrong.astype(np.float64)


@pytest.mark.parametrize("reading", READINGS, ids=IDS)
def test_scan_equals_the_batch_form(reading: Reading) -> None:
    gamma, wrong = slots(0, 12)
    with streaming.float64_on_cpu():
        state, actual = RUN(streaming.init(reading), gamma, wrong)
        newest = streaming.result(state)
        assert state.sums.dtype == jnp.float64
        assert next(iter(state.sums.devices())).platform == "cpu"
    expected = curves(gamma, wrong, window=reading.window, history=reading.history, mode=reading.mode)
    for variant in VARIANTS:
        np.testing.assert_allclose(np.asarray(actual[variant]), expected[variant], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(np.asarray(newest[variant]), np.asarray(actual[variant])[-1])


def test_update_slot_by_slot_in_single_precision() -> None:
    gamma, wrong = slots(1, 9)
    state = streaming.init(READINGS[0])
    assert not any(np.asarray(values).any() for values in streaming.result(state).values())
    for row, false in zip(gamma, wrong):
        state = UPDATE(state, row, false)
    assert state.sums.dtype == jnp.float32
    expected = curves(gamma, wrong, window=5)
    for variant, values in streaming.result(state).items():
        np.testing.assert_allclose(np.asarray(values), expected[variant][-1], rtol=1e-6)


@pytest.mark.parametrize("reading", READINGS, ids=IDS)
def test_streams_of_different_length_run_together(reading: Reading) -> None:
    lengths = [0, 3, 7]
    data = [slots(seed, 7) for seed in range(3)]
    scored = np.arange(7)[None] < np.array(lengths)[:, None]
    gamma, wrong = (np.stack(part) for part in zip(*data))
    with streaming.float64_on_cpu():
        start = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), streaming.init(reading))
        states, _ = jax.jit(jax.vmap(streaming.run))(start, gamma, wrong, scored)
        numbers = streaming.summary(streaming.totals(states), reading)
        numbers = {name: float(value) for name, value in numbers.items()}
    videos = {}
    for length, (own, false) in zip(lengths, data):
        if length:
            values = curves(
                own[:length], false[:length], window=reading.window, history=reading.history, mode=reading.mode
            )
            videos[str(length)] = live_score.VideoScore(np.arange(length), own, false, values, SCORERS)
    assert numbers == pytest.approx(live_score.summary(videos), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("reading", [READINGS[0], READINGS[2]], ids=["paper", "reference"])
@settings(max_examples=5)
@given(data=DATA)
def test_videos_streamed_on_two_hosts_give_the_batch_numbers(reading: Reading, data: tuple[dict, dict]) -> None:
    videos = live_score.score_videos(*data, reading)
    with streaming.float64_on_cpu():
        hosts = [streaming.totals(streaming.init(reading))] * 2
        for index, video in enumerate(videos.values()):
            state = streaming.init(reading)
            for gamma, wrong in zip(video.gamma, video.false_positives):
                state = UPDATE(state, gamma, wrong)
            hosts[index % 2] = streaming.merge(hosts[index % 2], streaming.totals(state))
        together = streaming.summary(streaming.merge(*hosts), reading)
        together = {name: float(value) for name, value in together.items()}
    assert together == pytest.approx(live_score.summary(videos, SCORERS), rel=1e-12, abs=1e-12)


def test_totals_add_up_over_devices() -> None:
    reading = READINGS[0]
    gamma, wrong = (np.stack(part) for part in zip(*(slots(seed, 6) for seed in range(4))))
    start = jax.tree.map(lambda leaf: jnp.stack([leaf] * 4), streaming.init(reading))

    def _host(start: streaming.State, gamma: jax.Array, wrong: jax.Array) -> streaming.Totals:
        states, _ = jax.vmap(streaming.run)(start, gamma, wrong)
        return jax.lax.psum(streaming.totals(states), "hosts")

    mesh = Mesh(np.array(jax.devices()[:2]), ("hosts",))
    rows = PartitionSpec("hosts")
    over_hosts = jax.shard_map(_host, mesh=mesh, in_specs=(rows, rows, rows), out_specs=PartitionSpec())
    actual = jax.jit(over_hosts)(start, gamma, wrong)
    states, _ = jax.vmap(streaming.run)(start, gamma, wrong)
    expected = streaming.totals(states)
    assert float(actual.videos) == 4
    np.testing.assert_allclose(np.asarray(actual.means), np.asarray(expected.means), rtol=1e-6)


def test_importing_the_metrics_initialises_no_device() -> None:
    code = (
        "import lvc_jax.metrics.live_score.streaming, lvc_jax.metrics.timeliness, jax._src.xla_bridge as bridge;"
        "assert not bridge.backends_are_initialized()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
