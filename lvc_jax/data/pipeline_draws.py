"""Which segment of a video a sample shows: Δt uniform over its set, then k with the configured share of silence."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lvc_jax.data import segments
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.pipeline_samples import SampleConfig, event_segments


class Draw(NamedTuple):
    """A sample to make: index of the video, segment k, Δt in frames at 30 per second."""

    video: int
    k: int
    segment_frames: int


class _Grid(NamedTuple):
    """All videos cut at one Δt: where each begins in `silent`, which segments are silent, how often to draw one.

    `first` is the first segment in which a feature row ends; earlier ones have nothing to show and are not drawn.
    """

    offsets: np.ndarray
    silent: np.ndarray
    silent_probability: float | None
    first: int


class DrawPlan:
    """Draws (k, Δt) for a video.

    With `silent_share` s the videos that have both silent and speaking segments give silence with the probability that
    makes s of all samples silent in the mean; a share that the videos cannot give is approached as far as they allow.

    Args:
        durations: seconds of each video.
        events: start and end times (arrays, seconds) of each video's events.
        cfg: Δt set, silent share and mode.
        info: clock of the features; None where every segment has rows.
    """

    def __init__(
        self,
        durations: Sequence[float],
        events: Sequence[tuple[np.ndarray, np.ndarray]],
        cfg: SampleConfig,
        info: FeatureInfo | None = None,
    ):
        self._mode = cfg.mode
        self._frames = cfg.segment_frames
        self._grids: list[_Grid] = []
        if cfg.mode == "segment":
            self._grids = [_grid(durations, events, frames, cfg.silent_share, info) for frames in cfg.segment_frames]

    def __call__(self, video: int, rng: np.random.Generator) -> Draw:
        """One draw for the video with this index."""
        if self._mode == "video":
            return Draw(video, 0, 0)
        which = int(rng.integers(len(self._frames)))
        grid = self._grids[which]
        begin, end = grid.offsets[video], grid.offsets[video + 1]
        first = min(grid.first, end - begin - 1)
        silent = grid.silent[begin + first : end]
        quiet = int(silent.sum())
        if grid.silent_probability is None or quiet in (0, len(silent)):
            k = int(rng.integers(len(silent)))
        else:
            wanted = rng.random() < grid.silent_probability
            k = int(rng.choice(np.flatnonzero(silent == wanted)))
        return Draw(video, first + k, self._frames[which])


def _grid(
    durations: Sequence[float],
    events: Sequence[tuple[np.ndarray, np.ndarray]],
    segment_frames: int,
    silent_share: float | None,
    info: FeatureInfo | None,
) -> _Grid:
    row = 0 if info is None else int(segments.row_segments(1, info.stride_s, info.window_s, segment_frames)[0])
    counts = np.array([segments.num_segments(duration, segment_frames) for duration in durations], np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    starts = np.concatenate([start for start, _ in events])
    ends = np.concatenate([end for _, end in events])
    owner = np.repeat(np.arange(len(events)), [len(start) for start, _ in events])
    first, last = event_segments(starts, ends, segment_frames)
    last = np.minimum(last, counts[owner] - 1)
    running = np.zeros(offsets[-1] + 1, np.int64)
    np.add.at(running, offsets[owner] + first, 1)
    np.add.at(running, offsets[owner] + last + 1, -1)
    silent = np.cumsum(running)[:-1] == 0
    if silent_share is None:
        return _Grid(offsets, silent, None, row)
    quiet = np.add.reduceat(silent.astype(np.int64), offsets[:-1])
    only_silent = float(np.mean(quiet == counts))
    mixed = float(np.mean((quiet > 0) & (quiet < counts)))
    probability = float(np.clip((silent_share - only_silent) / mixed, 0, 1)) if mixed else 0.0
    return _Grid(offsets, silent, probability, row)
