"""Files as `torch.save` writes them, made without torch: the zip container."""

import os
import pickle
import struct
import sys
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

from lvc_jax.conversion.torch_records import STORAGES
from lvc_jax.files import atomic_write

_UNTYPED = ("torch.storage.UntypedStorage", "torch.storage.TypedStorage")
_CLASSES = {dtype: name for name, dtype in STORAGES.items() if name not in _UNTYPED}
_FOLDER = "archive"
_ALIGNMENT = 64  # bytes, as torch has it, so that numbers can be used from a mapped file


def write(path: str | os.PathLike, content: Any) -> None:
    """Writes plain values with numpy arrays as tensors; `torch.load(path, weights_only=True)` reads them.

    Args:
        path: the file, written whole or not at all.
        content: dicts, lists, tuples, text, numbers and arrays. An array that occurs more than once (the same object)
            is written once and shared, as torch does with shared parameters.

    Raises:
        TypeError: a value of another kind.
    """
    orders, arrays = pickled(content)
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        _entry(archive, "data.pkl", orders)
        _entry(archive, "byteorder", sys.byteorder.encode())
        for key, array in enumerate(arrays):
            _entry(archive, f"data/{key}", array.tobytes())
        _entry(archive, "version", b"3\n")


def pickled(content: Any) -> tuple[bytes, list[np.ndarray]]:
    """The pickle of `content`, and the arrays of the storages "0", "1", ... that it refers to."""
    writer = _Writer()
    writer.value(content)
    return pickle.PROTO + b"\x02" + b"".join(writer.code) + pickle.STOP, writer.arrays


def _entry(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Adds an uncompressed entry whose bytes begin at a multiple of `_ALIGNMENT`, with a date that never changes."""
    info = zipfile.ZipInfo(f"{_FOLDER}/{name}")
    assert archive.fp is not None
    begins = archive.fp.tell() + 30 + len(info.filename.encode()) + 4  # local header, name, header of the padding
    padding = -begins % _ALIGNMENT
    info.extra = struct.pack("<2sH", b"FB", padding) + b"Z" * padding
    archive.writestr(info, content)


class _Writer:
    """The orders of the pickle, and the arrays that they refer to."""

    def __init__(self) -> None:
        self.code: list[bytes] = []
        self.arrays: list[np.ndarray] = []
        self._keys: dict[int, int] = {}

    def value(self, value: Any) -> None:
        """Adds the orders that make one value."""
        add = self.code.append
        if value is None or isinstance(value, bool):
            add({None: pickle.NONE, True: pickle.NEWTRUE, False: pickle.NEWFALSE}[value])
        elif isinstance(value, int):
            size = value.bit_length() // 8 + 1
            add(pickle.LONG1 + bytes([size]) + value.to_bytes(size, "little", signed=True))
        elif isinstance(value, float):
            add(pickle.BINFLOAT + struct.pack(">d", value))
        elif isinstance(value, str):
            text = value.encode()
            add(pickle.BINUNICODE + struct.pack("<I", len(text)) + text)
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, dict):
            is_ordered = isinstance(value, OrderedDict)
            add(_global("collections.OrderedDict") + b")R" if is_ordered else pickle.EMPTY_DICT)
            self._items(pickle.SETITEMS, [part for pair in value.items() for part in pair])
        elif isinstance(value, list):
            add(pickle.EMPTY_LIST)
            self._items(pickle.APPENDS, value)
        elif isinstance(value, tuple):
            self._items(pickle.TUPLE, value)
        else:
            raise TypeError(f"a {type(value).__name__} has no place in a torch file")

    def _items(self, order: bytes, values: Any) -> None:
        self.code.append(pickle.MARK)
        for value in values:
            self.value(value)
        self.code.append(order)

    def _array(self, array: np.ndarray) -> None:
        key = self._keys.setdefault(id(array), len(self.arrays))
        if key == len(self.arrays):
            self.arrays.append(np.ascontiguousarray(array).reshape(array.shape))
        strides = tuple(stride // array.itemsize for stride in self.arrays[key].strides)
        self.code += [_global("torch._utils._rebuild_tensor_v2"), pickle.MARK, pickle.MARK]
        self.value("storage")
        self.code.append(_global(_CLASSES[array.dtype]))
        for name in (str(key), "cpu", array.size):
            self.value(name)
        self.code += [pickle.TUPLE, pickle.BINPERSID]
        rest: tuple[Any, ...] = (0, array.shape, strides, False, OrderedDict())
        for part in rest:
            self.value(part)
        self.code += [pickle.TUPLE, pickle.REDUCE]


def _global(name: str) -> bytes:
    module, _, attribute = name.rpartition(".")
    return pickle.GLOBAL + f"{module}\n{attribute}\n".encode()
