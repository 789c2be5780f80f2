"""The score command in this process: flags as on the command line, the content of its output file back."""

import json
import math
from pathlib import Path
from typing import Any

from lvc_jax import score


def run(folder: Path, *arguments: str, **options: object) -> dict[str, Any]:
    """Runs the command; the content of its file is strict JSON.

    Args:
        folder: for the output file.
        arguments: flags as they are typed.
        options: further flags.
    """
    output = folder / "scores.json"
    flags = [*arguments, *(f"--{name}={value}" for name, value in options.items()), f"--output={output}"]
    try:
        score.FLAGS(["score", *flags])
        score.main()
    finally:
        score.FLAGS.unparse_flags()
    return read(output)


def read(path: Path) -> dict[str, Any]:
    """Strict JSON."""
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} is no JSON")


def write(path: Path, content: object) -> Path:
    """Writes JSON, or text or bytes as they are."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def number(value: float | str) -> float | None:
    """A golden number as the output file spells it; NaN is null there."""
    return None if math.isnan(float(value)) else float(value)
