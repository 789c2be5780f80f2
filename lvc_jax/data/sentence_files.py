"""Files of captions without times, as the text scorers take them: one or more sentences under each id.

JSON, in any of these forms: {id: sentence}, {id: [sentence, ...]}, {id: [{"caption": sentence}, ...]} (the toolkits'
own form), a list [{"image_id": id, "caption": sentence}, ...] (COCO results), {"annotations": that list} (COCO
annotations). "sentence" may stand for "caption", "id" or "video_id" for "image_id". Any other file than .json is plain
text, a sentence a line; the number of the line, from 1, is its id. The line feed that ends the file begins no further
sentence; blank lines before it are sentences, for lines are paired by number (see `blank_end`).
"""

import itertools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lvc_jax.data.json_fields import kind_of, read_json, record_of, text_of
from lvc_jax.errors import InputError

_IDS = ("image_id", "video_id", "id")
_TEXTS = ("caption", "sentence")


def is_lines(path: str | os.PathLike) -> bool:
    """Whether the file is read as plain text, a sentence a line: by its name."""
    return not os.fspath(path).lower().endswith(".json")


def read(path: str | os.PathLike) -> dict[str, list[str]]:
    """The sentences of every id, in the order of the file.

    Raises:
        InputError: naming the file, the id and the field.
    """
    where = os.fspath(path)
    if is_lines(where):
        return _read_lines(where)
    content = read_json(path, "captions")
    if isinstance(content, dict) and isinstance(content.get("annotations"), list):
        content = content["annotations"]
    if isinstance(content, dict) and isinstance(content.get("results"), dict):
        content = content["results"]
    if isinstance(content, list):
        return _by_id(where, content)
    result = {}
    for name, value in record_of(where, content, "captions by id").items():
        values = value if isinstance(value, list) else [value]
        result[name] = [_text(f"{where}: id {name!r}: item {index}", item) for index, item in enumerate(values)]
    return _filled(where, result)


def blank_end(sentences: Mapping[str, Sequence[str]]) -> int:
    """How many of the last lines of a file of lines are blank.

    Args:
        sentences: of the file, as `read` gives them.
    """
    lines = reversed(list(sentences.values()))
    return sum(1 for _ in itertools.takewhile(lambda own: not own[0].strip(), lines))


def _read_lines(where: str) -> dict[str, list[str]]:
    try:
        text = Path(where).read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{where}: no such captions file; check the path") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: cannot be read: {error}") from None
    # Not splitlines: only a line feed ends a line, or a sentence with an odd character would shift all that follow.
    lines = text.removesuffix("\n").split("\n")
    return _filled(where, {str(number): [line.removesuffix("\r")] for number, line in enumerate(lines, 1) if text})


def _by_id(where: str, items: list[Any]) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for index, item in enumerate(items):
        item = record_of(f"{where}: item {index}", item)
        name = next((item[field] for field in _IDS if field in item), None)
        if isinstance(name, bool) or not isinstance(name, int | str):
            raise InputError(f"{where}: item {index}: field {_IDS[0]!r}: expected an id (text or a whole number)")
        result.setdefault(str(name), []).append(_text(f"{where}: id {str(name)!r}: item {index}", item))
    return _filled(where, result)


def _text(where: str, item: Any) -> str:
    if isinstance(item, dict):
        field = next((field for field in _TEXTS if field in item), None)
        if field is None:
            raise InputError(f"{where}: field {_TEXTS[0]!r} is missing")
        return text_of(where, field, item[field])
    if not isinstance(item, str):
        raise InputError(f"{where}: expected text, found {kind_of(item)}")
    return item


def _filled(where: str, result: dict[str, list[str]]) -> dict[str, list[str]]:
    if not result:
        raise InputError(f"{where}: no captions in it")
    return result
