"""Random access to precomputed features by video id: a folder of .npy, an HDF5 file or an array_record file."""

import os
from pathlib import Path
from typing import Protocol

import numpy as np
from jaxtyping import Float

from lvc_jax.data.feature_store_info import FILE_NAME, FeatureInfo, load_info, save_info
from lvc_jax.data.feature_store_npy import NpyStore
from lvc_jax.errors import InputError

__all__ = ["FeatureInfo", "FeatureStore", "load_info", "open_store", "save_info"]


class FeatureStore(Protocol):
    """Features of many videos; `store[id]` gives float32 rows [L, C] or raises InputError naming the file."""

    info: FeatureInfo

    def ids(self) -> list[str]:
        """All video ids, sorted."""

    def __contains__(self, video_id: object) -> bool: ...

    def __len__(self) -> int: ...

    def __getitem__(self, video_id: str) -> Float[np.ndarray, "l c"]: ...


def open_store(path: str | os.PathLike) -> FeatureStore:
    """Opens a feature set.

    Args:
        path: a folder with .npy files and features.json.

    Raises:
        InputError: if there is nothing to open or features.json is missing or wrong.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: no such feature folder or file; check the path")
    store = NpyStore(path, load_info(path))
    if not len(store):
        raise InputError(f"{path}: no .npy file beside {FILE_NAME}; extract features into this folder")
    return store
