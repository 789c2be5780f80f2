"""The dense captioning evaluators: language scores at tIoU thresholds, precision and recall (rules in `versions`)."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from lvc_jax.metrics.dense_captioning.localisation import (
    THRESHOLDS,
    TOLERANCE,
    check_thresholds,
    video_precision_recall,
)
from lvc_jax.metrics.dense_captioning.matching import (
    GUARD,
    Intervals,
    Meetings,
    flatten_events,
    flatten_predictions,
    meet,
    overview,
    usable,
)
from lvc_jax.metrics.dense_captioning.paragraph import paragraph_scores
from lvc_jax.metrics.dense_captioning.versions import Version, version_named
from lvc_jax.metrics.result import Result
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.text.lines import as_read
from lvc_jax.metrics.text.scorers import SCORERS, PairScorer
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER


class _Run(NamedTuple):
    """What is scored.

    Attributes:
        videos: those that count, v of them, in the order of the references.
        predictions: their captions that are read; `video` is the place in `videos`.
        events: their reference events that are used.
        meetings: pairs of both that reach the lowest threshold.
        coverage: counts of what is scored and what is not.
    """

    videos: list[str]
    predictions: Intervals
    events: Intervals
    meetings: Meetings
    coverage: dict[str, int]


def evaluate(
    references: References,
    predictions: Predictions,
    version: str = "2018",
    *,
    thresholds: Sequence[float] = THRESHOLDS,
    scorers: Sequence[str] = SCORERS,
    paragraph: bool = False,
    pair_scorer: PairScorer | None = None,
) -> Result:
    """Scores a set of predictions as one of the evaluators does.

    Args:
        references: {video: {"references": [[(start, end, sentence), ...] per annotation set]}}, seconds.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence"}]}; a video without any may be missing.
        version: a name in `versions.VERSIONS`.
        thresholds: tIoU thresholds.
        scorers: text scorers, of `SCORERS`; none leaves precision and recall.
        paragraph: also scores each video's captions as one paragraph: `para/<scorer>`, one number for all videos.
        pair_scorer: scores the sentences; a new one by default.

    Returns:
        Scores as fractions: `<scorer>@0.3`, `precision@0.3`, `recall@0.3` for each threshold, and each name without `@`
        as the mean over thresholds. Every score but those of paragraphs is the mean of the videos that hold it in
        `per_video`.

    Raises:
        InputError: no reference video, malformed times or sentences, an unknown version or threshold.
    """
    rules = version_named(version)
    limits = check_thresholds(thresholds)
    sets, known = overview(references, predictions)
    run = _prepare(references, predictions, rules, limits, known)
    precision, recall = video_precision_recall(
        run.predictions, run.events, run.meetings, len(run.videos), limits, inclusive=rules.strict
    )
    values = {"precision": precision, "recall": recall}
    pair_scorer = pair_scorer or PairScorer(scorers, reading=rules.reading)
    if scorers:
        values = {**_language(run, rules, limits, scorers, pair_scorer), **values}
    scores, per_video = _collect(run.videos, values, _counted(run, rules), limits)
    if paragraph:
        scores |= paragraph_scores(run.predictions, run.events, len(run.videos), scorers, pair_scorer)
    line = signature(
        "densecap",
        version=version,
        tiou=",".join(f"{limit:g}" for limit in limits),
        refs=sets,
        scorers=",".join(scorers) or "none",
        **({"para": "letters"} if paragraph else {}),
        tok=TOKENIZER,
    )
    coverage = {**run.coverage, **_unmatched(run, rules, limits)}
    return Result("dense_captioning", version, line, scores, per_video, coverage)


def _prepare(
    references: References, predictions: Predictions, rules: Version, limits: Sequence[float], known: dict[str, int]
) -> _Run:
    videos = [video for video in references if not rules.skip_missing or video in predictions]
    events = flatten_events(references, videos)
    found = flatten_predictions(predictions, videos, rules.max_predictions)
    coverage = {"videos_scored": len(videos), **known}
    coverage["predictions_over_limit"] = known["predictions"] - known["predictions_extra"] - len(found.video)
    if rules.strict:
        events, found, left_out = usable(events, found)
        coverage |= left_out
        counts = [np.bincount(part.video, minlength=len(videos)) for part in (events, found)]
        coverage["videos_scored"] = int((counts[0] + counts[1] > 0).sum())
    meetings = meet(
        found, events, len(videos), floor=min(limits) - TOLERANCE * rules.strict, guard=0.0 if rules.strict else GUARD
    )
    return _Run(videos, found, events, meetings, coverage)


def _paired(run: _Run, limit: float, rules: Version) -> Meetings:
    """The meetings that reach the threshold."""
    kept = run.meetings.iou >= limit - TOLERANCE * rules.strict
    return Meetings(*(column[kept] for column in run.meetings))


def _unmet(run: _Run, pairs: Meetings) -> Int[np.ndarray, " n"]:
    """The predictions that are in no pair."""
    met = np.zeros(len(run.predictions.video), bool)
    met[pairs.prediction] = True
    return np.flatnonzero(~met)


def _unmatched(run: _Run, rules: Version, limits: Sequence[float]) -> dict[str, int]:
    return {f"predictions_without_match@{limit:g}": len(_unmet(run, _paired(run, limit, rules))) for limit in limits}


def _language(
    run: _Run, rules: Version, limits: Sequence[float], scorers: Sequence[str], pair_scorer: PairScorer
) -> dict[str, Float[np.ndarray, "v t"]]:
    """The scorers' values of each video at each threshold; 0 for a video without captions."""
    captions = run.predictions.sentence
    # The garbage is one more reference, behind the events.
    texts = np.append(run.events.sentence, np.array([rules.garbage_for(captions)], object))
    prediction, reference, group = [], [], []
    for index, limit in enumerate(limits):
        pairs = _paired(run, limit, rules)
        unmet = _unmet(run, pairs)
        own = np.concatenate([pairs.prediction, unmet])
        # The order of the original's calls: by prediction, then by event.
        order = np.argsort(own, kind="stable")
        own = own[order]
        prediction.append(own)
        reference.append(np.concatenate([pairs.event, np.full(len(unmet), len(texts) - 1)])[order])
        group.append(run.predictions.video[own] * len(limits) + index)
    present, place = np.unique(np.concatenate(group), return_inverse=True)
    hypotheses = captions[np.concatenate(prediction)].tolist()
    sentences = texts[np.concatenate(reference)].tolist()
    if not rules.strict:
        hypotheses, sentences = as_read(hypotheses, place), as_read(sentences, place)
    lists = [(text,) for text in sentences]
    found = pair_scorer.calls(hypotheses, lists, place, len(present)) if len(present) else {}
    values = {}
    for scorer in scorers:
        flat = np.zeros(len(run.videos) * len(limits))
        if len(present):
            flat[present] = found[scorer]
        values[scorer] = flat.reshape(len(run.videos), len(limits))
    return values


