"""A stream compiles its step once, whatever happens in it."""

import contextlib
import dataclasses

import jax
import numpy as np
import pytest
from jax import monitoring

from lvc_jax.models import init_params, prepare
from lvc_jax.streaming import StreamConfig, batched_step, flush, init, init_batch, pad_rows, step
from tests.streaming.conftest import MODEL, enlarge, random_stream

COMPILED = "/jax/core/compile/backend_compile_duration"


@contextlib.contextmanager
def compilations():
    """A list that gets one entry for every program compiled inside the block."""
    found = []

    def listen(event, seconds, **_):
        if event == COMPILED:
            found.append(seconds)

    monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        monitoring.unregister_event_duration_listener(listen)


@pytest.fixture(scope="module", params=["lstm", "lstm_dsa"])
def captioner(request):
    model = dataclasses.replace(MODEL, caption_head=request.param)
    config = StreamConfig(model, segment_frames=24, memory=3, max_rows=4, consolidation="events")
    return config, prepare(model, enlarge(init_params(model, jax.random.key(1))))


def with_count(params, events):
    """Parameters whose counter always says `events`."""
    heads = dict(params["params"]["heads"])
    heads["count_bias"] = np.full(heads["count_bias"].shape, -1e9, np.float32)
    heads["count_bias"][:, events] = 0
    return {**params, "params": {**params["params"], "heads": jax.device_put(heads)}}


def test_the_count_sees_a_compilation():
    with compilations() as found:
        jax.jit(lambda x: x * 3.5 + 1)(np.float32(2)).block_until_ready()
    assert len(found) == 1


def test_a_stream_compiles_nothing_after_its_first_step(captioner):
    config, params = captioner
    speaking, silent = with_count(params, 2), with_count(params, 0)
    flush(params, step(params, init(config, params), *pad_rows(config, random_stream(0, [3])[0]))[0])
    with compilations() as found:
        state = init(config, params)
        counts = []
        # Few and many rows, dropped segments, silent ones, numbers of every kind; at last a part of a segment.
        for k, rows in enumerate(random_stream(3, [4, 1, 0, 3, 0, 0, 2, 4])):
            state, captions = step(silent if k in (1, 6) else speaking, state, *pad_rows(config, rows))
            counts.append(int(captions["count"]))
        rows, n_valid = pad_rows(config, random_stream(4, [1])[0])
        state, captions = step(speaking, state, jax.device_put(rows), np.int64(n_valid), np.float64(0.3))
        jax.device_get(captions)
        flush(params, state)
    assert not found
    assert counts == [2, 0, 0, 2, 0, 0, 0, 2]


def test_streams_side_by_side_compile_nothing_after_their_first_step(captioner):
    config, params = captioner
    params = with_count(params, 2)
    segments = [np.zeros((3, config.max_rows, MODEL.feature_dim), np.float32) for _ in range(4)]
    segments = [rows + np.float32(k) for k, rows in enumerate(segments)]

    def play():
        states = init_batch(init(config, params), 3)
        for rows, n_valid in zip(segments, ([4, 2, 1], [3, 0, 4], [0, 0, 0], [1, 4, 0])):
            fraction = np.full(3, 0.5 if n_valid[0] == 1 else 1.0, np.float32)
            states, captions = batched_step(params, states, rows, np.array(n_valid), fraction)
            yield jax.device_get(captions)["count"].tolist()

    list(play())
    with compilations() as found:
        assert list(play()) == [[2, 2, 2], [2, 0, 2], [0, 0, 0], [2, 2, 0]]
    assert not found
