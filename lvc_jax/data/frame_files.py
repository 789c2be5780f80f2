"""Files of per-frame labels or scores: for each video an array [frames, classes].

JSON: {"classes": [name, ...], "frames": {video: [[number of each class] of each frame]}}; or an .npz with the array
"classes" of names and one array a video under its id. Labels are 0 or 1, scores any finite numbers.
"""

import os
import zipfile
import zlib
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lvc_jax.data.json_fields import list_of, object_of, read_json, record_of, required, text_of
from lvc_jax.errors import InputError


class FrameValues(NamedTuple):
    """Names of the columns, and the numbers of each video."""

    classes: list[str]
    videos: dict[str, Float[np.ndarray, "n c"]]


def read(path: str | os.PathLike) -> FrameValues:
    """Reads a file of per-frame numbers; a name that ends with .npz is an archive of arrays, any other is JSON.

    Raises:
        InputError: naming the file, the video and the frame or class.
    """
    where = os.fspath(path)
    names, videos = _read_arrays(where) if where.endswith(".npz") else _read_json(where)
    if len(names) < 2 or len(set(names)) != len(names):
        raise InputError(f"{where}: field 'classes': {len(names)} names; expected at least two, each once")
    return FrameValues(
        names, {video: _array(f"{where}: video {video!r}", values, len(names)) for video, values in videos.items()}
    )


def same_classes(first: FrameValues, second: FrameValues, path: str) -> FrameValues:
    """`second` with its columns in the order of `first`.

    Raises:
        InputError: naming `path`, the file of `second`, and a class that only one of both has.
    """
    odd = sorted(set(first.classes) ^ set(second.classes))
    if odd:
        raise InputError(f"{path}: field 'classes': {odd[0]!r} is in one file only; both need the same classes")
    order = [second.classes.index(name) for name in first.classes]
    return FrameValues(first.classes, {video: values[:, order] for video, values in second.videos.items()})


def _read_json(where: str) -> tuple[list[str], dict[str, Any]]:
    content = record_of(where, read_json(where, "frames"), "an object with 'classes' and 'frames'")
    names = list_of(where, "classes", required(where, content, "classes"))
    videos = object_of(where, "frames", required(where, content, "frames"))
    return [text_of(where, f"classes[{i}]", name) for i, name in enumerate(names)], videos


def _read_arrays(where: str) -> tuple[list[str], dict[str, Any]]:
    try:
        with open(where, "rb") as raw:
            if not zipfile.is_zipfile(raw):
                raise ValueError("no zip archive")
            raw.seek(0)
            with np.load(raw, allow_pickle=False) as file:
                videos = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise InputError(f"{where}: no such frames file; check the path") from None
    except (OSError, ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{where}: not a readable .npz of plain arrays: {error}") from None
    names = videos.pop("classes", np.zeros(0))
    if not isinstance(names, np.ndarray) or names.dtype.kind != "U" or names.ndim != 1:
        raise InputError(f"{where}: array 'classes': expected a list of names (text)")
    return names.tolist(), videos


def _array(where: str, values: Any, classes: int) -> Float[np.ndarray, "n c"]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError(f"{where}: frames of unequal length; expected {classes} numbers a frame") from None
    if array.shape == (0,):  # of an empty list, which knows no classes
        array = array.reshape(0, classes)
    if array.dtype.kind not in "biuf":
        raise InputError(f"{where}: expected numbers, found {array.dtype}")
    if array.ndim != 2 or array.shape[1] != classes:
        raise InputError(f"{where}: array {list(array.shape)}; expected [frames, {classes} classes]")
    array = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        raise InputError(f"{where}: frame {bad[0, 0]}, class {bad[0, 1]}: not a finite number")
    return array
