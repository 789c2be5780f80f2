"""All numbers of one set of predictions, and what the plots need; the same for a model, a baseline and a file."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.data import segments
from lvc_jax.data.annotations import Event, Video
from lvc_jax.errors import InputError
from lvc_jax.metrics import dense_captioning, live_score, online
from lvc_jax.metrics.live_score import VARIANTS, Reading, VideoScore
from lvc_jax.metrics.online import Counts
from lvc_jax.metrics.slots import Predictions, References

SegmentFrames = int | Literal["video"]


@dataclasses.dataclass(frozen=True)
class Result:
    """Scores {name: number or None} and the Live Score of every video over time (empty for whole videos)."""

    metrics: dict[str, float | None]
    videos: dict[str, VideoScore]


def parse_segment_frames(text: str) -> tuple[SegmentFrames, ...]:
    """Reads `24,48` or `video` (or both).

    Raises:
        InputError: an entry that is neither a positive whole number nor `video`.
    """
    result: list[SegmentFrames] = []
    for entry in text.split(","):
        word = entry.strip()
        if word != "video" and not (word.isdecimal() and int(word) > 0):
            raise InputError(f"--segment_frames={text}: {word!r} is neither a positive number of frames nor 'video'")
        value: SegmentFrames = "video" if word == "video" else int(word)
        if value not in result:
            result.append(value)
    return tuple(result)


def plain_references(videos: Mapping[str, Video]) -> dict[str, dict[str, Any]]:
    """The metrics' form of annotated videos: {id: {"duration", "references": [[(start, end, sentence), ...], ...]}}."""
    return {
        video_id: {
            "duration": video.duration,
            "references": [
                [(event.start, event.end, event.sentence) for event in events] for events in video.references
            ],
        }
        for video_id, video in videos.items()
    }


def split_references(references: References, segment_frames: int) -> dict[str, dict[str, Any]]:
    """The references cut on the Δt grid (Live Video Captioning paper, section 4): every piece is an event."""

    def _cut(events: Sequence[tuple[float, float, str]], duration: float) -> list[tuple[float, float, str]]:
        pieces = segments.cut([Event(*event) for event in events], duration, segment_frames)
        return [(piece.start, piece.end, piece.sentence) for piece in pieces]

    return {
        video_id: {**video, "references": [_cut(events, video["duration"]) for events in video["references"]]}
        for video_id, video in references.items()
    }


def score(
    references: References,
    predictions: Predictions,
    segment_frames: SegmentFrames,
    reading: Reading | None = None,
    *,
    counts: Counts | None = None,
) -> Result:
    """Scores predictions for every video of the references.

    Args:
        references: see `plain_references`; a video without predictions counts as silent throughout.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence", optionally "segment", "score"}]}.
        segment_frames: Δt in frames at 30 per second, or "video" for captions of whole videos, which get no Live
            Score, no delay and no split annotations.
        reading: of the Live Score; the defaults if None. Its Δt is `segment_frames`.
        counts: a counter's own figures, which get `counter_accuracy`; see `online.score`.

    Returns:
        Scores as fractions (delays in seconds).
    """
    live = segment_frames != "video"
    reading = dataclasses.replace(reading or Reading(), segment_frames=segment_frames)
    delta_t = None if segment_frames == "video" else segments.segment_seconds(segment_frames)
    videos = live_score.score_videos(references, predictions, reading) if live else {}
    metrics: dict[str, float | None] = {**live_score.summary(videos, reading.names)} if live else {}
    metrics.update(dense_captioning.precision_recall(references, predictions))
    if segment_frames != "video":
        cut = dense_captioning.precision_recall(split_references(references, segment_frames), predictions)
        metrics.update({f"split_{name}": value for name, value in cut.items()})
    metrics.update(online.score(references, predictions, delta_t, counts=counts))
    return Result(metrics, videos)


def signatures(segment_frames: SegmentFrames, reading: Reading | None = None) -> list[str]:
    """One signature line for each part of `score`."""
    reading = dataclasses.replace(reading or Reading(), segment_frames=segment_frames)
    live = [] if segment_frames == "video" else [reading.signature]
    return [*live, dense_captioning.localisation_signature(), online.online_signature(segment_frames)]


def over_time(
    videos: Mapping[str, VideoScore], references: References, segment_frames: int
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k 4 s"], Int[np.ndarray, " k"]]:
    """The mean Live Scores of a set at every Δt.

    Args:
        videos: scores of the videos over time.
        references: their durations.
        segment_frames: Δt in frames at 30 per second.

    Returns:
        times [k] in seconds; means [k, variant, scorer] over the videos that still run and have a scored slot, each
        with its newest value; the number of those videos [k]. Times without a video are left out.
    """
    delta_t = segments.segment_seconds(segment_frames)
    counts = {video: segments.num_segments(references[video]["duration"], segment_frames) for video in videos}
    slots = max(counts.values(), default=0)
    scorers = max((len(video.scorers) for video in videos.values()), default=len(Reading().names))
    sums, number = np.zeros((slots, len(VARIANTS), scorers)), np.zeros(slots, np.int64)
    for video, result in videos.items():
        values = np.stack([result.curves[variant] for variant in VARIANTS], axis=1)
        ends = (np.arange(counts[video]) + 1) * delta_t
        newest = np.searchsorted(result.time, ends + 1e-6, side="right") - 1
        running = np.flatnonzero(newest >= 0)
        sums[running] += values[newest[running]]
        number[running] += 1
    kept = number > 0
    return (np.arange(slots) + 1)[kept] * delta_t, sums[kept] / number[kept, None, None], number[kept]
