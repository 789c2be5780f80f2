"""Rows on a clock: which frames make which row, live or offline."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from lvc_jax import backbones
from lvc_jax.backbones.clocked import ClockedExtractor
from lvc_jax.backbones.protocol import RowClock
from lvc_jax.errors import InputError


class Levels(ClockedExtractor):
    """Each row lists the grey levels of its frames, then -1s; the level stands for the frame's number."""

    def __init__(self, stride: float = 0.4, window: float = 0.4):
        self.info = RowClock("levels", 80, stride, window)

    def reduce(self, frame):
        return frame[0, 0]

    def describe(self, times, pictures):
        assert times.shape == (len(pictures),)
        row = np.full(80, -1.0, np.float32)
        row[: len(pictures)] = pictures[:, 0]
        return row


def frame(number: int) -> np.ndarray:
    return np.full((2, 2, 3), number, np.uint8)


def rows_of(extractor, times, duration):
    state, rows, counts = extractor.init(), [], []
    for number, time in enumerate(times):
        state, new = extractor.push(state, time, frame(number))
        rows += new
        counts.append(len(rows))
    return rows + extractor.finish(state, duration), counts


def levels(row) -> list[int]:
    return [int(v) for v in row if v >= 0]


def test_frames_of_each_row():
    rows, counts = rows_of(Levels(), [i / 10 for i in range(10)], 1.0)
    assert [levels(row) for row in rows] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # A row is there with the first frame at or after its end.
    assert counts == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]


def test_overlapping_windows():
    rows, _ = rows_of(Levels(0.2, 0.4), [i / 10 for i in range(8)], 0.8)
    assert [levels(row) for row in rows] == [[0, 1, 2, 3], [2, 3, 4, 5], [4, 5, 6, 7]]


def test_a_window_without_a_frame_holds_the_last_one():
    rows, _ = rows_of(Levels(), [0.0, 1.0, 1.1], 2.0)
    assert [levels(row) for row in rows] == [[0], [0], [1, 2], [2], [2]]


def test_a_video_shorter_than_a_window_has_one_row():
    rows, _ = rows_of(Levels(), [0.0, 0.1], 0.2)
    assert [levels(row) for row in rows] == [[0, 1]]
    assert Levels().finish(Levels().init(), 0.0) == []


@given(
    gaps=st.lists(st.integers(0, 900), max_size=60),
    stride=st.sampled_from([0.2, 0.4, 1.0]),
    cut=st.integers(0, 60),
)
def test_rows_follow_the_definition_and_never_look_ahead(gaps, stride, cut):
    times = [0.0, *(np.cumsum(gaps) / 1000).tolist()]
    duration = times[-1] + 0.1
    extractor = Levels(stride, 0.4 if stride < 0.4 else stride)
    window = extractor.info.window_s
    rows, _ = rows_of(extractor, times, duration)
    assert len(rows) == max(1, int((duration - window + 1e-6) // stride) + 1)
    for i, row in enumerate(rows):
        start, end = i * stride - 1e-6, i * stride + window - 1e-6
        inside = [n for n, time in enumerate(times) if start <= time < end]
        assert levels(row) == (inside or [max(n for n, time in enumerate(times) if time < end)])
    # Other frames from `cut` on leave the rows that ended before it as they are.
    if 0 < cut < len(times):
        changed, _ = rows_of(extractor, [*times[:cut], times[cut], times[cut] + 0.05], times[cut] + 0.1)
        before = sum(i * stride + window <= times[cut] for i in range(len(rows)))
        for a, b in zip(rows[:before], changed[:before]):
            np.testing.assert_array_equal(a, b)


def test_a_push_leaves_the_old_state_as_it_was():
    extractor = Levels()
    state, _ = extractor.push(extractor.init(), 0.0, frame(1))
    first, rows_a = extractor.push(state, 0.5, frame(2))
    second, rows_b = extractor.push(state, 0.5, frame(3))
    np.testing.assert_array_equal(rows_a, rows_b)
    assert levels(extractor.finish(first, 0.8)[0]) == [2]
    assert levels(extractor.finish(second, 0.8)[0]) == [3]


@pytest.mark.parametrize(
    ("time", "picture", "message"),
    [
        (1.0, np.zeros((4, 4), np.uint8), "expected uint8"),
        (1.0, np.zeros((4, 4, 3), np.float32), "expected uint8"),
        (1.0, np.zeros((0, 4, 3), np.uint8), "expected uint8"),
        (-0.1, np.zeros((4, 4, 3), np.uint8), "must not decrease"),
        (float("nan"), np.zeros((4, 4, 3), np.uint8), "finite"),
    ],
)
def test_bad_frames_are_refused(time, picture, message):
    extractor = Levels()
    state, _ = extractor.push(extractor.init(), 0.0, frame(0))
    with pytest.raises(InputError, match=message):
        extractor.push(state, time, picture)


def test_an_unknown_backbone_is_refused():
    with pytest.raises(InputError, match="choose one of colour_moments"):
        backbones.get("resnet")
