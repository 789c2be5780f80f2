"""Files of `torch.save`, read without torch: the zip container, and the one of the years before torch 1.6."""

import contextlib
import io
import os
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from lvc_jax.conversion import torch_pickle
from lvc_jax.conversion.torch_records import Storage
from lvc_jax.errors import InputError

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_LARGEST_PICKLE = 1 << 28  # bytes; that of a captioner with its optimiser has some 100 kB
_HOW = "give a file that torch.save wrote whole, or a .safetensors file"


def read(path: str | os.PathLike) -> Any:
    """Reads a torch file: plain values with `Tensor` records, whose numbers are read when their `array` is called.

    Raises:
        InputError: naming the file: it is missing, damaged or cut short, no torch file, or names anything but tensors
            and plain values.
    """
    with _naming(path):
        with open(path, "rb") as file:
            start = file.read(4)
        return _read_zip(Path(path)) if start == b"PK\x03\x04" else _read_legacy(Path(path))


@contextlib.contextmanager
def _naming(path: str | os.PathLike) -> Iterator[None]:
    """Turns what can go wrong in a file into one line that names it."""
    try:
        yield
    except torch_pickle.RefusedError as error:
        raise InputError(f"{path}: {error}; save it again with torch, with its state dict alone") from None
    except InputError as error:
        raise InputError(f"{path}: {error}; {_HOW}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except (OSError, EOFError, KeyError, ValueError, RuntimeError) as error:  # RuntimeError: encrypted, unknown packing
        raise InputError(f"{path}: cannot be read: {error or 'it ends too early'}; {_HOW}") from None
    except (zipfile.BadZipFile, zlib.error, struct.error) as error:
        raise InputError(f"{path}: damaged or cut short: {error}; {_HOW}") from None


def _read_zip(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename: info for info in archive.infolist()}
        pickles = [name for name in entries if name == "data.pkl" or name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise InputError(f"a zip file with {len(pickles)} entries data.pkl, where a torch file has one")
        folder = pickles[0].removesuffix("data.pkl")
        if entries[pickles[0]].file_size > _LARGEST_PICKLE:
            raise InputError(f"its data.pkl has {entries[pickles[0]].file_size} bytes, too many for a checkpoint")
        little = sys.byteorder == "little"
        if f"{folder}byteorder" in entries:
            little = archive.read(f"{folder}byteorder").strip() != b"big"
        content = archive.read(pickles[0])

    def load(storage: Storage) -> np.ndarray:
        with _naming(path), zipfile.ZipFile(path) as archive:
            stored = archive.read(f"{folder}data/{storage.key}")
        return _numbers(stored, storage, little)

    storages: dict[str, Storage] = {}
    values = torch_pickle.load(io.BytesIO(content), load, storages)
    for key, storage in storages.items():
        name = f"{folder}data/{key}"
        if name not in entries:
            raise InputError(f"storage {name} is missing")
        if entries[name].file_size < storage.numel * storage.dtype.itemsize:
            raise InputError(f"storage {name} has {entries[name].file_size} bytes for {storage.numel} {storage.dtype}")
    return values


def _read_legacy(path: Path) -> Any:
    places: dict[str, int] = {}
    little = True

    def load(storage: Storage) -> np.ndarray:
        with _naming(path), open(path, "rb") as file:
            file.seek(places[storage.key])
            stored = file.read((storage.start + storage.numel) * storage.dtype.itemsize)
        return _numbers(stored, storage, little)

    with open(path, "rb") as file:
        if _magic(file) != _MAGIC:
            raise InputError("neither a zip file nor one that begins as older torch files do")
        if torch_pickle.load(file, load, {}) != _PROTOCOL:
            raise InputError(f"a torch file of another version than {_PROTOCOL}")
        system = torch_pickle.load(file, load, {})
        little = not isinstance(system, dict) or system.get("little_endian") is not False
        storages: dict[str, Storage] = {}
        values = torch_pickle.load(file, load, storages)
        keys = torch_pickle.load(file, load, {})
        if not isinstance(keys, list) or sorted(map(str, keys)) != sorted(storages):
            raise InputError("its list of storages is not that of its tensors")
        end = path.stat().st_size
        for key in keys:
            (numel,) = struct.unpack("<q" if little else ">q", file.read(8))
            storage = storages[key]
            places[key] = file.tell()
            if numel != storage.numel or places[key] + numel * storage.dtype.itemsize > end:
                raise InputError(f"storage {key} has not the {storage.numel} numbers of its tensors, or is cut short")
            file.seek(numel * storage.dtype.itemsize, os.SEEK_CUR)
    return values


def _magic(file: IO[bytes]) -> Any:
    try:
        return torch_pickle.load(file, lambda storage: np.zeros(0), {})
    except InputError:
        return None


def _numbers(stored: bytes, storage: Storage, little: bool) -> np.ndarray:
    """The elements of a storage from the bytes of the run that it is in."""
    size = storage.dtype.itemsize
    raw = np.frombuffer(stored, f"{'<' if little else '>'}u{size}", storage.numel, storage.start * size)
    return raw.astype(f"u{size}").view(storage.dtype)
