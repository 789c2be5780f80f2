"""The predictions file: ActivityNet style JSON that says how it was made."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from lvc_jax.data.json_fields import read_json
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

VERSION = "VERSION 1.0"


class Item(TypedDict, total=False):
    """One caption of one video.

    `timestamp` is [start, end] in seconds; `score` the confidence it was chosen by; `segment` and `query_id` say which
    step and which event query made it; `count` is that step's number of events according to the counter. `tokens`
    stands in for `sentence` where no vocabulary was at hand.
    """

    timestamp: list[float]
    sentence: str
    tokens: list[int]
    score: float
    proposal_score: float
    sentence_score: float
    segment: int
    query_id: int
    count: int


def write(
    path: str | os.PathLike,
    header: Mapping[str, Any],
    results: Mapping[str, Sequence[Item]],
    details: str = "",
) -> None:
    """Writes a predictions file.

    Args:
        path: file to write.
        header: how the predictions were made: segment_frames, memory, mode, consolidation, checkpoint, version.
        results: items of every video; a silent video has an empty list.
        details: what the features were trained on, for "external_data".

    Raises:
        InputError: an item that `read` would refuse.
    """
    check_results(results, str(path))
    content = {
        "version": VERSION,
        "external_data": {"used": bool(details), "details": details},
        "results": {video: list(items) for video, items in results.items()},
        "header": dict(header),
    }
    with atomic_write(path) as file:
        json.dump(content, file, ensure_ascii=False, indent=1, allow_nan=False)
        file.write("\n")


def read(path: str | os.PathLike, *, reversed_times: bool = False) -> tuple[dict[str, Any], dict[str, list[Item]]]:
    """Reads a predictions file: the header ({} where there is none) and the items of every video.

    Args:
        path: the file.
        reversed_times: let a timestamp end before it starts, for metrics that say what that means.

    Raises:
        InputError: no such file, not JSON, no "results", or an item without a valid timestamp and sentence.
    """
    content = read_json(path, "predictions")
    results = content.get("results") if isinstance(content, dict) else None
    if not isinstance(results, dict):
        raise InputError(
            f'predictions {path}: no "results" object; expected {{"version": ..., "results": {{id: [...]}}}}'
        )
    check_results(results, str(path), reversed_times=reversed_times)
    header = content.get("header", {})
    if not isinstance(header, dict):
        raise InputError(f'predictions {path}: "header" is not an object')
    return header, results


def check_results(results: Mapping[str, Any], where: str, *, reversed_times: bool = False) -> None:
    """Raises an InputError that names the video, the item and the field if any item is malformed."""
    for video, items in results.items():
        if not isinstance(items, list | tuple):
            raise InputError(f"predictions {where}: video {video}: expected a list of items")
        for index, item in enumerate(items):
            problem = _problem(item, reversed_times)
            if problem:
                raise InputError(f"predictions {where}: video {video}: item {index}: {problem}")


def _problem(item: Any, reversed_times: bool) -> str | None:
    if not isinstance(item, Mapping):
        return "expected an object"
    times = item.get("timestamp")
    if not isinstance(times, list | tuple) or len(times) != 2 or not all(_is_number(value) for value in times):
        return f"timestamp {times!r}: expected [start, end] in seconds"
    if times[1] < times[0] and not reversed_times:
        return f"timestamp {list(times)!r}: ends before it starts"
    if not isinstance(item.get("sentence"), str) and ("sentence" in item or "tokens" not in item):
        return "no sentence"
    for name in ("score", "proposal_score", "sentence_score", "segment", "count"):
        if name in item and not _is_number(item[name]):
            return f"{name} {item[name]!r}: expected a finite number"
    return None


def _is_number(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:
        return False
