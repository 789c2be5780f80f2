"""WebVTT captions, written cue by cue, so that the file is valid whenever the program stops."""

import math
import os
from pathlib import Path
from types import TracebackType
from typing import IO

HEADER = "WEBVTT\n\n"
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_SHORTEST_MS = 1  # a cue must end after it starts
_NOISE_MS = 1e-3


def timestamp(milliseconds: int) -> str:
    """hh:mm:ss.mmm; hours grow beyond two digits where they must."""
    seconds, millis = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{seconds:02d}.{millis:03d}"


def cue(start: float, end: float, text: str) -> str:
    """One cue with the blank line that ends it.

    Args:
        start, end: seconds from the beginning of the stream; an empty cue is stretched to one millisecond.
        text: any text: markup is escaped, and line breaks, which could end the cue, become spaces.

    Raises:
        ValueError: a negative start or an end before the start.
    """
    if not 0 <= start <= end:
        raise ValueError(f"cue from {start} to {end} seconds: needs 0 <= start <= end")
    # Outwards to whole milliseconds (float noise aside): a short cue stays a cue and the order of starts is kept.
    first = math.floor(start * 1000 + _NOISE_MS)
    last = max(math.ceil(end * 1000 - _NOISE_MS), first + _SHORTEST_MS)
    words = " ".join(text.split())
    return f"{timestamp(first)} --> {timestamp(last)}\n{''.join(_ESCAPES.get(c, c) for c in words)}\n\n"


class WebVttWriter:
    """Appends cues to a file; each is whole on disk when `write` returns, and what was written is never revised.

    Cues must come in order of start. Use as a context manager or call `close`.
    """

    def __init__(self, path: str | os.PathLike):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = Path(path).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed by close
        self._append(HEADER)

    def write(self, start: float, end: float, text: str) -> None:
        """Appends one cue, see `cue`; text without words is left out."""
        if text.strip():
            self._append(cue(start, end, text))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def _append(self, text: str) -> None:
        self._file.write(text)
        self._file.flush()

    def __enter__(self) -> "WebVttWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
