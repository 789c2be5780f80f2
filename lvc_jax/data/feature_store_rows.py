"""Checks on one video's features, the same for every way of storing them."""

from typing import Any

import numpy as np
from jaxtyping import Float

from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.errors import InputError


def checked_rows(array: Any, where: str, info: FeatureInfo) -> Float[np.ndarray, "l c"]:
    """Returns `array` as float32 rows.

    Args:
        array: numbers of any real type, shape [L, C].
        where: names the file and the video in messages.
        info: gives C.

    Raises:
        InputError: not numbers, not 2-D, no row, wrong C, NaN or infinity.
    """
    array = np.asarray(array)
    if array.dtype.kind not in "fiu":
        raise InputError(f"{where}: expected real numbers, found type {array.dtype}; extract these features again")
    if array.ndim != 2:
        raise InputError(f"{where}: expected rows x {info.dim}, found shape {array.shape}; store one row per window")
    if array.shape[0] == 0:
        raise InputError(f"{where}: no rows; extract these features again or leave the video out")
    if array.shape[1] != info.dim:
        raise InputError(
            f"{where}: rows have {array.shape[1]} numbers but features.json says dim {info.dim}; correct one of them"
        )
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(array, dtype=np.float32)
    finite = np.isfinite(rows).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        raise InputError(f"{where}: NaN or infinity in row {bad}; extract these features again")
    return rows


def stored_rows(array: Any, where: str, info: FeatureInfo, dtype: str) -> Float[np.ndarray, "l c"]:
    """Returns `array`, checked, in the type it is stored in.

    Raises:
        InputError: as `checked_rows`; also if a number is too large for `dtype`, or `dtype` is no type for features.
    """
    if dtype not in ("float16", "float32"):
        raise InputError(f"features: cannot store type {dtype!r}; choose float16 or float32")
    rows = checked_rows(array, where, info)
    with np.errstate(over="ignore"):
        stored = rows.astype(dtype)
    if not np.isfinite(stored).all():
        raise InputError(f"{where}: a number is too large for {dtype}; store float32")
    return stored


def checked_id(video_id: str) -> str:
    """Returns `video_id` if it can name a file and an HDF5 dataset.

    Raises:
        InputError: if it is empty, starts with a dot or holds a slash or a control character.
    """
    if not video_id or video_id.startswith(".") or not video_id.isprintable() or set(video_id) & {"/", "\\"}:
        raise InputError(f"features: video id {video_id!r} cannot name a file; rename the video")
    return video_id
