"""The absolute grid of segments: segment k of Δt seconds is [kΔt, (k+1)Δt), decided by timestamps.

A segment length is given in frames at a nominal 30 per second, whatever the rate of the file. Boundaries are compared
in those frame units with a tolerance, so that decimals such as 0.8 s never fall on the wrong side by float noise.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.data.annotations import Event
from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.errors import InputError

FRAMES_PER_SECOND = 30
_TOLERANCE_FRAMES = 1e-6


class Piece(NamedTuple):
    """The part of an event that lies in one segment: times in seconds, the whole sentence, the index of its event."""

    segment: int
    start: float
    end: float
    sentence: str
    event_index: int


def segment_seconds(segment_frames: int) -> float:
    """Returns Δt in seconds.

    Raises:
        InputError: if `segment_frames` is not a positive whole number.
    """
    if isinstance(segment_frames, bool) or segment_frames != int(segment_frames) or segment_frames < 1:
        raise InputError(f"segment_frames: {segment_frames!r} is not a positive whole number of frames (30 a second)")
    return segment_frames / FRAMES_PER_SECOND


def num_segments(duration: float, segment_frames: int) -> int:
    """Number of segments that cover [0, duration) seconds; at least 1; the last one may be partial."""
    segment_seconds(segment_frames)
    return max(1, _last_before(duration, segment_frames) + 1)


def segment_span(k: int, segment_frames: int, duration: float) -> tuple[float, float]:
    """Start and end of segment `k` in seconds; the last segment ends with the video."""
    step = segment_seconds(segment_frames)
    last = num_segments(duration, segment_frames) - 1
    if not 0 <= k <= last:
        raise IndexError(f"segment {k} of a video with {last + 1}")
    return k * step, duration if k == last else (k + 1) * step


def cut(events: Sequence[Event], duration: float, segment_frames: int) -> list[Piece]:
    """Cuts events on the grid.

    Pieces keep the original start and end of their event and its whole sentence; events that overlap in time each give
    their own pieces (the split annotations of the Live Video Captioning paper).

    Args:
        events: in seconds; what lies outside [0, duration] is left out.
        duration: of the video in seconds.
        segment_frames: Δt in frames at 30 per second.

    Returns:
        Pieces ordered by event, then time.
    """
    step = segment_seconds(segment_frames)
    pieces = []
    for index, event in enumerate(events):
        start, end = max(event.start, 0.0), min(event.end, duration)
        if start >= end:
            continue
        last = max(0, _last_before(end, segment_frames))
        first = min(_first_at(start, segment_frames), last)
        for k in range(first, last + 1):
            piece_start = start if k == first else k * step
            piece_end = end if k == last else (k + 1) * step
            pieces.append(Piece(k, piece_start, piece_end, event.sentence, index))
    return pieces


def row_segments(n_rows: int, stride_s: float, window_s: float, segment_frames: int) -> Int[np.ndarray, " n"]:
    """Segment of each feature row: the one that holds the end of [i·stride, i·stride + window).

    The end is exclusive: a row that ends on a boundary was seen entirely before it and belongs to the earlier segment.
    """
    segment_seconds(segment_frames)
    ends = (np.arange(n_rows, dtype=np.float64) * stride_s + window_s) * FRAMES_PER_SECOND
    indices = np.ceil((ends - _TOLERANCE_FRAMES) / segment_frames).astype(np.int32) - 1
    return np.maximum(indices, 0)


def segment_rows(info: FeatureInfo, n_rows: int, duration: float, segment_frames: int) -> list[Int[np.ndarray, " n"]]:
    """Feature rows of every segment of a video.

    A row that ends after the video belongs to the last segment; one that starts after it belongs to none. A segment in
    which no row ends holds the last row before it. Segments before the first row have none: a stream cannot hold a row
    from its future.

    Args:
        info: clock of the features.
        n_rows: rows of this video, at least 1.
        duration: of the video in seconds.
        segment_frames: Δt in frames at 30 per second.

    Returns:
        One int32 array of row indices per segment; only leading ones can be empty.

    Raises:
        InputError: if there is no row.
    """
    if n_rows < 1:
        raise InputError("features: 0 rows; extract the features of this video again")
    count = num_segments(duration, segment_frames)
    starts = np.arange(n_rows) * info.stride_s * FRAMES_PER_SECOND
    inside = int(np.searchsorted(starts, duration * FRAMES_PER_SECOND - _TOLERANCE_FRAMES))
    inside = min(max(inside, 1), n_rows)
    segments = np.minimum(row_segments(inside, info.stride_s, info.window_s, segment_frames), count - 1)
    bounds = np.searchsorted(segments, np.arange(count + 1))
    rows = []
    for k in range(count):
        first, stop = int(bounds[k]), int(bounds[k + 1])
        held = first == stop and first > 0
        rows.append(np.arange(first - held, stop, dtype=np.int32))
    return rows


def to_fractions(seconds: Float[np.ndarray, "*n"], start: float, end: float) -> Float[np.ndarray, "*n"]:
    """Times in seconds as fractions of the window [start, end]."""
    return (np.asarray(seconds, np.float64) - start) / (end - start)


def to_seconds(fractions: Float[np.ndarray, "*n"], start: float, end: float) -> Float[np.ndarray, "*n"]:
    """Fractions of the window [start, end] as times in seconds; the inverse of `to_fractions`."""
    return start + np.asarray(fractions, np.float64) * (end - start)


def spans_to_boxes(spans: Float[np.ndarray, "*n 2"]) -> Float[np.ndarray, "*n 2"]:
    """(start, end) as (centre, length), in any unit."""
    spans = np.asarray(spans)
    return np.stack([spans.mean(-1), spans[..., 1] - spans[..., 0]], axis=-1)


def _last_before(seconds: float, segment_frames: int) -> int:
    """Index of the segment that ends at or holds what ends at `seconds` (exclusive)."""
    return math.ceil((seconds * FRAMES_PER_SECOND - _TOLERANCE_FRAMES) / segment_frames) - 1


def _first_at(seconds: float, segment_frames: int) -> int:
    """Index of the segment that holds `seconds` (inclusive)."""
    return math.floor((seconds * FRAMES_PER_SECOND + _TOLERANCE_FRAMES) / segment_frames)
