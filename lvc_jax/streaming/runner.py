"""The live loop: one thread captures, the calling one captions (Live Video Captioning paper, section 4.6)."""

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from lvc_jax.models import prepare
from lvc_jax.outputs.predictions import Item
from lvc_jax.streaming.capture import Capture, Segment, SegmentQueue
from lvc_jax.streaming.items import Decode, caption_items
from lvc_jax.streaming.state import StreamConfig, init
from lvc_jax.streaming.step import flush, pad_rows, step

WAITING_SEGMENTS = 2  # complete segments that may wait for the captioner
STOP_GRACE_S = 2.0  # how long a source that has stopped delivering may hold up the end

OnCaptions = Callable[[Segment, list[Item], float], None]


@dataclasses.dataclass
class Summary:
    """How a live run went.

    Attributes:
        segments: segments taken, dropped ones included.
        captions: captions emitted.
        dropped_segments: segments given up because captioning was late.
        duration_s: length of the stream in seconds.
        real_time_factor: seconds of computing (decoding, features, steps) per second of the stream; the live program
            keeps up below 1. Capture and captioning overlap, so this is the larger, careful figure. Decoding is left
            out for live sources, where it cannot be told from waiting for the next picture. None for no stream.
        step_latency_p50_s, step_latency_p95_s: from a segment's rows to its captions on the host; None without a step.
        caption_delay_p95_s: from a segment's completion to its captions, waiting included.
        time_to_first_caption_s: from the first frame's arrival to the first caption, so without the start of the
            program and without `warm_up_s`; None without a caption.
        warm_up_s: what compiling the step (or reading the compiled one back) took before the source was read; None
            without `warm_up`.
    """

    segments: int = 0
    captions: int = 0
    dropped_segments: int = 0
    duration_s: float = 0.0
    real_time_factor: float | None = None
    step_latency_p50_s: float | None = None
    step_latency_p95_s: float | None = None
    caption_delay_p95_s: float | None = None
    time_to_first_caption_s: float | None = None
    warm_up_s: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for summary.json."""
        return dataclasses.asdict(self)


def warm_up(params: Any, config: StreamConfig, summary: Summary | None = None) -> Any:
    """Compiles the step, so that the first segment of a stream does not wait for it.

    Returns:
        The parameters, prepared for captioning (`models.prepare`): what `run` should be given. The seconds that it all
        took go into `summary`.
    """
    begun = time.monotonic()
    params = prepare(config.model, params)
    rows = np.zeros((config.max_rows, config.model.feature_dim), np.float32)
    jax.block_until_ready(step(params, init(config, params), rows, 1))
    if summary is not None:
        summary.warm_up_s = time.monotonic() - begun
    return params


def run(
    params: Any,
    config: StreamConfig,
    capture: Capture,
    on_captions: OnCaptions,
    *,
    decode: Decode | None = None,
    drop: bool = False,
    stop: threading.Event | None = None,
    summary: Summary | None = None,
) -> Summary:
    """Captions a stream until it ends or `stop` is set.

    Args:
        params: parameters of the model, from `warm_up` if the stream shall not wait for it.
        config: the stream's constants; `segment_frames` must be the capture's.
        capture: the source; it is read in a thread of its own.
        on_captions: called in the calling thread as soon as a segment's captions exist, with the segment, its captions
            (possibly none) and the seconds since the segment was complete.
        decode: token ids to a sentence.
        drop: drop whole segments when captioning is late (`SegmentQueue`) instead of holding capture back.
        stop: the event that `capture` was made with; set it to end the stream early and cleanly.
        summary: a fresh one to fill in and return: the caller has it also when the stream ends in an error.

    Raises:
        InputError: the source fails (after the captions of all that arrived before) or delivers features that are not
            finite.
    """
    params = prepare(config.model, params)
    queue = SegmentQueue(WAITING_SEGMENTS, drop=drop)
    threading.Thread(target=_feed, args=(capture, queue), name="capture", daemon=True).start()
    patience = _Patience(stop)
    summary, state = summary or Summary(), init(config, params)
    latencies: list[float] = []
    delays: list[float] = []
    try:
        while (segment := queue.get(patience)) is not None:
            begun = time.monotonic()
            rows, n_valid = pad_rows(config, segment.rows)
            state, captions = step(params, state, rows, n_valid, segment.fraction)
            items = caption_items(jax.device_get(captions), segment.index, segment.span, decode)
            done = time.monotonic()
            summary.segments += 1
            summary.captions += len(items)
            summary.dropped_segments += segment.dropped
            if not segment.dropped:
                latencies.append(done - begun)
                delays.append(done - segment.ready)
            if items and summary.time_to_first_caption_s is None and capture.started is not None:
                summary.time_to_first_caption_s = done - capture.started
            on_captions(segment, items, done - segment.ready)
    finally:
        queue.close()
        _measure(summary, capture, latencies, delays)
    flush(params, state)
    return summary


def _measure(summary: Summary, capture: Capture, latencies: list[float], delays: list[float]) -> None:
    summary.duration_s = capture.duration_s
    if capture.duration_s > 0:
        summary.real_time_factor = (capture.busy_s + sum(latencies)) / capture.duration_s
    if latencies:
        summary.step_latency_p50_s, summary.step_latency_p95_s = map(float, np.percentile(latencies, [50, 95]))
        summary.caption_delay_p95_s = float(np.percentile(delays, 95))


def _feed(capture: Capture, queue: SegmentQueue) -> None:
    try:
        for segment in capture.segments():
            if not queue.put(segment):
                return
    except BaseException as error:  # handed over: the captioning thread raises it
        queue.close(error)
    else:
        queue.close()


class _Patience:
    """Tells how long to wait for a source after `stop`: it may be blocked on a camera that delivers nothing."""

    def __init__(self, stop: threading.Event | None):
        self._stop = stop
        self._since: float | None = None

    def __call__(self) -> bool:
        if self._stop is None or not self._stop.is_set():
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since > STOP_GRACE_S
