"""Captioners that know nothing: what a model has to beat, scored by the same code."""

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.data import segments
from lvc_jax.errors import InputError
from lvc_jax.evaluation.suite import SegmentFrames
from lvc_jax.metrics.slots import References

Items = dict[str, list[dict[str, Any]]]

NAMES = {
    "model": "model",
    "always_silent": "always silent",
    "most_frequent": "most frequent caption",
    "shuffled_features": "model, shuffled features",
    "verbalised_argmax": "verbalised arg-max",
}


def choose(names: Sequence[str], dataset: str) -> tuple[str, ...]:
    """The baselines that a list of names asks for: `all`, `none`, or names as in `NAMES`.

    Raises:
        InputError: an unknown name, or the arg-max of a data set whose features are no classifier scores.
    """
    salads = dataset.partition("/")[0] == "fifty_salads"
    known = [name for name in NAMES if name != "model" and (salads or name != "verbalised_argmax")]
    if list(names) in (["all"], ["none"]):
        return tuple(known) if names[0] == "all" else ()
    for name in names:
        if name not in known:
            raise InputError(f"--baselines: {name!r} is none of {', '.join(known)}, all, none (dataset {dataset})")
    return tuple(dict.fromkeys(names))


def always_silent(references: References) -> Items:
    """No caption at all."""
    return {video: [] for video in references}


def most_frequent_sentence(sentences: Iterable[str]) -> str | None:
    """The sentence that occurs most often, the alphabetically first of equals; None without sentences."""
    counts = collections.Counter(sentences)
    return min(counts, key=lambda sentence: (-counts[sentence], sentence)) if counts else None


def _item(span: tuple[float, float], sentence: str, segment: int) -> dict[str, Any]:
    return {"timestamp": list(span), "sentence": sentence, "score": 1.0, "segment": segment}


def _spans(duration: float, segment_frames: SegmentFrames) -> list[tuple[float, float]]:
    if segment_frames == "video":
        return [(0.0, duration)]
    number = segments.num_segments(duration, segment_frames)
    return [segments.segment_span(k, segment_frames, duration) for k in range(number)]


def most_frequent(references: References, sentence: str | None, segment_frames: SegmentFrames) -> Items:
    """One and the same caption in every segment.

    Args:
        references: {video: {"duration": seconds}}.
        sentence: the caption, from the training split; None captions nothing.
        segment_frames: Δt in frames at 30 per second, or "video" for one caption a video.
    """
    if sentence is None:
        return always_silent(references)
    return {
        video: [_item(span, sentence, k) for k, span in enumerate(_spans(reference["duration"], segment_frames))]
        for video, reference in references.items()
    }


def verbalised_argmax(
    references: References,
    segment_scores: Mapping[str, Sequence[Float[np.ndarray, "n c"]]],
    sentences: Sequence[str | None],
    segment_frames: SegmentFrames,
) -> Items:
    """The label with the highest mean score of each segment, put into words.

    Args:
        references: {video: {"duration": seconds}}.
        segment_scores: for each video the classifier scores of its segments' rows [n, classes].
        sentences: the sentence of each class; None for background, which stays silent, as does a segment
            without rows.
        segment_frames: Δt in frames at 30 per second, or "video".
    """
    result: Items = {}
    for video, reference in references.items():
        result[video] = []
        for k, span in enumerate(_spans(reference["duration"], segment_frames)):
            rows = segment_scores[video][k]
            sentence = sentences[int(np.argmax(rows.mean(axis=0)))] if len(rows) else None
            if sentence is not None:
                result[video].append(_item(span, sentence, k))
    return result


def other_video(number: int, seed: int) -> Int[np.ndarray, " n"]:
    """For each of `number` videos another one of them, at random: one cycle through a shuffled order.

    A single video can only be given to itself; `borrowed_rows` still shifts it in time.
    """
    order = np.random.default_rng(seed).permutation(number)
    result = np.empty(number, np.int64)
    result[order] = np.roll(order, 1)
    return result


def borrowed_rows(rows: Float[np.ndarray, "m c"], length: int, index: int, seed: int) -> Float[np.ndarray, "n c"]:
    """Another video's feature rows as the features of a video with `length` rows.

    Args:
        rows: the other video's features.
        length: rows wanted; the other video is repeated from its beginning where it is shorter.
        index: number of the video that borrows; with `seed` it decides where in the other video the rows start.
        seed: of the shuffle.

    Returns:
        [length, c], rotated in time by a random amount, so that the videos' beginnings do not meet.
    """
    start = int(np.random.default_rng((seed, index)).integers(1, max(2, len(rows))))
    return rows[(start + np.arange(length)) % len(rows)]
