"""One training sample: the window of features that ends with segment k, and the events of segment k.

The window is the last M segments, fewer at the start of the video; its rows are resampled to T. Boxes are (centre,
length) in fractions of the window. Events are clipped to the current segment. In mode "video" the one segment is the
whole video.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.data import segments
from lvc_jax.data.datasets.records import References, VideoRecord
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.vocabulary import Vocabulary
from lvc_jax.errors import InputError
from lvc_jax.models.resample import resample_indices

# Comparisons on the grid are made in frames, with the tolerance of lvc_jax.data.segments.
_TOLERANCE_FRAMES = 1e-6


@dataclasses.dataclass(frozen=True)
class SampleConfig:
    """How a (video, k, Δt) becomes arrays.

    Attributes:
        segment_frames: the Δt to draw from, in frames at 30 per second; not used in mode "video".
        memory: M, segments in the window, the current one included.
        num_frames: T, rows of a window after resampling.
        max_events: G, event slots; of more events the G that overlap the segment longest are kept.
        max_len: W, tokens of a caption, begin and end included.
        silent_share: share of samples without an event, where the videos allow it; None draws segments uniformly.
        mode: "segment" (live) or "video" (the window is the whole video).
        max_count: the count target is min(number of events, max_count).
    """

    segment_frames: tuple[int, ...] = (150,)
    memory: int = 1
    num_frames: int = 100
    max_events: int = 10
    max_len: int = 30
    silent_share: float | None = None
    mode: Literal["segment", "video"] = "segment"
    max_count: int = 10

    def __post_init__(self) -> None:
        if self.mode not in ("segment", "video"):
            raise InputError(f"mode={self.mode!r}: choose segment or video")
        if self.mode == "segment" and not self.segment_frames:
            raise InputError("segment_frames is empty: give at least one Δt in frames at 30 per second")
        for frames in self.segment_frames:
            segments.segment_seconds(frames)
        for name in ("memory", "num_frames", "max_events", "max_count"):
            if getattr(self, name) < 1:
                raise InputError(f"{name}={getattr(self, name)}: must be at least 1")
        if self.max_len < 3:
            raise InputError(f"max_len={self.max_len}: must be at least 3 (begin, a word, end)")
        if self.silent_share is not None and not 0 <= self.silent_share <= 1:
            raise InputError(f"silent_share={self.silent_share}: must be between 0 and 1")


class Window(NamedTuple):
    """Feature rows of a window, its span and the span of its last segment, in seconds."""

    rows: Int[np.ndarray, " n"]
    start: float
    end: float
    segment_start: float
    segment_end: float


class Targets(NamedTuple):
    """Events of one video: times in seconds and captions as token ids."""

    starts: Float[np.ndarray, " n"]
    ends: Float[np.ndarray, " n"]
    tokens: Int[np.ndarray, "n W"]


def encode_targets(references: References, vocab: Vocabulary, max_len: int) -> Targets:
    """The first reference set of a video as arrays."""
    events = references[0]
    tokens = [vocab.encode(event.sentence, max_len) for event in events]
    return Targets(
        np.array([event.start for event in events], np.float64),
        np.array([event.end for event in events], np.float64),
        np.array(tokens, np.int32).reshape(len(events), max_len),
    )


def whole_video_frames(duration: float) -> int:
    """The Δt, in frames, that makes one segment of a whole video."""
    return max(1, math.ceil(duration * segments.FRAMES_PER_SECOND - _TOLERANCE_FRAMES))


def cut_window(info: FeatureInfo, n_rows: int, duration: float, k: int, segment_frames: int, memory: int) -> Window:
    """The window that ends with segment `k`.

    Rows are those of `segments.segment_rows` for the window's segments, without walking through the other segments of
    the video: it is called once a sample.
    """
    first = max(0, k - memory + 1)
    segment_start, end = segments.segment_span(k, segment_frames, duration)
    row_starts = np.arange(n_rows) * (info.stride_s * segments.FRAMES_PER_SECOND)
    inside = int(np.searchsorted(row_starts, duration * segments.FRAMES_PER_SECOND - _TOLERANCE_FRAMES))
    inside = min(max(inside, 1), n_rows)
    owners = segments.row_segments(inside, info.stride_s, info.window_s, segment_frames)
    bounds = np.searchsorted(owners, np.arange(first, k + 2))
    if end >= duration:  # a row that ends after the video belongs to the last segment
        bounds[-1] = inside
    if (np.diff(bounds) > 0).all():
        rows = np.arange(bounds[0], bounds[-1], dtype=np.int32)
    else:  # a segment in which no row ends holds the one before it, if there is one
        parts = [np.arange(a - (a == b and a > 0), b) for a, b in itertools.pairwise(bounds)]
        rows = np.concatenate(parts).astype(np.int32)
    return Window(rows, first * segments.segment_seconds(segment_frames), end, segment_start, end)


@functools.lru_cache(maxsize=4096)
def _places(length: int, num_frames: int) -> Int[np.ndarray, " T"]:
    return np.asarray(resample_indices(length, num_frames))


def fill(
    out: dict[str, Any],
    features: Float[np.ndarray, "L C"],
    info: FeatureInfo,
    duration: float,
    targets: Targets,
    k: int,
    segment_frames: int,
    cfg: SampleConfig,
) -> None:
    """Writes one sample into zeroed arrays; see `make_sample` for their names and shapes.

    Raises:
        IndexError: if the video has no segment `k`.
    """
    if cfg.mode == "video":
        k, segment_frames = 0, whole_video_frames(duration)
    window = cut_window(info, len(features), duration, k, segment_frames, cfg.memory)
    if len(window.rows):  # none before the first row of the video; the features stay zero, as in a stream
        out["features"][...] = features[window.rows[_places(len(window.rows), cfg.num_frames)]]
    out["duration"][...] = window.end - window.start
    starts, ends = _clip(targets, k, segment_frames, window)
    chosen = np.flatnonzero(ends > starts)
    out["count"][...] = min(len(chosen), cfg.max_count)
    if len(chosen) > cfg.max_events:
        lengths = np.round((ends - starts)[chosen], 6)  # to a microsecond, so that ties are ties
        chosen = np.sort(chosen[np.argsort(-lengths, kind="stable")[: cfg.max_events]])
    n = len(chosen)
    if n:
        spans = np.stack([starts[chosen], ends[chosen]], axis=-1)
        out["boxes"][:n] = segments.spans_to_boxes(segments.to_fractions(spans, window.start, window.end))
        out["tokens"][:n] = targets.tokens[chosen]
        out["mask"][:n] = True


def _clip(targets: Targets, k: int, segment_frames: int, window: Window) -> tuple[np.ndarray, np.ndarray]:
    """Events clipped to segment k, by the rule of `segments.cut`; those outside it end where they start or before."""
    first, last = event_segments(targets.starts, targets.ends, segment_frames)
    # Boundaries are compared as segment indices, so that float noise never leaves a sliver of a neighbour's event.
    starts = np.where(first == k, targets.starts, window.segment_start)
    ends = np.where(last == k, targets.ends, window.segment_end)
    return starts, np.where((first <= k) & (k <= last), ends, starts)


def event_segments(
    starts: Float[np.ndarray, " n"], ends: Float[np.ndarray, " n"], segment_frames: int
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
    """First and last segment of each event, as `segments.cut` counts them."""
    scale = segments.FRAMES_PER_SECOND
    last = np.maximum(np.ceil((ends * scale - _TOLERANCE_FRAMES) / segment_frames).astype(np.int64) - 1, 0)
    first = np.floor((starts * scale + _TOLERANCE_FRAMES) / segment_frames).astype(np.int64)
    return np.minimum(first, last), last


def empty(batch: Sequence[int], dim: int, cfg: SampleConfig) -> dict[str, np.ndarray]:
    """Zeroed arrays of samples with the leading shape `batch`."""
    batch, slots = tuple(batch), cfg.max_events
    return {
        "features": np.zeros((*batch, cfg.num_frames, dim), np.float32),
        "duration": np.zeros(batch, np.float32),
        "boxes": np.zeros((*batch, slots, 2), np.float32),
        "tokens": np.zeros((*batch, slots, cfg.max_len), np.int32),
        "mask": np.zeros((*batch, slots), bool),
        "count": np.zeros(batch, np.int32),
    }


def make_sample(
    record: VideoRecord, k: int, segment_frames: int, cfg: SampleConfig, vocab: Vocabulary
) -> dict[str, np.ndarray]:
    """The sample (video, k, Δt).

    Args:
        record: the video.
        k: current segment, from 0; ignored in mode "video".
        segment_frames: Δt in frames at 30 per second; ignored in mode "video".
        cfg: shapes and mode.
        vocab: encodes the captions.

    Returns:
        features float32 [T, C]; duration float32 [], the window's seconds; boxes float32 [G, 2], (centre, length) in
        fractions of the window; tokens int32 [G, W]; mask bool [G], real events first; count int32 [].
    """
    out = empty((), record.info.dim, cfg)
    targets = encode_targets(record.references, vocab, cfg.max_len)
    fill(out, record.features, record.info, record.duration, targets, k, segment_frames, cfg)
    return out