def _counted(run: _Run, rules: Version) -> dict[str, Bool[np.ndarray, " v"]]:
    """Which videos count for recall, and which for everything else."""
    everywhere = np.ones(len(run.videos), bool)
    if not rules.strict:
        return {"recall": everywhere, "": everywhere}
    eventful = np.bincount(run.events.video, minlength=len(run.videos)) > 0
    captioned = np.bincount(run.predictions.video, minlength=len(run.videos)) > 0
    return {"recall": eventful, "": eventful | captioned}


def _collect(
    videos: Sequence[str],
    values: dict[str, Float[np.ndarray, "v t"]],
    counted: dict[str, Bool[np.ndarray, " v"]],
    limits: Sequence[float],
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Means over videos, and each video's own values, under the names of `evaluate`."""
    scores: dict[str, float] = {}
    per_video: dict[str, dict[str, float]] = {video: {} for video in videos}
    for name, rows in values.items():
        kept = counted.get(name, counted[""])
        table = np.column_stack([rows, rows.mean(axis=1)])
        names = [*(f"{name}@{limit:g}" for limit in limits), name]
        means = table[kept].mean(axis=0) if kept.any() else np.zeros(len(names))
        scores.update(zip(names, means.tolist()))
        for index in np.flatnonzero(kept).tolist():
            per_video[videos[index]].update(zip(names, table[index].tolist()))
    return scores, {video: own for video, own in per_video.items() if own}
