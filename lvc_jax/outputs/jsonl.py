"""JSON Lines, one object a line, each whole on disk as soon as it is written."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any


class JsonLinesWriter:
    """Appends objects to a new file. Use as a context manager or call `close`."""

    def __init__(self, path: str | os.PathLike):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = Path(path).open("w", encoding="utf-8", newline="\n")  # noqa: SIM115 - closed by close

    def write(self, record: Mapping[str, Any]) -> None:
        """Appends one object.

        Raises:
            ValueError: a NaN or infinite number, which JSON cannot hold.
        """
        self._file.write(json.dumps(dict(record), ensure_ascii=False, allow_nan=False) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> "JsonLinesWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
