"""SIGTERM asks for a save at the next step instead of ending the process."""

import signal
import threading
from types import FrameType
from typing import Any


class Preemption:
    """Context manager; `requested` turns true once SIGTERM arrived. The old handler comes back at the end."""

    def __init__(self) -> None:
        self.requested = False
        self._previous: Any = None

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self.requested = True

    def __enter__(self) -> "Preemption":
        # Python allows handlers in the main thread only; elsewhere SIGTERM keeps its usual meaning.
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGTERM, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)
