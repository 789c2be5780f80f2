"""All numbers of one set of predictions, and what the plots need; the same for a model, a baseline and a file."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.data import segments
from lvc_jax.data.annotations import Event, Video
from lvc_jax.errors import InputError
from lvc_jax.metrics import dense_captioning, live_score, online, timeliness
from lvc_jax.metrics.live_score import VARIANTS, Reading, VideoScore
from lvc_jax.metrics.online import Counts
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.text.scorers import PairScorer
from lvc_jax.metrics.timeliness import Rule

SegmentFrames = int | Literal["video"]

# Sentences of people: the threshold is calibrated on two annotators of the same events (docs/metrics.md).
BY_WORDS = Rule(match="ROUGE-L", threshold=0.3)
"""The match of the timeliness by default; needs no extra."""
BY_LABEL = Rule(match="label")
"""The match of the timeliness where captions come from a fixed list of sentences: they are right or wrong."""
_FIXED_SENTENCES = ("verbalised labels", "synthetic")


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


def parse_timeliness(text: str, where: str = "--timeliness") -> Rule:
    """Reads `label`, or a scorer and its least score as in `ROUGE-L>=0.3`.

    Args:
        text: what was given.
        where: names its origin in messages.

    Raises:
        InputError: anything else, a scorer that has no sentence score, or a score that is not in (0, 1].
    """
    name, sign, number = (part.strip() for part in text.partition(">="))
    if name == "label" and not sign:
        return BY_LABEL
    if name == "label" or not sign:
        raise InputError(f"{where}={text}: give label, or a scorer and its least score in quotes: 'ROUGE-L>=0.3'")
    try:
        threshold = float(number)
    except ValueError:
        raise InputError(f"{where}={text}: {number!r} is no number") from None
    try:
        return Rule(match=name, threshold=threshold)
    except InputError as error:
        raise InputError(f"{where}={text}: {str(error).removeprefix('timeliness: ')}") from None


def timeliness_of(caption_kind: str) -> Rule:
    """The default match for captions of a kind: by label where they come from a fixed list, else by their words."""
    return BY_LABEL if caption_kind in _FIXED_SENTENCES else BY_WORDS


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
    rule: Rule = BY_WORDS,
    scorer: PairScorer | None = None,
) -> Result:
    """Scores predictions for every video of the references.

    Args:
        references: see `plain_references`; a video without predictions counts as silent throughout.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence", optionally "segment", "score"}]}.
        segment_frames: Δt in frames at 30 per second, or "video" for captions of whole videos, which get no Live
            Score, no delay, no timeliness and no split annotations.
        reading: of the Live Score; the defaults if None. Its Δt is `segment_frames`.
        counts: a counter's own figures, which get `counter_accuracy`; see `online.score`.
        rule: how a caption matches an event in the timeliness; its clock and reference sets are those of the reading.
        scorer: from `pair_scorer`; given to several calls, no pair is scored twice. A new one if None.

    Returns:
        Scores as fractions (delays in seconds).
    """
    live = segment_frames != "video"
    reading = dataclasses.replace(reading or Reading(), segment_frames=segment_frames)
    scorer = pair_scorer(reading, rule) if scorer is None else scorer
    delta_t = None if segment_frames == "video" else segments.segment_seconds(segment_frames)
    videos = live_score.score_videos(references, predictions, reading, scorer) if live else {}
    metrics: dict[str, float | None] = {**live_score.summary(videos, reading.names)} if live else {}
    metrics.update(dense_captioning.precision_recall(references, predictions))
    if segment_frames != "video":
        cut = dense_captioning.precision_recall(split_references(references, segment_frames), predictions)
        metrics.update({f"split_{name}": value for name, value in cut.items()})
    metrics.update(online.score(references, predictions, delta_t, counts=counts))
    if live:
        metrics.update(timeliness.score(references, predictions, _on_clock(rule, reading), scorer))
    return Result(metrics, videos)


def localised(references: References, predictions: Predictions) -> set[str]:
    """The videos that localisation is the mean of: those with an event or a prediction."""
    return {video for video, own in references.items() if predictions.get(video) or any(map(len, own["references"]))}


def pair_scorer(reading: Reading | None = None, rule: Rule = BY_WORDS) -> PairScorer:
    """A memory of pairs with every scorer of the suite, for several calls of `score`.

    Raises:
        InputError: METEOR without its extra.
    """
    named = ((reading or Reading()).names, () if rule.match == "label" else (rule.match,))
    # CIDEr is the one score that a pair has only among others.
    return PairScorer([name for name in dict.fromkeys(sum(named, ())) if name != "CIDEr"])


def _on_clock(rule: Rule, reading: Reading) -> Rule:
    """The rule with the clock and the reference sets of a Live Score."""
    frames = "video" if reading.clock == "prediction" else reading.segment_frames
    return dataclasses.replace(rule, segment_frames=frames, references=reading.references or "both")


def signatures(segment_frames: SegmentFrames, reading: Reading | None = None, rule: Rule = BY_WORDS) -> list[str]:
    """One signature line for each part of `score`."""
    reading = dataclasses.replace(reading or Reading(), segment_frames=segment_frames)
    result = [dense_captioning.localisation_signature(), online.online_signature(segment_frames)]
    if segment_frames != "video":
        result = [reading.signature, *result, _on_clock(rule, reading).signature]
    return result


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
