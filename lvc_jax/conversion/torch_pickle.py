"""Pickles of torch files, read without running anything that they name.

A pickle is a program for a small stack machine whose dangerous orders import functions and call them. This machine
imports nothing and calls nothing: a name stays a name, a call is looked up in a table of a few records (`_CALLS`), and
everything that is not in the tables is refused by name.
"""

import pickletools
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from lvc_jax.conversion.torch_records import STORAGES, Name, Record, Storage, make_tensor
from lvc_jax.errors import InputError

_DICTIONARIES = ("collections.OrderedDict", "collections.Counter", "collections.defaultdict")
_RECORDS = ("argparse.Namespace", "torch.device")
_TENSOR, _PARAMETER, _SIZE = "torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_parameter", "torch.Size"
# Names that may stand in a file as values: types of elements, and what a defaultdict would make for a missing key.
_DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool")
_VALUES = {f"torch.{name}" for name in _DTYPES} | {
    f"{module}.{name}" for module in ("builtins", "__builtin__") for name in ("dict", "list", "int", "float")
}
_KNOWN = {*_DICTIONARIES, *_RECORDS, *_VALUES, *STORAGES, _TENSOR, _PARAMETER, _SIZE}


class RefusedError(InputError):
    """The pickle names what is neither a tensor nor a plain value."""


_MARK = object()
_CONSTANTS: dict[str, Any] = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
_EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_SET": list}
_LITERALS = {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"}
_LITERALS |= {"STRING", "BINSTRING", "SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"}
_LITERALS |= {"BINBYTES", "SHORT_BINBYTES", "BINBYTES8"}
_SCALARS = (str, bytes, int, float, type(None), Name)


def load(file: IO[bytes], storage: Callable[[Storage], np.ndarray], storages: dict[str, Storage]) -> Any:
    """Reads one pickle from where the file stands.

    Args:
        file: a binary file; afterwards it stands behind the pickle.
        storage: gives the elements of a storage; called when a tensor's `array` is.
        storages: filled with every storage that the pickle names, by key.

    Returns:
        Plain values: dict (of any kind of dictionary), list (also of a set), tuple, numbers, text, `Tensor`, `Record`.

    Raises:
        InputError: the names of everything that is refused, or what is wrong with the pickle.
    """
    machine = _Machine(storage, storages)
    try:
        for code, argument, _ in pickletools.genops(file):
            machine.step(code.name, argument)
    except InputError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, EOFError, OverflowError, MemoryError) as error:
        if not machine.refused:
            raise InputError(f"its pickle is damaged: {error or type(error).__name__}") from None
    if machine.refused:
        names = ", ".join(machine.refused)
        raise RefusedError(f"names {names}: refused, for only tensors and plain values are read; nothing of it was run")
    return machine.result


