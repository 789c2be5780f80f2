"""JSON files checked field by field; every refusal is one line that names the file, the place and the field."""

import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

from lvc_jax.errors import InputError


def read_json(path: str | os.PathLike, kind: str) -> Any:
    """The content of a JSON file.

    Args:
        path: the file, UTF-8.
        kind: what it holds, for messages: "no such <kind> file".

    Raises:
        InputError: no such file, not UTF-8, not JSON, nested too deeply, or a key that occurs twice in one object.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: no such {kind} file; check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _unique(path, pairs))
    except InputError:
        raise
    except RecursionError:
        raise InputError(f"{path}: not a valid {kind} file: nested too deeply") from None
    except ValueError as error:
        raise InputError(f"{path}: not valid JSON: {error}") from None


def _unique(path: Path, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        double = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise InputError(f"{path}: key {double!r} occurs twice; keep one (a video id or field must be unique)")
    return result


def required(where: str, record: dict[str, Any], field: str) -> Any:
    """The value of a field that has to be there."""
    if field not in record:
        raise InputError(f"{where}: field {field!r} is missing")
    return record[field]


def record_of(where: str, value: Any, what: str = "an object") -> dict[str, Any]:
    """The value, if it is an object; `where` alone says which, as of a whole file or the record of a video."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: expected {what}, found {kind_of(value)}")
    return value


def object_of(where: str, field: str, value: Any) -> dict[str, Any]:
    """The value, if it is an object."""
    if not isinstance(value, dict):
        raise InputError(f"{where}: field {field!r}: expected an object, found {kind_of(value)}")
    return value


def list_of(where: str, field: str, value: Any) -> list[Any]:
    """The value, if it is a list."""
    if not isinstance(value, list):
        raise InputError(f"{where}: field {field!r}: expected a list, found {kind_of(value)}")
    return value


def text_of(where: str, field: str, value: Any) -> str:
    """The value, if it is text."""
    if not isinstance(value, str):
        raise InputError(f"{where}: field {field!r}: expected text, found {kind_of(value)}")
    return value


def number_of(where: str, field: str, value: Any, unit: str = " of seconds") -> float:
    """The value as float, if it is a finite number."""
    # bool is an int to Python but not to whoever reads the file.
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{where}: field {field!r}: expected a number{unit}, found {kind_of(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"{where}: field {field!r}: {number} is not a finite number{unit}")
    return number


def span_of(where: str, field: str, value: Any) -> tuple[float, float]:
    """Start and end in seconds, if the value is a list of two finite numbers; in any order."""
    if not isinstance(value, list) or len(value) != 2:
        raise InputError(f"{where}: field {field!r}: expected [start, end] in seconds, found {kind_of(value)}")
    return number_of(where, f"{field}[0]", value[0]), number_of(where, f"{field}[1]", value[1])


def kind_of(value: Any) -> str:
    """What a value is, in words."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    name = names.get(type(value), "a number")
    return f"{name} of {len(value)}" if isinstance(value, list) else name
