"""One file of named arrays, checked and memory-mapped, written whole or not at all.

Layout: MAGIC, the length of the header and its checksum (8 bytes each, little endian), the header (JSON), the arrays at
multiples of 64 bytes.
"""

import contextlib
import json
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

MAGIC = b"lvc_jax arrays 1\n"
_ALIGN = 64
Arrays = dict[str, np.ndarray]


def folder() -> Path:
    """The user's cache folder of this program: $XDG_CACHE_HOME/lvc_jax, or ~/.cache/lvc_jax."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "lvc_jax"


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def _bytes(values: np.ndarray) -> memoryview:
    return np.ascontiguousarray(values).reshape(-1).view(np.uint8).data


def write(path: Path, arrays: Arrays) -> None:
    """Writes the arrays under a temporary name, then renames.

    Raises:
        InputError: the folder cannot be written to.
    """
    table, offset, check = {}, 0, 0
    for name, values in arrays.items():
        table[name] = [values.dtype.str, list(values.shape), offset]
        offset = _aligned(offset + values.nbytes)
        check = zlib.crc32(_bytes(values), check)
    header = json.dumps({"arrays": table, "size": offset, "check": check}).encode()
    start = MAGIC + len(header).to_bytes(8, "little") + zlib.crc32(header).to_bytes(8, "little") + header
    try:
        with atomic_write(path, "wb") as file:
            file.write(start.ljust(_aligned(len(start)), b"\0"))
            for values in arrays.values():
                file.write(_bytes(values))
                file.write(b"\0" * (_aligned(values.nbytes) - values.nbytes))
    except OSError as error:
        raise InputError(
            f"METEOR: {path.parent}: cannot keep the compiled tables there ({error}): set XDG_CACHE_HOME to another one"
        ) from None


def read(path: Path) -> Arrays | None:
    """Maps the arrays of a file into memory.

    Returns:
        The arrays, read-only; None if the file is absent, cut off or altered.
    """
    try:
        mapped = np.memmap(path, np.uint8, "r")
        if mapped[: len(MAGIC)].tobytes() != MAGIC:
            return None
        begin = len(MAGIC) + 16
        length, header_check = np.frombuffer(mapped[len(MAGIC) : begin].tobytes(), "<u8").tolist()
        text = mapped[begin : begin + length].tobytes()
        if zlib.crc32(text) != header_check:
            return None
        header = json.loads(text)
        data = mapped[_aligned(begin + length) :]
        if len(data) != header["size"]:
            return None
        arrays, check = {}, 0
        for name, (dtype, shape, offset) in header["arrays"].items():
            kind = np.dtype(dtype)
            values = data[offset : offset + int(np.prod(shape, dtype=np.int64)) * kind.itemsize]
            check = zlib.crc32(_bytes(values), check)
            arrays[name] = values.view(kind).reshape(shape)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return arrays if check == header["check"] else None


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Holds a lock beside `path`, so that a second process waits for the first one's file instead of building its own.

    Where locks do not exist both build, which costs time and memory but is correct: each renames a whole file.
    """
    with contextlib.ExitStack() as stack:
        try:
            import fcntl

            path.parent.mkdir(parents=True, exist_ok=True)
            lock = stack.enter_context(open(path.with_suffix(".lock"), "wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        except (ImportError, OSError):
            pass
        yield


def open_or_build(path: Path, build: Callable[[], Arrays]) -> Arrays:
    """The arrays of `path`; builds and writes them if the file is absent or corrupt.

    Raises:
        InputError: what `build` raises, or the folder cannot be written to.
    """
    arrays = read(path)
    if arrays is None:
        with _alone(path):
            arrays = read(path)
            if arrays is None:
                write(path, build())
                arrays = read(path)
    if arrays is None:
        raise InputError(f"METEOR: {path}: unreadable after writing: check the disk, or set XDG_CACHE_HOME to another")
    return arrays
