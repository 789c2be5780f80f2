"""Stream constants and state: what is refused, and how big a segment can get."""

import dataclasses

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.data.segments import segment_rows
from lvc_jax.errors import InputError
from lvc_jax.streaming import StreamConfig, flush, init, pad_rows, rows_per_segment, step
from tests.streaming.conftest import CONFIG, MODEL, play, random_stream


@pytest.mark.parametrize(
    "values",
    [
        {"segment_frames": 0},
        {"memory": 0},
        {"max_rows": 0},
        {"min_events": -1},
        {"ec_alpha": float("nan")},
        {"ec_alpha": -0.1},
        {"consolidation": "vote"},
        {"mode": "live"},
    ],
)
def test_impossible_constants_are_refused_by_name(values):
    with pytest.raises(InputError, match=next(iter(values))):
        dataclasses.replace(CONFIG, **values)


def test_settings_of_a_checkpoint_give_way_to_overrides():
    settings = {"segment_frames": 48, "memory": 3, "consolidation": "events"}
    config = StreamConfig.from_settings(MODEL, settings, 0.4, 0.4, memory=2, consolidation=None)
    assert (config.segment_frames, config.memory, config.consolidation, config.max_rows) == (48, 2, "events", 6)
    with pytest.raises(InputError, match="'dt'"):
        StreamConfig.from_settings(MODEL, {"dt": 1}, 0.4)


@given(
    frames=st.integers(1, 200),
    stride=st.floats(0.05, 3),
    overlap=st.floats(0.2, 3),
    duration=st.floats(0.1, 60),
)
def test_no_segment_gets_more_rows_than_the_bound(frames, stride, overlap, duration):
    info = FeatureInfo("any", 1, stride, stride * overlap)
    rows = segment_rows(info, int(duration / stride) + 1, duration, frames)
    assert max(map(len, rows)) <= rows_per_segment(frames, stride, stride * overlap)


@pytest.mark.parametrize("seconds", [0, -1.0, float("inf"), float("nan")])
def test_a_segment_must_last(seconds):
    with pytest.raises(InputError, match="segment_seconds"):
        init(CONFIG, segment_seconds=seconds)


@pytest.mark.parametrize(
    ("rows", "n_valid", "fraction", "message"),
    [
        (np.zeros((3, 6), np.float32), 1, 1.0, r"shape \(3, 6\)"),
        (np.zeros((4, 5), np.float32), 1, 1.0, r"shape \(4, 5\)"),
        (np.zeros((4, 6), np.float32), 5, 1.0, "n_valid=5"),
        (np.zeros((4, 6), np.float32), -1, 1.0, "n_valid=-1"),
        (np.zeros((4, 6), np.float32), 1, 0.0, "fraction=0.0"),
        (np.zeros((4, 6), np.float32), 1, 1.5, "fraction=1.5"),
        (np.zeros((4, 6), np.float32), 1, float("nan"), "fraction=nan"),
    ],
)
def test_step_refuses_what_does_not_fit(params, rows, n_valid, fraction, message):
    with pytest.raises(InputError, match=message):
        step(params, init(CONFIG), rows, n_valid, fraction)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.zeros((5, 6)), "max_rows=4"),
        (np.zeros((2, 7)), "the model takes"),
        (np.zeros(6), "the model takes"),
        (np.full((1, 6), np.nan), "NaN"),
        (np.full((1, 6), np.inf), "infinite"),
    ],
)
def test_corrupt_rows_are_refused(rows, message):
    with pytest.raises(InputError, match=message):
        pad_rows(CONFIG, rows)


def test_pad_rows_fills_with_zeros_and_takes_no_rows():
    padded, count = pad_rows(CONFIG, np.ones((2, 6)))
    assert (count, padded.dtype, padded.shape) == (2, np.float32, (4, 6))
    assert padded[:2].all()
    assert not padded[2:].any()
    assert pad_rows(CONFIG, [])[1] == 0


def test_flush_has_nothing_left_and_closes_the_stream(params):
    outputs, state = play(params, random_stream(0, [2, 2]))
    last = flush(params, state)
    assert jax.tree.structure(last) == jax.tree.structure(outputs[0])
    assert jax.tree.map(lambda x: (x.shape, x.dtype), last) == jax.tree.map(lambda x: (x.shape, x.dtype), outputs[0])
    assert not np.asarray(last["valid"]).any()
    assert state.segment == 2
    with pytest.raises(RuntimeError, match="flush closed this stream after segment 2"):
        step(params, state, *pad_rows(CONFIG, np.ones((1, 6))))
    with pytest.raises(RuntimeError, match="flush closed"):
        flush(params, state)


def test_a_used_state_is_refused_with_the_reason(params):
    state = init(CONFIG)
    step(params, state, *pad_rows(CONFIG, np.ones((1, 6))))
    with pytest.raises(RuntimeError, match="use the state it returned"):
        step(params, state, *pad_rows(CONFIG, np.ones((1, 6))))
