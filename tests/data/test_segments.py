"""The grid of segments: covering, order and boundaries."""

import itertools

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from lvc_jax.data import segments
from lvc_jax.data.annotations import Event
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError

FRAMES = st.sampled_from([1, 7, 16, 24, 48, 72, 96, 120, 150, 1001])
# Hundredths of a second, as real files have them, and arbitrary floats.
TIMES = st.one_of(st.integers(0, 30_000).map(lambda n: n / 100), st.floats(0, 300))
NOISE = 1e-6


def _covers(k, low, high, duration, segment_frames):
    start, end = segments.segment_span(k, segment_frames, duration)
    return start - NOISE <= low <= high <= end + NOISE


@given(duration=TIMES.filter(lambda d: d > 0), segment_frames=FRAMES)
def test_segments_tile_the_video(duration, segment_frames):
    spans = [
        segments.segment_span(k, segment_frames, duration)
        for k in range(segments.num_segments(duration, segment_frames))
    ]
    assert spans[0][0] == 0
    assert spans[-1][1] == duration
    assert all(a[1] == b[0] for a, b in itertools.pairwise(spans))
    assert all(0 < end - start <= segment_frames / 30 + NOISE for start, end in spans)


@given(bounds=st.tuples(TIMES, TIMES), duration=TIMES.filter(lambda d: d > 0), segment_frames=FRAMES)
def test_pieces_cover_the_event_exactly(bounds, duration, segment_frames):
    start, end = sorted(bounds)
    pieces = segments.cut([Event(start, end, "a")], duration, segment_frames)
    low, high = max(start, 0), min(end, duration)
    if low >= high:
        assert not pieces
        return
    assert pieces[0].start == low
    assert pieces[-1].end == high
    assert all(a.end == b.start and a.segment + 1 == b.segment for a, b in itertools.pairwise(pieces))
    assert all(_covers(p.segment, p.start, p.end, duration, segment_frames) for p in pieces)
    if high - low > NOISE:
        assert all(p.end - p.start > NOISE / 30 for p in pieces)


def test_overlapping_events_keep_their_own_pieces():
    events = [Event(0.5, 2.0, "a"), Event(0.9, 1.1, "b")]
    assert segments.cut(events, 1.9, 30) == [
        (0, 0.5, 1.0, "a", 0),
        (1, 1.0, 1.9, "a", 0),
        (0, 0.9, 1.0, "b", 1),
        (1, 1.0, 1.1, "b", 1),
    ]


def test_a_boundary_written_in_decimals_is_a_boundary():
    for k in range(1, 400):
        boundary = round(0.8 * k, 2)
        assert segments.num_segments(boundary, 24) == k
        (piece,) = segments.cut([Event(round(0.8 * (k - 1), 2), boundary, "a")], 1000.0, 24)
        assert piece.segment == k - 1


@pytest.mark.parametrize(
    ("duration", "segment_frames", "count"),
    [(0.01, 150, 1), (5.0, 150, 1), (5.01, 150, 2), (0.8, 24, 1), (2.4, 24, 3), (118, 150, 24)],
)
def test_num_segments(duration, segment_frames, count):
    assert segments.num_segments(duration, segment_frames) == count


def test_a_row_that_ends_on_a_boundary_belongs_to_the_earlier_segment():
    np.testing.assert_array_equal(segments.row_segments(6, 0.8, 0.8, 24), range(6))
    np.testing.assert_array_equal(segments.row_segments(6, 1.0, 1.0, 60), [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(segments.row_segments(4, 1.0, 1.5, 30), [1, 2, 3, 4])
    assert segments.row_segments(3, 1.0, 1.0, 30).dtype == np.int32


def _rows_by_definition(info, n_rows, duration, segment_frames):
    """Row by row, in seconds: the first segment whose end is not before the row's end, the last one for late rows."""
    spans = [
        segments.segment_span(k, segment_frames, duration)
        for k in range(segments.num_segments(duration, segment_frames))
    ]
    rows = [[] for _ in spans]
    for i in range(n_rows):
        start = i * info.stride_s
        if i and start >= duration - NOISE / 30:
            break
        ends = [k for k, (_, end) in enumerate(spans) if start + info.window_s <= end + NOISE / 30]
        rows[ends[0] if ends else -1].append(i)
    last = []
    for one in rows:
        one[:] = one or last
        last = one[-1:]
    return rows


@given(
    n_rows=st.integers(1, 60),
    stride=st.sampled_from([0.04, 0.5, 0.8, 16 / 15, 1.0, 1.0667]),
    overlap=st.sampled_from([0.5, 1, 2, 4]),
    segment_frames=FRAMES,
    duration=TIMES.filter(lambda d: d > 0.1),
)
def test_segment_rows_follow_the_clock(n_rows, stride, overlap, segment_frames, duration):
    info = FeatureInfo("x", 4, stride, stride * overlap)
    rows = segments.segment_rows(info, n_rows, duration, segment_frames)
    assert [r.tolist() for r in rows] == _rows_by_definition(info, n_rows, duration, segment_frames)
    assert all(r.dtype == np.int32 for r in rows)


def test_slow_features_hold_their_last_row():
    info = FeatureInfo("x", 4, 1.0, 1.0)
    rows = segments.segment_rows(info, 3, 3.0, 24)
    assert [r.tolist() for r in rows] == [[], [0], [1], [2]]
    assert [r.tolist() for r in segments.segment_rows(info, 9, 2.5, 150)] == [[0, 1, 2]]


def test_no_rows_is_an_error():
    with pytest.raises(InputError, match="0 rows"):
        segments.segment_rows(FeatureInfo("x", 4, 1.0, 1.0), 0, 3.0, 24)


@pytest.mark.parametrize("segment_frames", [0, -24, 2.5, True])
def test_segment_frames_must_be_a_whole_number(segment_frames):
    with pytest.raises(InputError, match="segment_frames"):
        segments.segment_seconds(segment_frames)


def test_no_such_segment():
    with pytest.raises(IndexError):
        segments.segment_span(2, 30, 2.0)


@given(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1),
    st.floats(0, 1e4),
    st.floats(1e-2, 1e4),
)
def test_fractions_and_seconds_are_inverse(fractions, start, length):
    fractions = np.array(fractions)
    seconds = segments.to_seconds(fractions, start, start + length)
    assert seconds.min() >= start
    np.testing.assert_allclose(segments.to_fractions(seconds, start, start + length), fractions, atol=1e-9)
    boxes = segments.spans_to_boxes(fractions)
    centre, length = boxes.T
    np.testing.assert_allclose(np.stack([centre - length / 2, centre + length / 2], -1), fractions, atol=1e-12)


def test_boxes_are_centre_and_length():
    np.testing.assert_allclose(segments.spans_to_boxes([[0.2, 0.6]]), [[0.4, 0.4]])
