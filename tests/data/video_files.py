"""Small real video files for tests."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np


def picture(level: int, size: tuple[int, int] = (48, 32)) -> np.ndarray:
    """A grey picture of (width, height) with a red square in its upper left corner."""
    frame = np.full((size[1], size[0], 3), level, np.uint8)
    frame[:12, :12] = (220, 20, 20)
    return frame


def write(
    path: Path,
    times_ms: Sequence[int],
    *,
    size: tuple[int, int] = (48, 32),
    codec: str = "mpeg4",
    container: str | None = None,
    rate: int = 1000,
) -> Path:
    """A video with one frame at each time; grey level 40 + 5 * (index % 40). Times are rounded to 1 / `rate` s."""
    with av.open(str(path), "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        stream.time_base = stream.codec_context.time_base = Fraction(1, rate)
        for index, time in enumerate(times_ms):
            frame = av.VideoFrame.from_ndarray(picture(40 + 5 * (index % 40), size), format="rgb24")
            frame.pts, frame.time_base = time, Fraction(1, 1000)
            file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path


def write_audio(path: Path) -> Path:
    """A sound file without pictures."""
    with av.open(str(path), "w") as file:
        stream = file.add_stream("aac", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 8000, 0
        file.mux(stream.encode(frame))
        file.mux(stream.encode(None))
    return path
