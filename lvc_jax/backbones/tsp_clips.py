"""Which frames make which clip: TSP's clips of 16 frames at 15 frames a second, from frames pushed one by one.

Clip k starts with the frame shown at 16 k / 15 s; its frame j is the one shown j / 15 s after that frame appeared. On a
file of a constant rate these are the frames that TSP's extraction picks (Alwassel et al., 2021), at any rate. Where the
source stalls, the frame on show counts again.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, UInt8

from lvc_jax.backbones.tsp_pixels import preprocess_jit
from lvc_jax.errors import InputError

FRAMES = 16
RATE = 15  # frames per second after resampling
STRIDE_S = FRAMES / RATE

Clip = Float[np.ndarray, "16 112 112 3"]

# Timestamps are multiples of a time base, with one of 1/90000 s up to 6 us late; the grids of 15 and of 23.976, 29.97
# or 59.94 frames per second miss each other by 16 us and more.
_TOLERANCE_S = 1e-5
_ROUNDED_S = 1e-3  # two times, each rounded to whole milliseconds, as Matroska does


class ClipState(NamedTuple):
    """What later clips still need.

    Attributes:
        row: index of the clip that is being filled.
        start: seconds at which its first frame appeared; None before that frame is known.
        picked: its frames so far, preprocessed.
        time, frame: the last frame seen, uint8; None before the first.
        rounded: whether all times so far were whole milliseconds.
    """

    row: int = 0
    start: float | None = None
    picked: tuple[np.ndarray, ...] = ()
    time: float = 0.0
    frame: np.ndarray | None = None
    rounded: bool = True

    @property
    def tolerance_s(self) -> float:
        """How late a frame may appear and still count as shown at a time."""
        return _TOLERANCE_S + (_ROUNDED_S if self.rounded else 0.0)


def push(state: ClipState, time_s: float, frame: UInt8[np.ndarray, "h w 3"]) -> tuple[ClipState, list[Clip]]:
    """Takes the frame shown from `time_s` on; gives the clips whose windows of 16/15 s ended by then.

    Raises:
        InputError: it is no uint8 RGB picture, or time runs backwards.
    """
    if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8 or not frame.size:
        raise InputError(f"frame at {time_s:.3f} s: expected uint8 [H, W, 3] RGB, got {frame.dtype} {frame.shape}")
    if not np.isfinite(time_s) or (state.frame is not None and time_s < state.time):
        raise InputError(f"frame at {time_s} s: frame times must be finite and must not decrease")
    rounded = state.rounded and abs(time_s * 1000 - round(time_s * 1000)) < 1e-6
    state, clips = _fill(state._replace(rounded=rounded), time_s)
    return state._replace(time=time_s, frame=frame.copy()), clips


def finish(state: ClipState, duration: float) -> list[Clip]:
    """The remaining clips of a video of `duration` seconds; an incomplete one is left out, as TSP does.

    Of a video with fewer than 16 resampled frames, the last of them is repeated: one clip. (TSP's own extraction stops
    with an error there.)
    """
    if state.frame is None:
        return []
    state, clips = _fill(state, duration)
    if state.row == 0:
        picked = state.picked or (np.asarray(preprocess_jit(state.frame)),)
        clips.append(np.stack(picked + picked[-1:] * (FRAMES - len(picked))))
    return clips


def _fill(state: ClipState, now: float) -> tuple[ClipState, list[Clip]]:
    """Gives the last frame to all places of clips before `now`, at which the next frame appears."""
    clips: list[Clip] = []
    if state.frame is None:
        return state, clips
    tolerance, picture = state.tolerance_s, None
    while True:
        if len(state.picked) == FRAMES:
            if now < (state.row + 1) * STRIDE_S - tolerance:
                return state, clips
            clips.append(np.stack(state.picked))
            state = state._replace(row=state.row + 1, start=None, picked=())
        place = state.row * STRIDE_S if state.start is None else state.start + len(state.picked) / RATE
        if now <= place + tolerance:
            return state, clips
        if state.start is None:
            # After a stall longer than a clip, or before the first frame, the clip starts by the clock.
            shown = place - STRIDE_S <= state.time <= place + tolerance
            state = state._replace(start=state.time if shown else place)
        if picture is None:
            picture = np.asarray(preprocess_jit(state.frame))
        state = state._replace(picked=(*state.picked, picture))
