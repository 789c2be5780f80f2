"""Features in one HDF5 file: a dataset per video id, or a group per video id that holds one dataset."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from jaxtyping import Float

from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.data.feature_store_rows import checked_id, checked_rows, stored_rows
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write


class Hdf5Store:
    """Random access by video id over an HDF5 file (TSP: <id>; C3D of ActivityNet: <id>/c3d_features)."""

    def __init__(self, path: Path, info: FeatureInfo):
        """Opens the file.

        Raises:
            InputError: if it is not an HDF5 file or is cut short.
        """
        self.info = info
        self._path = path
        self._file: h5py.File | None = None
        self._pid = 0
        self._ids = sorted(self._open())
        self._known = frozenset(self._ids)

    def ids(self) -> list[str]:
        """All video ids, sorted."""
        return list(self._ids)

    def files(self) -> list[Path]:
        """The files that hold the rows."""
        return [self._path]

    def __contains__(self, video_id: object) -> bool:
        return video_id in self._known

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, video_id: str) -> Float[np.ndarray, "l c"]:
        """Rows of a video, float32.

        Raises:
            InputError: naming the file and the video, if it is missing, damaged or does not fit features.json.
        """
        where = f"{self._path}: video {video_id!r}"
        if video_id not in self._known:
            raise InputError(f"{where}: no such dataset; extract its features or leave the video out")
        try:
            node = self._open()[video_id]
            if isinstance(node, h5py.Group):
                names = list(node)
                if len(names) != 1 or not isinstance(node[names[0]], h5py.Dataset):
                    raise InputError(f"{where}: the group holds {names}; expected exactly one dataset")
                node = node[names[0]]
            array = node[()]
        except (OSError, KeyError, RuntimeError) as error:
            raise InputError(f"{where}: damaged ({error}); copy or extract the file again") from None
        return checked_rows(array, where, self.info)

    def __getstate__(self) -> dict[str, Any]:
        # An open HDF5 handle cannot travel to a worker process; the worker opens its own.
        return {**self.__dict__, "_file": None}

    def _open(self) -> h5py.File:
        # A handle inherited through fork shares its file position with the parent's.
        if self._file is None or self._pid != os.getpid():
            try:
                self._file = h5py.File(self._path, "r")
            except OSError as error:
                raise InputError(f"{self._path}: not a whole HDF5 file ({error}); copy it again") from None
            self._pid = os.getpid()
        return self._file


def write_hdf5(
    path: Path, info: FeatureInfo, videos: Iterable[tuple[str, Float[np.ndarray, "l c"]]], dtype: str
) -> None:
    """Writes one gzip-compressed dataset per video; see `feature_store.write_store`."""
    with atomic_write(path, "w+b") as raw, h5py.File(raw, "w") as file:
        for video_id, rows in videos:
            stored = stored_rows(rows, f"{path}: video {video_id!r}", info, dtype)
            file.create_dataset(checked_id(video_id), data=stored, compression="gzip")
