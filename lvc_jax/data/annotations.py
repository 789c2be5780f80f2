"""Timed captions: one validated type for ActivityNet Captions, YouCook2 and clips."""

import os
from collections import Counter
from dataclasses import dataclass, field

from lvc_jax.data import annotations_formats
from lvc_jax.data.annotations_repair import STRICT, Repair, clean_sentence, has_words, repair_times
from lvc_jax.errors import InputError

__all__ = ["STRICT", "Annotations", "Event", "Repair", "Video", "load"]


@dataclass(frozen=True)
class Event:
    """One captioned event: 0 <= start < end <= duration of its video, in seconds; sentence never empty."""

    start: float
    end: float
    sentence: str


@dataclass(frozen=True)
class Video:
    """One annotated video.

    Attributes:
        id: the video id of the file.
        duration: length in seconds, positive.
        references: one tuple of events per annotator, at least one; events keep the order of the file. A tuple may be
            empty (a silent video).
        file: name of the video file where the annotations give one.
        source: who wrote the captions, where the annotations say so.
    """

    id: str
    duration: float
    references: tuple[tuple[Event, ...], ...]
    file: str | None = None
    source: str | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the first annotator."""
        return self.references[0]


@dataclass(frozen=True)
class Annotations:
    """All videos of a file, in its order.

    Attributes:
        videos: by id.
        repairs: how often each repair was made.
        video_repairs: the same for each video.
    """

    videos: dict[str, Video]
    repairs: Counter[str] = field(default_factory=Counter)
    video_repairs: dict[str, Counter[str]] = field(default_factory=dict)


def load(
    path: str | os.PathLike,
    *,
    fmt: str = "auto",
    second: str | os.PathLike | None = None,
    strict: bool = False,
) -> Annotations:
    """Reads timed captions, repairs what can be repaired by a stated rule and counts it (table in docs/data.md).

    Args:
        path: annotation file (JSON, UTF-8).
        fmt: "auto", "activitynet", "youcook2" or "clips".
        second: a second annotator's file for the same video ids; becomes the last reference set of its videos.
        strict: refuse what would change or lose an event; white space is repaired either way.

    Returns:
        The validated videos and the count of each repair.

    Raises:
        InputError: one line naming the file, the video and the field.
    """
    repairs: Counter[str] = Counter()
    first_raw = annotations_formats.read(path, fmt)
    second_raw = {} if second is None else annotations_formats.read(second, "auto")
    for video_id, raw in second_raw.items():
        if video_id not in first_raw:
            _count_or_refuse(Counter({Repair.SECOND_UNKNOWN: 1}), repairs, strict, f"{raw.path}: video {video_id!r}")
    videos, video_repairs = {}, {}
    for video_id, raw in first_raw.items():
        own: Counter[str] = Counter()
        sets = [_repair_set(video_id, raw, events, raw.duration, own, strict) for events in raw.references]
        other = second_raw.get(video_id)
        if other is not None:
            if abs(other.duration - raw.duration) > 1e-6:
                where = f"{other.path}: video {video_id!r}: field 'duration'"
                _count_or_refuse(Counter({Repair.SECOND_DURATION: 1}), own, strict, where)
            sets += [_repair_set(video_id, other, events, raw.duration, own, strict) for events in other.references]
        if not any(sets):
            own[Repair.SILENT_VIDEO] += 1
        videos[video_id] = Video(video_id, raw.duration, tuple(sets), raw.file, raw.source)
        video_repairs[video_id] = own
        repairs.update(own)
    return Annotations(videos, repairs, video_repairs)


def _repair_set(
    video_id: str,
    raw: annotations_formats.RawVideo,
    raw_events: tuple[annotations_formats.RawEvent, ...],
    duration: float,
    repairs: Counter[str],
    strict: bool,
) -> tuple[Event, ...]:
    events = []
    for raw_event in raw_events:
        found: Counter[str] = Counter()
        span = repair_times(raw_event.start, raw_event.end, duration, found)
        sentence = clean_sentence(raw_event.sentence, found)
        if not has_words(sentence):
            found[Repair.EMPTY] += 1
        _count_or_refuse(found, repairs, strict, f"{raw.path}: video {video_id!r}: field '{raw_event.field}'")
        if span is not None and has_words(sentence):
            events.append(Event(*span, sentence))
    return tuple(events)


def _count_or_refuse(found: Counter[str], repairs: Counter[str], strict: bool, where: str) -> None:
    refused = [name for name in found if name in STRICT]
    if strict and refused:
        raise InputError(f"{where}: refused in strict mode: {refused[0]}; mend the file or load it without strict")
    repairs.update(found)
