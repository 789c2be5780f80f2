"""What every backbone offers: rows of features on a clock, from frames pushed one by one."""

import dataclasses
from typing import Any, Protocol

import numpy as np


@dataclasses.dataclass(frozen=True)
class RowClock:
    """The clock and the origin of a feature set: row i covers [i * stride_s, i * stride_s + window_s) seconds."""

    backbone: str
    dim: int
    stride_s: float
    window_s: float


class FeatureExtractor(Protocol):
    """Frames in, feature rows out. Live and offline extraction are the same pushes, so they give the same rows.

    Row i depends only on frames whose time lies before the end of its window. The state is a value: `push` leaves the
    one it was given as it was.
    """

    @property
    def info(self) -> RowClock:
        """The clock of the rows and their width."""

    def init(self) -> Any:
        """The state before the first frame."""

    def push(self, state: Any, time_s: float, frame: np.ndarray) -> tuple[Any, list[np.ndarray]]:
        """Takes the frame (uint8 [H, W, 3] RGB) shown from `time_s` on; times must not decrease.

        Returns:
            The new state and the rows (float32 [dim] each) whose windows are complete: they ended at or before time_s.
        """

    def finish(self, state: Any, duration: float) -> list[np.ndarray]:
        """The remaining rows of a video of `duration` seconds; a video shorter than one window gets one row."""
