"""Annotation files as they lie on disk: JSON checked field by field, nothing repaired yet.

ActivityNet Captions is an object {video id: {"duration": s, "timestamps": [[s, e], ...], "sentences": [...]}}. YouCook2
is published in the same layout. `clips` adds "file" and, for some videos, "timestamps_2" and "sentences_2".
"""

import math
import os
from dataclasses import dataclass
from typing import Any

from lvc_jax.data.annotations_repair import NEGATIVE_TOLERANCE_S
from lvc_jax.data.json_fields import list_of, number_of, read_json, record_of, required, span_of, text_of
from lvc_jax.errors import InputError

FORMATS = ("auto", "activitynet", "youcook2", "clips")


@dataclass(frozen=True)
class RawEvent:
    """One event as written in the file: times in seconds, the sentence untouched, `field` for messages."""

    start: float
    end: float
    sentence: str
    field: str


@dataclass(frozen=True)
class RawVideo:
    """One checked record; `references` has one list of events per annotator, `duration` may be NaN (see `read`)."""

    path: str
    duration: float
    references: tuple[tuple[RawEvent, ...], ...]
    file: str | None
    source: str | None


def read(path: str | os.PathLike, fmt: str, *, lenient: bool = False, timeless: bool = False) -> dict[str, RawVideo]:
    """Reads and checks an annotation file.

    Args:
        path: the JSON file.
        fmt: one of FORMATS; "auto" is "clips" where the records name a video file, else "activitynet".
        lenient: take what the original evaluators take too: negative times, a file without videos.
        timeless: nobody asks for durations; a video without one has NaN.

    Raises:
        InputError: naming the file, the video and the field.
    """
    if fmt not in FORMATS:
        raise InputError(f"annotation format {fmt!r}: unknown; choose one of {', '.join(FORMATS)}")
    where = os.fspath(path)
    content = record_of(where, read_json(path, "annotation"), "an object of videos")
    if not content and not lenient:
        raise InputError(f"{where}: no videos; the file is an empty object")
    return {video_id: _record(where, video_id, record, fmt, lenient, timeless) for video_id, record in content.items()}


def _record(path: str, video_id: str, record: Any, fmt: str, lenient: bool, timeless: bool) -> RawVideo:
    where = f"{path}: video {video_id!r}"
    if not video_id.strip():
        raise InputError(f"{where}: the video id is empty")
    record = record_of(where, record)
    duration = math.nan
    if "duration" in record or not timeless:
        duration = number_of(where, "duration", required(where, record, "duration"))
        if duration <= 0:
            raise InputError(f"{where}: field 'duration': {duration} is not positive; give the length in seconds")
    earliest = -math.inf if lenient else -NEGATIVE_TOLERANCE_S
    references = [_events(where, record, "", earliest)]
    if "timestamps_2" in record or "sentences_2" in record:
        references.append(_events(where, record, "_2", earliest))
    file = _optional_text(where, record, "file")
    if fmt == "clips" and file is None:
        raise InputError(f"{where}: field 'file' is missing; the clips format names each video's file")
    return RawVideo(path, duration, tuple(references), file, _optional_text(where, record, "source"))


def _events(where: str, record: dict[str, Any], suffix: str, earliest: float) -> tuple[RawEvent, ...]:
    times_field, sentences_field = f"timestamps{suffix}", f"sentences{suffix}"
    times = list_of(where, times_field, required(where, record, times_field))
    sentences = list_of(where, sentences_field, required(where, record, sentences_field))
    if len(times) != len(sentences):
        raise InputError(
            f"{where}: fields {times_field!r} and {sentences_field!r}: {len(times)} timestamps but "
            f"{len(sentences)} sentences; each event needs one of both"
        )
    events = []
    for i, (span, sentence) in enumerate(zip(times, sentences)):
        field = f"{times_field}[{i}]"
        start, end = span_of(where, field, span)
        for j, time in enumerate((start, end)):
            if time < earliest:
                raise InputError(
                    f"{where}: field '{field}[{j}]': negative time {time}; times count from the start of the video"
                )
        events.append(RawEvent(start, end, text_of(where, f"{sentences_field}[{i}]", sentence), field))
    return tuple(events)


def _optional_text(where: str, record: dict[str, Any], field: str) -> str | None:
    value = record.get(field)
    return None if value is None else text_of(where, field, value) or None
