"""Random access to precomputed features by video id: a folder of .npy, an HDF5 file or an array_record file."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Float

from lvc_jax.data.feature_store_array_record import ArrayRecordStore, write_array_record
from lvc_jax.data.feature_store_hdf5 import Hdf5Store, write_hdf5
from lvc_jax.data.feature_store_info import FILE_NAME, FeatureInfo, load_info, save_info
from lvc_jax.data.feature_store_npy import NpyStore, write_npy
from lvc_jax.errors import InputError

__all__ = ["FeatureInfo", "FeatureStore", "convert_store", "load_info", "open_store", "save_info", "write_store"]

_STORES: dict[str, Callable[[Path, FeatureInfo], "FeatureStore"]] = {
    ".h5": Hdf5Store,
    ".hdf5": Hdf5Store,
    ".array_record": ArrayRecordStore,
}
_WRITERS = {".h5": write_hdf5, ".hdf5": write_hdf5, ".array_record": write_array_record}


class FeatureStore(Protocol):
    """Features of many videos; `store[id]` gives float32 rows [L, C] or raises InputError naming the file."""

    info: FeatureInfo

    def ids(self) -> list[str]:
        """All video ids, sorted."""

    def files(self) -> list[Path]:
        """The files that hold the rows."""

    def __contains__(self, video_id: object) -> bool: ...

    def __len__(self) -> int: ...

    def __getitem__(self, video_id: str) -> Float[np.ndarray, "l c"]: ...


def open_store(path: str | os.PathLike) -> FeatureStore:
    """Opens a feature set.

    Args:
        path: a folder with .npy files, a folder with one .h5, .hdf5 or .array_record file, or such a file itself;
            features.json lies in the folder.

    Raises:
        InputError: if there is nothing to open, or more than one, or features.json is missing or wrong.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such feature folder or file; check the path")
    store: FeatureStore
    if path.is_file():
        if path.suffix not in _STORES:
            raise InputError(f"{path}: unknown feature file; expected a folder of .npy or a file {', '.join(_STORES)}")
        store = _STORES[path.suffix](path, load_info(path.parent))
    else:
        files = sorted(file for file in path.iterdir() if file.suffix in _STORES)
        has_npy = next(path.glob("*.npy"), None) is not None
        if len(files) + has_npy > 1:
            raise InputError(f"{path}: holds more than one feature set; name the file to open, such as {files[0]}")
        if files:
            return open_store(files[0])
        if not has_npy:
            raise InputError(f"{path}: no feature file beside {FILE_NAME}; extract features into this folder")
        store = NpyStore(path, load_info(path))
    if not len(store):
        raise InputError(f"{path}: holds no video; extract features first")
    return store


def write_store(
    path: str | os.PathLike,
    info: FeatureInfo,
    videos: Iterable[tuple[str, Float[np.ndarray, "l c"]]],
    dtype: str = "float32",
) -> None:
    """Writes a feature set and its features.json.

    Args:
        path: a file ending in .h5, .hdf5 or .array_record, else a folder for .npy files.
        info: the clock of the features, written to features.json in the same folder.
        videos: (video id, rows [L, C]) pairs, consumed one at a time.
        dtype: "float32" or "float16", as stored.

    Raises:
        InputError: if a video does not fit `info`, or the folder already holds features of another clock.
    """
    path = Path(path)
    folder = path.parent if path.suffix in _WRITERS else path
    if (folder / FILE_NAME).exists() and load_info(folder) != info:
        raise InputError(f"{folder / FILE_NAME}: describes other features than {info}; write into another folder")
    _WRITERS.get(path.suffix, write_npy)(path, info, videos, dtype)
    # Last, so that an interrupted run leaves nothing that opens.
    save_info(folder, info)


def convert_store(source: str | os.PathLike, destination: str | os.PathLike, dtype: str = "float32") -> None:
    """Copies a feature set into another form; arguments and errors as for `open_store` and `write_store`."""
    store = open_store(source)
    write_store(destination, store.info, ((video_id, store[video_id]) for video_id in store.ids()), dtype)
