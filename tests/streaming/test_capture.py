"""Frames into segments: on time, on the grid, the same rows as offline; and the queue's drop policy."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.backbones.clocked import ClockedExtractor
from lvc_jax.backbones.protocol import RowClock
from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.errors import InputError
from lvc_jax.streaming.capture import Capture, Segment, SegmentQueue
from lvc_jax.streaming.offline import live_segments


class MeanExtractor(ClockedExtractor):
    """One number a window: the mean of its pictures."""

    def __init__(self, stride_s, window_s):
        self.info = RowClock("mean", 1, stride_s, window_s)

    def reduce(self, frame):
        return frame[:1, :1]

    def describe(self, times, pictures):
        return np.array([pictures.mean()], np.float32)


def pictures(count, rate=30.0):
    for i in range(count):
        yield i / rate, np.full((2, 2, 3), i % 251, np.uint8)


def features(extractor, frames, duration):
    state, rows = extractor.init(), []
    for item in frames:
        state, new = extractor.push(state, *item)
        rows += new
    return np.stack(rows + extractor.finish(state, duration))


@given(
    count=st.integers(1, 200),
    rate=st.sampled_from([30.0, 29.97, 25.0, 10.0, 60.0]),
    clock=st.sampled_from([(0.4, 0.4), (1.0, 1.0), (0.25, 0.5), (0.8, 0.4)]),
    segment_frames=st.sampled_from([12, 24, 48]),
)
def test_segments_are_those_of_the_recorded_video(count, rate, clock, segment_frames):
    extractor = MeanExtractor(*clock)
    capture = Capture(pictures(count, rate), extractor, segment_frames)
    segments = list(capture.segments())
    interval = 1 / rate if count > 1 else 1 / 30
    assert capture.duration_s == pytest.approx((count - 1) / rate + interval, abs=interval / 2)
    info = FeatureInfo("mean", 1, *clock)
    rows = features(extractor, pictures(count, rate), capture.duration_s)
    expected = live_segments(rows, info, capture.duration_s, segment_frames)
    assert [segment.index for segment in segments] == list(range(len(expected)))
    for segment, own in zip(segments, expected, strict=True):
        np.testing.assert_array_equal(segment.rows, own)
    assert segments[-1].span[1] == capture.duration_s
    assert all(segment.fraction == 1 for segment in segments[:-1])
    whole = segment_frames / 30
    assert segments[-1].fraction == pytest.approx((capture.duration_s - (len(segments) - 1) * whole) / whole)


def test_timeliness_a_segment_leaves_with_the_first_frame_after_it():
    taken = []

    def counted():
        for time_s, picture in pictures(60):
            taken.append(time_s)
            yield time_s, picture

    segments = Capture(counted(), MeanExtractor(0.4, 0.4), 24).segments()
    next(segments)
    assert taken[-1] == pytest.approx(0.8)
    next(segments)
    assert taken[-1] == pytest.approx(1.6)


def test_a_gap_in_the_stream_gives_segments_that_hold_the_last_row():
    frames = [(0.0, 1), (0.5, 2), (5.0, 3), (5.1, 4)]
    stream = ((time_s, np.full((2, 2, 3), value, np.uint8)) for time_s, value in frames)
    segments = list(Capture(stream, MeanExtractor(0.5, 0.5), 30).segments())
    assert [segment.index for segment in segments] == list(range(7))
    assert [segment.span for segment in segments[:6]] == [(k, k + 1) for k in range(6)]
    assert all(len(segment.rows) for segment in segments)


def test_stop_ends_the_stream_with_what_is_there():
    stop = threading.Event()

    def endless():
        for i, item in enumerate(pictures(10_000)):
            if i == 40:
                stop.set()
            yield item

    capture = Capture(endless(), MeanExtractor(0.4, 0.4), 24, stop=stop)
    segments = list(capture.segments())
    assert len(segments) == 2
    assert capture.frames == 41
    assert segments[-1].span[1] == pytest.approx(41 / 30)


def test_realtime_holds_pictures_back_until_their_time():
    begun = time.monotonic()
    capture = Capture(pictures(10), MeanExtractor(0.1, 0.1), 3, realtime=True)
    assert len(list(capture.segments())) == 4
    assert time.monotonic() - begun >= 0.3
    assert capture.busy_s < 0.3


@pytest.mark.parametrize("live", [True, False])
def test_waiting_for_the_next_picture_of_a_live_source_is_not_busy(live):
    def slow():
        for item in pictures(6):
            time.sleep(1 / 30)
            yield item

    capture = Capture(slow(), MeanExtractor(0.1, 0.1), 3, live=live)
    assert len(list(capture.segments())) == 2
    assert capture.busy_s > 0
    assert (capture.busy_s < capture.duration_s / 2) == live


def test_a_source_that_fails_gives_the_partial_segment_first():
    def torn():
        yield from pictures(30)
        raise InputError("camera unplugged")

    capture = Capture(torn(), MeanExtractor(0.4, 0.4), 24)
    segments = capture.segments()
    assert [next(segments).span, next(segments).span] == [(0, 0.8), (0.8, pytest.approx(1.0))]
    with pytest.raises(InputError, match="unplugged"):
        next(segments)


def segment(index):
    return Segment(index, np.ones((2, 1), np.float32), (index, index + 1), 1.0, 0.0)


def test_a_full_queue_drops_the_oldest_waiting_segment_whole_and_keeps_its_place():
    queue = SegmentQueue(2, drop=True)
    for index in range(5):
        assert queue.put(segment(index))
    queue.close()
    taken = [queue.get() for _ in range(5)]
    assert [item.index for item in taken] == [0, 1, 2, 3, 4]
    assert [item.dropped for item in taken] == [True, True, True, False, False]
    assert [len(item.rows) for item in taken] == [0, 0, 0, 2, 2]
    assert queue.get() is None


def test_a_queue_that_may_not_drop_holds_capture_back():
    queue = SegmentQueue(2, drop=False)
    put = []

    def fill():
        for index in range(4):
            queue.put(segment(index))
            put.append(index)

    thread = threading.Thread(target=fill)
    thread.start()
    time.sleep(0.1)
    assert put == [0, 1]
    assert [queue.get().index for _ in range(4)] == [0, 1, 2, 3]
    thread.join()


def test_a_failure_of_the_source_comes_after_the_segments_before_it():
    queue = SegmentQueue(2, drop=False)
    queue.put(segment(0))
    queue.close(InputError("camera unplugged"))
    assert queue.get().index == 0
    with pytest.raises(InputError, match="unplugged"):
        queue.get()
    assert not queue.put(segment(1))
