"""Whole-file writes: a reader sees the old file or the new one, never half of one."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from lvc_jax.errors import InputError


def check_writable(folder: str | os.PathLike, flag: str, *names: str) -> None:
    """Finds out before long work that nothing could be written into the folder; leaves nothing there.

    Args:
        folder: which may not exist yet.
        flag: that names it, for the message.
        names: of files that are to be written there.

    Raises:
        InputError: a file is in its place or above it, no file can be made there, or a folder has one of the names.
    """
    place = Path(folder).absolute()
    while not os.path.lexists(place):
        place = place.parent
    if not place.is_dir():
        raise InputError(f"{flag}={folder}: {place} is a file; give a folder")
    try:
        with tempfile.TemporaryFile(dir=place):  # permission alone does not tell, as in /proc
            pass
    except OSError:
        raise InputError(f"{flag}={folder}: {place} cannot be written to; give another folder") from None
    for name in names:
        if (Path(folder) / name).is_dir():
            raise InputError(f"{flag}={folder}: {name} cannot be written: a folder there has this name; move it")


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike, mode: str = "w") -> Iterator[IO[Any]]:
    """Opens a temporary file beside `path` and renames it to `path` when the block ends without an error.

    Args:
        path: the file to write; missing parent folders are made.
        mode: "w" for UTF-8 text, "wb" for bytes.

    Yields:
        The open temporary file. If the block raises, it is removed and `path` is left as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, mode, encoding=None if "b" in mode else "utf-8") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
