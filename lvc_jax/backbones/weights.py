"""Weights of a backbone on disk: one folder, written whole or not at all.

weights.json    the network, and a fingerprint of the numbers that does not depend on where the folder is
weights.npz     the state dict (`r2plus1d_names`), float32
"""

import dataclasses
import hashlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lvc_jax.backbones.r2plus1d import R2Plus1DConfig
from lvc_jax.backbones.r2plus1d_names import from_state_dict, to_state_dict
from lvc_jax.errors import InputError

ABOUT = "weights.json"
ARRAYS = "weights.npz"
_ARCHITECTURE = "r2plus1d"
_MAKE = "make it again with python -m lvc_jax.convert --format=tsp"


def save_weights(folder: str | os.PathLike, config: R2Plus1DConfig, variables: Mapping[str, Any]) -> None:
    """Writes the folder; it must not be there yet, or be empty.

    Raises:
        InputError: something is in its place, or the variables are not those of this network.
    """
    target = Path(folder)
    if target.is_dir() and not any(target.iterdir()):
        target.rmdir()
    if os.path.lexists(target):
        raise InputError(f"{target}: is there already; name a folder that is new")
    state = to_state_dict(variables, config)
    about = {"architecture": _ARCHITECTURE, **dataclasses.asdict(config), "fingerprint": _fingerprint(config, state)}
    target.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        np.savez(place / ARRAYS, allow_pickle=False, **state)
        (place / ABOUT).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
        umask = os.umask(0)
        os.umask(umask)
        place.chmod(0o777 & ~umask)
        place.rename(target)
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise


def load_weights(folder: str | os.PathLike) -> tuple[R2Plus1DConfig, dict[str, Any]]:
    """What `save_weights` wrote: the network and its variables (numpy, float32).

    Raises:
        InputError: the folder or a file of it is missing, damaged, of another network, or holds numbers that are not
            finite.
    """
    config, fingerprint = _about(Path(folder))
    path = Path(folder) / ARRAYS
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:  # never runs code
            state = {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile, AttributeError) as error:
        raise InputError(f"{path}: missing or damaged ({error}); {_MAKE}") from None
    try:
        variables = from_state_dict(state, config)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    if _fingerprint(config, state) != fingerprint:
        raise InputError(f"{path}: not the numbers that {ABOUT} was written for; {_MAKE}")
    return config, variables


def load_fingerprint(folder: str | os.PathLike) -> str:
    """The fingerprint of the weights in a folder, 64 hexadecimal digits; equal for equal numbers and network.

    Raises:
        InputError: as `load_weights`; the arrays are not read.
    """
    return _about(Path(folder))[1]


def _about(folder: Path) -> tuple[R2Plus1DConfig, str]:
    path = folder / ABOUT
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder of backbone weights; {_MAKE}")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["architecture"] != _ARCHITECTURE:
            raise InputError(f"{path}: architecture {content['architecture']!r} is not {_ARCHITECTURE!r}; {_MAKE}")
        fields = {field.name: content[field.name] for field in dataclasses.fields(R2Plus1DConfig)}
        return R2Plus1DConfig(**fields), str(content["fingerprint"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: missing or damaged ({error!r}); {_MAKE}") from None


def _fingerprint(config: R2Plus1DConfig, state: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(f"{_ARCHITECTURE} {config.depth} {config.batch_norm_eps!r}".encode())
    for name in sorted(state):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(state[name], np.float32).data)
    return digest.hexdigest()