class _Machine:
    """The stack, the memo and what has been refused so far."""

    def __init__(self, load_storage: Callable[[Storage], np.ndarray], storages: dict[str, Storage]):
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.refused: dict[str, None] = {}
        self.result: Any = None
        self._load_storage = load_storage
        self._storages = storages

    def step(self, code: str, argument: Any) -> None:
        """Carries out one order."""
        stack = self.stack
        if code in _LITERALS:
            stack.append(argument)
        elif code in _CONSTANTS:
            stack.append(_CONSTANTS[code])
        elif code in _EMPTY:
            stack.append(_EMPTY[code]())
        elif code == "MARK":
            stack.append(_MARK)
        elif code in ("BINPUT", "LONG_BINPUT", "PUT"):
            self.memo[argument] = stack[-1]
        elif code == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif code in ("BINGET", "LONG_BINGET", "GET"):
            stack.append(self.memo[argument])
        elif code in ("TUPLE1", "TUPLE2", "TUPLE3"):
            stack.append(tuple(self._pop(int(code[-1]))))
        elif code in ("TUPLE", "LIST", "DICT"):
            items = self._marked()
            stack.append(_FROM_ITEMS[code](items))
        elif code in ("APPEND", "APPENDS", "ADDITEMS", "SETITEM", "SETITEMS"):
            items = self._marked() if code.endswith("S") else self._pop(1 if code == "APPEND" else 2)
            _extend(stack[-1], items, pairs=code.startswith("SETITEM"))
        elif code == "GLOBAL":
            stack.append(self._name(argument.replace(" ", ".", 1)))
        elif code == "STACK_GLOBAL":
            stack.append(self._name(".".join(self._pop(2))))
        elif code in ("REDUCE", "NEWOBJ"):
            function, values = self._pop(2)
            stack.append(self._call(function, values))
        elif code == "BUILD":
            (state,) = self._pop(1)
            self._build(stack[-1], state)
        elif code == "BINPERSID":
            (value,) = self._pop(1)
            stack.append(self._storage(value))
        elif code in ("POP", "POP_MARK"):
            _ = self._pop(1) if code == "POP" else self._marked()
        elif code == "DUP":
            stack.append(stack[-1])
        elif code == "STOP":
            (self.result,) = self._pop(1)
            if self.stack or self.result is _MARK:
                raise ValueError("it ends in the middle of a value")
        elif code not in ("PROTO", "FRAME"):
            raise RefusedError(f"holds the pickle order {code}: refused, for only tensors and plain values are read")

    def _pop(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise ValueError("it takes more values than there are")
        values = self.stack[-count:]
        del self.stack[-count:]
        return values

    def _marked(self) -> list[Any]:
        """The values above the topmost mark, which goes too."""
        values: list[Any] = []
        while (value := self._pop(1)[0]) is not _MARK:
            values.append(value)
        return values[::-1]

    def _name(self, full: str) -> Name:
        if full not in _KNOWN:
            self.refused[full] = None
        return Name(full)

    def _call(self, function: Any, values: Any) -> Any:
        """The record that a call stands for. What a refused name would make stays a name."""
        if not isinstance(function, Name) or not isinstance(values, tuple):
            raise ValueError("it calls something that is no name")
        if function.full in self.refused:
            return function
        if function.full == _TENSOR:
            return make_tensor(values, self._load_storage)
        if function.full == _PARAMETER and values:
            return values[0]
        if function.full == _SIZE and len(values) == 1:
            return tuple(values[0])
        if function.full in _DICTIONARIES:
            return _pairs_of(values[-1:] if function.full != "collections.defaultdict" else values[1:2])
        if function.full in _RECORDS:
            return Record(function.full, values)
        raise RefusedError(f"calls {function.full}: refused, for it is no tensor and no plain value")

    def _build(self, value: Any, state: Any) -> None:
        """Gives a record its fields. Attributes of dictionaries (the versions of a model's layers) are left out."""
        if isinstance(value, Record):
            value.fields = state
        elif not isinstance(value, dict) and not (isinstance(value, Name) and value.full in self.refused):
            raise ValueError("it sets attributes of something that has none")

    def _storage(self, value: Any) -> Storage:
        """The storage that a persistent id names: ("storage", class, key, device, numel[, view])."""
        if not isinstance(value, tuple) or len(value) < 5 or value[0] != "storage":
            kind = (
                value[0] if isinstance(value, tuple) and value and isinstance(value[0], str) else type(value).__name__
            )
            raise RefusedError(f"holds a persistent id of kind {kind!r}: refused, for only storages are read")
        _, kind, key, _, numel, *view = value
        if not isinstance(kind, Name) or kind.full not in STORAGES:
            raise RefusedError(
                f"holds a storage of class {getattr(kind, 'full', kind)}: refused, for its type is unknown"
            )
        if not isinstance(key, str) or not isinstance(numel, int) or not 0 <= numel < 2**62:
            raise ValueError("a storage record is not (class, key, device, size)")
        whole = Storage(STORAGES[kind.full], key, numel)
        if self._storages.setdefault(key, whole) != whole:
            raise ValueError(f"storage {key!r} comes with two types or sizes")
        return whole if not view or view[0] is None else _view(whole, view[0])


def _view(whole: Storage, view: Any) -> Storage:
    """A storage inside a storage: (key, offset, numel)."""
    _, start, numel = view
    if not 0 <= start <= start + numel <= whole.numel:
        raise ValueError(f"a part of storage {whole.key!r} reaches beyond it")
    return Storage(whole.dtype, whole.key, numel, start)


def _pairs_of(values: tuple) -> dict[Any, Any]:
    """What a dictionary class is called with: nothing, a dictionary, or a list of pairs."""
    if not values or values[0] is None:
        return {}
    if isinstance(values[0], dict):
        return dict(values[0])
    return _pairs([part for pair in values[0] for part in pair])


def _pairs(items: list[Any]) -> dict[Any, Any]:
    """key, value, key, value, ... to a dictionary. Keys are scalars or tuples of scalars, which are quick to hash."""
    if len(items) % 2:
        raise ValueError("a dictionary has a key without a value")
    for key in items[::2]:
        parts = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(part, _SCALARS) for part in parts):
            raise ValueError(f"a dictionary has a {type(key).__name__} as key")
    return dict(zip(items[::2], items[1::2], strict=True))


_FROM_ITEMS: dict[str, Callable[[list[Any]], Any]] = {"TUPLE": tuple, "LIST": list, "DICT": _pairs}


def _extend(target: Any, items: list[Any], *, pairs: bool) -> None:
    """Adds to a list or dictionary; what would go into a refused object is let go."""
    if pairs and isinstance(target, dict):
        target.update(_pairs(items))
    elif not pairs and isinstance(target, list):
        target.extend(items)
    elif not isinstance(target, Name):
        raise ValueError(f"it adds items to a {type(target).__name__}")
