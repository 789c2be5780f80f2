"""SIGTERM asks for a save at the next step instead of ending the process."""

import signal
import threading
from types import FrameType
from typing import Any


class Preemption:
    """Context manager; `requested` turns true once SIGTERM arrived. The old handler comes back at the end.

    Args:
        listens: false leaves the signal alone: among several processes jax itself listens, see
            `Checkpoints.reached_preemption`.
    """

    def __init__(self, *, listens: bool = True) -> None:
        self.requested = False
        self._listens = listens
        self._previous: Any = None

    def _handle(self, signum: int, frame: FrameType | None) -> None:
        self.requested = True

    def __enter__(self) -> "Preemption":
        # Python allows handlers in the main thread only; elsewhere SIGTERM keeps its usual meaning.
        if self._listens and threading.current_thread() is threading.main_thread():
            self._previous = signal.signal(signal.SIGTERM, self._handle)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGTERM, self._previous)
