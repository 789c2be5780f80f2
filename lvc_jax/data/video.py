"""Video in: frames with their times from a file, a camera or a network stream, through PyAV.

Times come from the timestamps of the stream, never from a frame count, so any rate and any variable rate are ordinary.
"""

import os
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.reformatter import VideoReformatter

from lvc_jax.errors import InputError

_NOMINAL_RATE = Fraction(30)  # for a stream that gives neither timestamps nor a rate
_CAMERA_FORMATS = {"linux": ("v4l2", "/dev/video{}"), "darwin": ("avfoundation", "{}"), "win32": ("dshow", "video={}")}
_NETWORK_TIMEOUT_S = 10.0


def is_live(source: str | os.PathLike | int) -> bool:
    """True for a camera index ("0") or a network address ("rtsp://..."): sources without an end or a known duration."""
    return _is_camera(str(source)) or "://" in str(source)


def _is_camera(name: str) -> bool:
    """A whole number is a camera's index, unless a file has it as its name."""
    return name.isdecimal() and not Path(name).exists()


def open_source(source: str | os.PathLike | int) -> Any:
    """Opens a video file, a camera by its index ("0") or a network address ("rtsp://...").

    Returns:
        An open PyAV input container with at least one video stream; the caller closes it (it is a context manager).

    Raises:
        InputError: the file is missing, empty or no video, the camera or address cannot be opened.
    """
    name = os.fspath(source) if not isinstance(source, int) else str(source)
    try:
        if _is_camera(name):
            container = _open_camera(name)
        elif "://" in name:
            options = {"rtsp_transport": "tcp"} if name.startswith("rtsp") else {}
            container = av.open(name, options=options, timeout=_NETWORK_TIMEOUT_S)
        else:
            container = _open_file(Path(name))
    except (av.FFmpegError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name}: cannot be opened as video ({_reason(error)}); {_mend_opening(name)}") from None
    if not container.streams.video:
        container.close()
        raise InputError(f"{name}: holds no video stream; {_mend_opening(name)}")
    return container


def frames(
    source: str | os.PathLike | int, *, size: tuple[int, int] | None = None, skip_damaged: bool | None = None
) -> Iterator[tuple[float, np.ndarray]]:
    """Yields the frames of a video in presentation order.

    Args:
        source: what `open_source` takes.
        size: (width, height) in pixels to resize to after rotation; None keeps the picture's own size.
        skip_damaged: pass over packets that do not decode instead of raising. Default: only for live sources, where
            a lost packet is an ordinary event.

    Yields:
        (time in seconds, uint8 [H, W, 3] RGB). The first frame is at 0; times never decrease. Frames are rotated as
        the file asks. A frame without a timestamp follows the one before it by the stream's average frame interval.

    Raises:
        InputError: as `open_source`; a packet does not decode; a camera or a connection fails after the start; there
            is no frame at all.
    """
    name = str(source)
    skip_damaged = is_live(source) if skip_damaged is None else skip_damaged
    with open_source(source) as container:
        stream = container.streams.video[0]
        # Decoding frames in parallel delays each of them, which a live source must not.
        stream.thread_type = "SLICE" if is_live(source) else "AUTO"
        interval = float(1 / (stream.average_rate or stream.guessed_rate or _NOMINAL_RATE))
        converter = VideoReformatter()
        first = time = None
        for frame in _decode(container, stream, name, skip_damaged):
            if frame.pts is None or frame.time is None:
                time = 0.0 if time is None else time + interval
                first = 0.0 if first is None else first
            else:
                first = frame.time if first is None else first
                time = max(frame.time - first, time or 0.0)
            yield time, _picture(converter, frame, size)
        if time is None:
            raise InputError(f"{name}: holds no frame that decodes; {_mend_opening(name)}")


def duration(source: str | os.PathLike) -> float:
    """The length of a video file in seconds: its video stream's, else its container's, else found by decoding.

    Raises:
        InputError: as `frames`.
    """
    with open_source(source) as container:
        stream = container.streams.video[0]
        if stream.duration:
            return float(stream.duration * stream.time_base)
        if container.duration:
            return container.duration / av.time_base
    times = [time for time, _ in frames(source, size=(16, 16))]
    return times[-1] + (times[-1] / (len(times) - 1) if len(times) > 1 else float(1 / _NOMINAL_RATE))


def _open_camera(index: str) -> Any:
    if sys.platform not in _CAMERA_FORMATS:
        raise InputError(
            f"camera {index}: cameras are not supported on {sys.platform}; give a file or an rtsp:// address"
        )
    container_format, pattern = _CAMERA_FORMATS[sys.platform]
    return av.open(pattern.format(index), format=container_format)


def _open_file(path: Path) -> Any:
    if not path.exists():
        raise InputError(f"{path}: no such video file; check the path")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give one video file")
    if path.stat().st_size == 0:
        raise InputError(f"{path}: is empty; {_mend_opening(str(path))}")
    return av.open(str(path))


def _decode(container: Any, stream: Any, name: str, skip_damaged: bool) -> Iterator[Any]:
    packets = container.demux(stream)
    while True:
        try:
            packet = next(packets)
            decoded = packet.decode()
        except StopIteration:
            return
        except av.EOFError:
            return
        except av.FFmpegError as error:
            if skip_damaged and isinstance(error, av.InvalidDataError):
                continue
            raise InputError(_failed_midway(name, error)) from None
        yield from decoded


def _picture(converter: VideoReformatter, frame: Any, size: tuple[int, int] | None) -> np.ndarray:
    turns = round(frame.rotation / 90) % 4
    width, height = size or (None, None)
    if turns % 2:
        width, height = height, width
    picture = converter.reformat(frame, width, height, format="rgb24", interpolation="AREA").to_ndarray()
    return np.ascontiguousarray(np.rot90(picture, turns)) if turns else picture


def _mend_opening(name: str) -> str:
    if "://" in name:
        return "check the address, and that the sender is running"
    if _is_camera(name):
        return "check that it is plugged in, that it may be used and that no other program uses it"
    return "give a playable file with pictures"


def _failed_midway(name: str, error: Exception) -> str:
    """What is said when a source that delivered so far does not any more."""
    if "://" in name:
        return f"{name}: the connection failed ({_reason(error)}); check the network and the sender, then start again"
    if _is_camera(name):
        return f"camera {name}: stopped delivering ({_reason(error)}); check that it is plugged in, then start again"
    return f"{name}: damaged video data ({_reason(error)}); repair or re-encode the file"


def _reason(error: Exception) -> str:
    if isinstance(error, av.error.ExitError):  # how PyAV reports its own time limit
        return f"nothing came for {_NETWORK_TIMEOUT_S:g} s"
    return getattr(error, "strerror", None) or str(error)
