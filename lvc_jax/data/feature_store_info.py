"""The clock of a feature set: features.json."""

import dataclasses
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

FILE_NAME = "features.json"
_EXAMPLE = '{"backbone": "tsp", "dim": 512, "stride_s": 1.0667, "window_s": 1.0667}'


@dataclass(frozen=True)
class FeatureInfo:
    """What a row of features is: row i covers [i·stride_s, i·stride_s + window_s) seconds and has `dim` numbers."""

    backbone: str
    dim: int
    stride_s: float
    window_s: float

    def to_dict(self) -> dict[str, Any]:
        """The content of features.json."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, content: Any, where: str = FILE_NAME) -> "FeatureInfo":
        """Checks and reads the content of features.json; keys it does not know are notes and are ignored.

        Raises:
            InputError: naming `where` and the field.
        """
        if not isinstance(content, dict):
            raise InputError(f"{where}: expected an object like {_EXAMPLE}")
        names = [f.name for f in dataclasses.fields(cls)]
        missing = [name for name in names if name not in content]
        if missing:
            raise InputError(f"{where}: field {missing[0]!r} is missing; write {_EXAMPLE}")
        backbone, dim = content["backbone"], content["dim"]
        if not isinstance(backbone, str) or not backbone.strip():
            raise InputError(f"{where}: field 'backbone': expected a name, found {backbone!r}")
        if isinstance(dim, bool) or not isinstance(dim, int) or dim < 1:
            raise InputError(f"{where}: field 'dim': expected a positive whole number, found {dim!r}")
        return cls(backbone, dim, _seconds(where, content, "stride_s"), _seconds(where, content, "window_s"))


def save_info(folder: str | os.PathLike, info: FeatureInfo) -> None:
    """Writes features.json into `folder`."""
    with atomic_write(Path(folder) / FILE_NAME) as file:
        json.dump(info.to_dict(), file, indent=1)
        file.write("\n")


def load_info(folder: str | os.PathLike) -> FeatureInfo:
    """Reads features.json from `folder`.

    Raises:
        InputError: if it is missing or wrong; the message shows what to write.
    """
    path = Path(folder) / FILE_NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise InputError(f"{path}: missing; it tells the clock of the features (seconds): write {_EXAMPLE}") from None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read: {error}; write {_EXAMPLE}") from None
    return FeatureInfo.from_dict(content, str(path))


def _seconds(where: str, content: dict[str, Any], field: str) -> float:
    value = content[field]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or value <= 0:
        raise InputError(f"{where}: field {field!r}: expected a positive number of seconds, found {value!r}")
    return float(value)
