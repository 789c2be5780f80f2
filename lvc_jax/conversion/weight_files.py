"""Files of named arrays: torch files and .safetensors, by their suffix."""

import dataclasses
import importlib
import os
from collections import OrderedDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from jaxtyping import Shaped

from lvc_jax.conversion import torch_file, torch_writer
from lvc_jax.conversion.torch_records import Tensor
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

SAFETENSORS = ".safetensors"
_PREFIX = "module."  # put before every name where several devices trained


class Entry(Protocol):
    """A named array whose shape is known before its numbers are read."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> np.dtype: ...

    def array(self) -> Shaped[np.ndarray, "..."]: ...


@dataclasses.dataclass(frozen=True)
class InMemory:
    """An entry that is read already."""

    values: np.ndarray

    @property
    def shape(self) -> tuple[int, ...]:
        return self.values.shape

    @property
    def dtype(self) -> np.dtype:
        return self.values.dtype

    def array(self) -> Shaped[np.ndarray, "..."]:
        """The numbers."""
        return self.values


@dataclasses.dataclass(frozen=True)
class WeightFile:
    """The state dict of a file.

    Attributes:
        path: the file.
        entries: by name, without a leading "module.".
        epoch: that the file says it was saved after, if it does.
    """

    path: Path
    entries: dict[str, Entry]
    epoch: int | None = None


def read(path: str | os.PathLike) -> WeightFile:
    """Reads a state dict: a .safetensors file, or a torch file that is one or holds one as "model" or "state_dict".

    Raises:
        InputError: naming the file: missing, damaged, no state dict in it, or (torch files) anything refused.
    """
    path = Path(path)
    if path.suffix == SAFETENSORS:
        return WeightFile(path, _names(path, _read_safetensors(path)))
    content = torch_file.read(path)
    if not isinstance(content, dict):
        raise InputError(f"{path}: holds a {type(content).__name__}, not a checkpoint or state dict; check the file")
    epoch = content.get("epoch")
    inner = next((content[key] for key in ("model", "state_dict") if isinstance(content.get(key), dict)), content)
    other = [str(name) for name, value in inner.items() if not (isinstance(name, str) and isinstance(value, Tensor))]
    if other or not inner:
        what = f"entries that are no tensors ({', '.join(other)})" if other else "no entries"
        raise InputError(f"{path}: its state dict has {what}; give a checkpoint with 'model', or a state dict alone")
    return WeightFile(path, _names(path, inner), epoch if isinstance(epoch, int) else None)


def _names(path: Path, entries: Mapping[str, Entry]) -> dict[str, Entry]:
    named = {name.removeprefix(_PREFIX): entry for name, entry in entries.items()}
    if len(named) != len(entries):
        double = [name for name in entries if name.startswith(_PREFIX) and name.removeprefix(_PREFIX) in entries]
        raise InputError(f"{path}: has entries with and without 'module.' before them: {', '.join(double)}; keep one")
    return named


def write(path: str | os.PathLike, state: Mapping[str, np.ndarray], *, bare: bool = False) -> None:
    """Writes a state dict, by suffix; whole or not at all.

    Args:
        path: the file; .safetensors, or else a torch file.
        state: arrays by name; the same object under two names is shared in a torch file.
        bare: a torch file is the state dict itself; otherwise dict(epoch, model, optimizer), as PDVC saves it.
    """
    if Path(path).suffix == SAFETENSORS:
        content = _safetensors().save(dict(state))
        with atomic_write(path, "wb") as file:
            file.write(content)
        return
    model = OrderedDict(state)
    torch_writer.write(path, model if bare else {"epoch": 0, "model": model, "optimizer": {}})


def check_suffix(path: str | os.PathLike) -> None:
    """Finds out before long work whether a file of this name can be read or written here.

    Raises:
        InputError: the library that it takes is not installed.
    """
    if Path(path).suffix == SAFETENSORS:
        _safetensors()


def _safetensors() -> Any:
    try:
        return importlib.import_module("safetensors.numpy")
    except ImportError:
        raise InputError(
            f"{SAFETENSORS} files take the safetensors library: pip install 'lvc-jax[convert]', or use a .pth file"
        ) from None


def _read_safetensors(path: Path) -> dict[str, Entry]:
    library = _safetensors()
    try:
        arrays = library.load(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the path") from None
    except Exception as error:  # the library's own error type is a bare Exception
        raise InputError(f"{path}: not a safetensors file, or damaged: {error}") from None
    return {name: InMemory(array) for name, array in arrays.items()}
