"""What a torch file is made of, as inert values: tensors and their storages, and names that are never looked up."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from jaxtyping import Shaped

from lvc_jax.errors import InputError

# Names of storage classes, to the type of their elements. Untyped storages hold bytes.
STORAGES: dict[str, np.dtype] = {
    "torch.FloatStorage": np.dtype(np.float32),
    "torch.DoubleStorage": np.dtype(np.float64),
    "torch.HalfStorage": np.dtype(np.float16),
    "torch.BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "torch.LongStorage": np.dtype(np.int64),
    "torch.IntStorage": np.dtype(np.int32),
    "torch.ShortStorage": np.dtype(np.int16),
    "torch.CharStorage": np.dtype(np.int8),
    "torch.ByteStorage": np.dtype(np.uint8),
    "torch.BoolStorage": np.dtype(np.bool_),
    "torch.storage.UntypedStorage": np.dtype(np.uint8),
    "torch.storage.TypedStorage": np.dtype(np.uint8),
}


@dataclasses.dataclass(frozen=True)
class Name:
    """A class or function that a file names; it is neither imported nor called."""

    full: str


@dataclasses.dataclass
class Record:
    """An object of a named class, with the plain values that it was stored with."""

    name: str
    fields: Any = None


@dataclasses.dataclass(frozen=True)
class Storage:
    """A run of numbers in the file that tensors look into.

    Attributes:
        dtype: of an element.
        key: its name in the file.
        numel: elements that the file says it has.
        start: element of the stored run at which it begins (old files have storages inside storages).
    """

    dtype: np.dtype
    key: str
    numel: int
    start: int = 0


@dataclasses.dataclass(frozen=True)
class Tensor:
    """A tensor whose numbers are still in the file.

    Attributes:
        storage: where its numbers are.
        offset: first element in the storage.
        shape: of the tensor.
        strides: in elements, not negative.
        load: gives the elements of a storage; filled in by the reader of the file.
    """

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    load: Callable[[Storage], np.ndarray]

    @property
    def dtype(self) -> np.dtype:
        return self.storage.dtype

    def array(self) -> Shaped[np.ndarray, "..."]:
        """Reads the numbers, contiguous and in this machine's byte order."""
        flat = self.load(self.storage)
        strides = [stride * flat.itemsize for stride in self.strides]
        view = np.lib.stride_tricks.as_strided(flat[self.offset :], self.shape, strides, writeable=False)
        return np.ascontiguousarray(view, dtype=self.dtype).reshape(self.shape)


def make_tensor(values: tuple, load: Callable[[Storage], np.ndarray]) -> Tensor:
    """The tensor of a file's rebuild record (storage, offset, shape, strides, ...), checked against its storage.

    Raises:
        InputError: values of other kinds, or a tensor that reaches beyond its storage.
    """
    storage, offset, shape, strides = values[:4] if len(values) >= 4 else (None, 0, (), ())
    lists = isinstance(shape, tuple) and isinstance(strides, tuple) and len(shape) == len(strides)
    if not isinstance(storage, Storage) or not lists or not all(_whole(n) for n in (offset, *shape, *strides)):
        raise InputError("a tensor record is not (storage, offset, shape, strides)")
    last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    if math.prod(shape) and last >= storage.numel:
        raise InputError(f"a tensor of shape {list(shape)} reaches beyond its storage of {storage.numel} numbers")
    if math.prod(shape) > storage.numel:
        raise InputError(f"a tensor of shape {list(shape)} repeats its storage of {storage.numel} numbers")
    return Tensor(storage, offset if math.prod(shape) else 0, shape, strides, load)


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 2**62
