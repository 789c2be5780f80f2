"""Frames in, complete segments out: the capturing half of the live program, and the queue between the halves."""

import dataclasses
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from jaxtyping import Float, UInt8

from lvc_jax.backbones import FeatureExtractor
from lvc_jax.data.segments import FRAMES_PER_SECOND, num_segments, row_segments, segment_seconds, segment_span
from lvc_jax.errors import InputError
from lvc_jax.streaming.state import segment_fraction

_TOLERANCE_FRAMES = 1e-6


@dataclasses.dataclass(frozen=True)
class Segment:
    """One complete segment of a stream.

    Attributes:
        index: k.
        rows: feature rows [n, C]; none before the first row of the stream.
        span: start and end in seconds of the stream.
        fraction: length as a part of Δt; below 1 only for the last one.
        ready: `time.monotonic()` when it was complete.
        dropped: true once its rows were given up because captioning was late.
    """

    index: int
    rows: Float[np.ndarray, "n C"]
    span: tuple[float, float]
    fraction: float
    ready: float
    dropped: bool = False


class Capture:
    """Decodes a source, extracts features and cuts them into segments.

    A segment is complete when the first frame at or after its end arrives, so it never waits for more than one frame.
    A segment without a new row holds the last row before it, as in `streaming.offline.live_segments`.

    Attributes:
        frames: pictures taken so far.
        duration_s: length of the stream so far; at the end, up to the end of the last frame.
        busy_s: seconds spent decoding and extracting, waiting for the clock excluded; of a live source extracting only.
        started: `time.monotonic()` at the first frame; None before.
    """

    def __init__(
        self,
        pictures: Iterable[tuple[float, UInt8[np.ndarray, "H W 3"]]],
        extractor: FeatureExtractor,
        segment_frames: int,
        *,
        realtime: bool = False,
        live: bool = False,
        stop: threading.Event | None = None,
    ):
        """Prepares to read `pictures`, (time in seconds, picture) from 0 on.

        Args:
            pictures: see `data.video.frames`.
            extractor: pixels to rows.
            segment_frames: Δt in frames of a nominal 30 per second.
            realtime: hold each picture back until its time has come, as a camera would.
            live: the source keeps its own time (a camera, a network stream). Taking a picture from it is mostly waiting
                until there is one, so that is not counted as busy.
            stop: when set, the stream ends with the picture being processed.
        """
        self._pictures = pictures
        self._extractor = extractor
        self._segment_frames = segment_frames
        self._realtime = realtime
        self._live = live
        self._stop = stop or threading.Event()
        self._rows: dict[int, list[np.ndarray]] = {}
        self._held = np.zeros((0, extractor.info.dim), np.float32)
        self._row_count = 0
        self._next = 0
        self.frames = 0
        self.duration_s = 0.0
        self.busy_s = 0.0
        self.started: float | None = None

    def segments(self) -> Iterator[Segment]:
        """Yields the segments of the stream as they become complete; the last one may be partial.

        Raises:
            InputError: the source fails; what arrived before has been yielded, the partial segment included.
        """
        features, pictures, last = self._extractor.init(), iter(self._pictures), 0.0
        failure: InputError | None = None
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                picture = next(pictures, None)
            except InputError as error:
                failure = error
                break
            if not self._live:
                self.busy_s += time.monotonic() - begun
            if picture is None:
                break
            last = picture[0]
            self.started = self.started or time.monotonic()
            if self._realtime:
                self._stop.wait(max(0.0, self.started + last - time.monotonic()))
            begun = time.monotonic()
            features, rows = self._extractor.push(features, *picture)
            self.busy_s += time.monotonic() - begun
            self._keep(rows)
            self.frames += 1
            self.duration_s = last
            current = int((last * FRAMES_PER_SECOND + _TOLERANCE_FRAMES) // self._segment_frames)
            yield from self._complete(current, current * segment_seconds(self._segment_frames))
        if self.frames:
            self.duration_s = self._end(last)
            self._keep(self._extractor.finish(features, self.duration_s))
            count = num_segments(self.duration_s, self._segment_frames)
            yield from self._complete(count, self.duration_s, final=True)
        if failure is not None:
            raise failure

    def _keep(self, rows: Iterable[np.ndarray]) -> None:
        info = self._extractor.info
        for row in rows:
            end = self._row_count * info.stride_s + info.window_s
            segment = int(row_segments(1, info.stride_s, end, self._segment_frames)[0])
            self._rows.setdefault(segment, []).append(np.asarray(row, np.float32))
            self._row_count += 1

    def _complete(self, count: int, duration: float, *, final: bool = False) -> Iterator[Segment]:
        """Yields the segments before segment `count`; at the end of the stream the last one takes all rows left."""
        whole = segment_seconds(self._segment_frames)
        while self._next < count:
            k = self._next
            self._next += 1
            taken = [index for index in sorted(self._rows) if index <= k or (final and k == count - 1)]
            own = [row for index in taken for row in self._rows.pop(index)]
            rows = np.stack(own) if own else self._held
            self._held = rows[-1:]
            span = segment_span(k, self._segment_frames, duration)
            yield Segment(k, rows, span, segment_fraction(span, whole), time.monotonic())

    def _end(self, last: float) -> float:
        """When the last frame ends, by the mean interval; a boundary within half a frame before that is the end."""
        whole = segment_seconds(self._segment_frames)
        interval = last / (self.frames - 1) if self.frames > 1 and last > 0 else 1 / FRAMES_PER_SECOND
        end = last + interval
        boundary = round(end / whole) * whole
        return boundary if last < boundary < end < boundary + interval / 2 else end


class SegmentQueue:
    """Carries segments from the capturing thread to the captioning one.

    At most `capacity` segments wait. When one more is complete, capture waits for room (`drop` false: files at full
    speed lose nothing), or the oldest waiting segment is dropped whole (`drop` true: a live stream cannot wait, and the
    newest segment matters most). A dropped segment keeps its place without rows, so that the clock of the stream goes
    on.
    """

    def __init__(self, capacity: int, *, drop: bool):
        self._capacity = capacity
        self._drop = drop
        self._items: deque[Segment] = deque()
        self._waiting = 0
        self._closed = False
        self._error: BaseException | None = None
        self._changed = threading.Condition()

    def put(self, segment: Segment) -> bool:
        """Appends a segment; false when the queue was closed instead."""
        with self._changed:
            while not self._drop and self._waiting >= self._capacity and not self._closed:
                self._changed.wait()
            if self._closed:
                return False
            if self._waiting >= self._capacity:
                oldest = next(i for i, item in enumerate(self._items) if not item.dropped)
                item = self._items[oldest]
                self._items[oldest] = dataclasses.replace(item, rows=item.rows[:0], dropped=True)
                self._waiting -= 1
            self._items.append(segment)
            self._waiting += 1
            self._changed.notify_all()
            return True

    def get(self, give_up: Callable[[], bool] = lambda: False) -> Segment | None:
        """The next segment, waiting for it; None at the end of the stream, or when `give_up` says so.

        Raises:
            BaseException: what the capturing thread failed with, after the segments before it.
        """
        with self._changed:
            while not self._items and not self._closed:
                if give_up():
                    return None
                self._changed.wait(timeout=0.1)
            if self._items:
                segment = self._items.popleft()
                self._waiting -= not segment.dropped
                self._changed.notify_all()
                return segment
            if self._error is not None:
                raise self._error
            return None

    def close(self, error: BaseException | None = None) -> None:
        """Ends the stream: what waits can still be taken; then `get` returns None or raises `error`."""
        with self._changed:
            self._closed = True
            self._error = error
            self._changed.notify_all()
