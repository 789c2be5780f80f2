"""The clock that extractors share: which frames make which row."""

from typing import NamedTuple

import numpy as np

from lvc_jax.backbones.protocol import RowClock
from lvc_jax.errors import InputError

_TOLERANCE_S = 1e-6  # timestamps are multiples of a time base; their float sums are not


class ClockState(NamedTuple):
    """Frames that later rows still need.

    Attributes:
        row: index of the next row.
        times: seconds, one a kept frame.
        pictures: the kept frames, reduced; the last one seen is always kept.
    """

    row: int = 0
    times: tuple[float, ...] = ()
    pictures: tuple[np.ndarray, ...] = ()


class ClockedExtractor:
    """Groups frames into the windows of `info` and leaves the features of a window to the subclass.

    A window without a frame of its own (a slow or stalled source) is described by the last frame before it.
    """

    info: RowClock

    def reduce(self, frame: np.ndarray) -> np.ndarray:
        """uint8 [H, W, 3] to the picture that is kept."""
        raise TypeError(f"{type(self).__name__} must define reduce")

    def describe(self, times: np.ndarray, pictures: np.ndarray) -> np.ndarray:
        """Features float32 [dim] of one window: times [F] in seconds from its start, pictures [F, ...], F >= 1."""
        raise TypeError(f"{type(self).__name__} must define describe")

    def init(self) -> ClockState:
        """The state before the first frame."""
        return ClockState()

    def push(self, state: ClockState, time_s: float, frame: np.ndarray) -> tuple[ClockState, list[np.ndarray]]:
        """Takes one frame; see `FeatureExtractor.push`."""
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or not frame.size:
            raise InputError(f"frame at {time_s:.3f} s: expected uint8 [H, W, 3] RGB, got {frame.dtype} {frame.shape}")
        if not np.isfinite(time_s) or (state.times and time_s < state.times[-1]):
            raise InputError(f"frame at {time_s} s: frame times must be finite and must not decrease")
        state, rows = self._close(state, time_s)
        picture = self.reduce(frame)
        if state.pictures and state.pictures[0].shape != picture.shape:
            raise InputError(f"frame at {time_s:.3f} s: the picture's shape changed within the video")
        return state._replace(times=(*state.times, time_s), pictures=(*state.pictures, picture)), rows

    def finish(self, state: ClockState, duration: float) -> list[np.ndarray]:
        """The remaining rows; see `FeatureExtractor.finish`."""
        if not state.times:
            return []
        state, rows = self._close(state, duration)
        if state.row == 0:
            rows.append(self._row(state))
        return rows

    def _close(self, state: ClockState, now: float) -> tuple[ClockState, list[np.ndarray]]:
        rows: list[np.ndarray] = []
        while state.times and state.row * self.info.stride_s + self.info.window_s <= now + _TOLERANCE_S:
            rows.append(self._row(state))
            row = state.row + 1
            start = row * self.info.stride_s - _TOLERANCE_S
            first = next((i for i, time in enumerate(state.times) if time >= start), len(state.times) - 1)
            state = ClockState(row, state.times[first:], state.pictures[first:])
        return state, rows

    def _row(self, state: ClockState) -> np.ndarray:
        start = state.row * self.info.stride_s
        end = start + self.info.window_s - _TOLERANCE_S
        inside = [i for i, time in enumerate(state.times) if start - _TOLERANCE_S <= time < end]
        if not inside:
            inside = [max((i for i, time in enumerate(state.times) if time < end), default=0)]
        times = np.array([state.times[i] for i in inside]) - start
        return self.describe(times, np.stack([state.pictures[i] for i in inside]))
