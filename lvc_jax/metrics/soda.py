"""SODA: captions and events matched one to one in order of time (SODA paper, ECCV 2020).

Captions and events are sorted by their start. A matching keeps that order and maximises the sum of a gain over pairs:

- `c`: gain tIoU · S, value the sum of the gains; S is the sentence score with the caption in the place of the reference
  and the event's sentence in that of the hypothesis, as the original passes them;
- `d`: gain tIoU, value the sum of the gains;
- `b`: gain tIoU, value the sum of S over the matched pairs;
- `a`: as `b` with every tIoU below τ set to 0, mean over τ.

Precision is the value over the number of captions, recall over the number of events, F their harmonic mean (0 if both
are 0); the score is the mean of F over videos.

Several annotation sets: `mean` scores each set in a run of its own and takes the mean of the runs (PDVC reference);
`merged` puts all events into one list; `best` takes for each video the set with the best F (the first of equals).

Mode `reference` scores the videos that have both captions and events, as the original. Where that stops, hangs or has
no number: a video with an empty list of captions counts as not predicted, a set without events is left out, nothing to
score gives 0. Mode `strict` defines every odd case: a video without captions has 0; a video without events has 0 if it
has captions and does not count if it has none; the union has no guard; captions without a letter or digit are no
captions, events without one, without length or reversed are left out; the text scorer takes its `standard` reading.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.errors import InputError
from lvc_jax.metrics.dense_captioning.localisation import THRESHOLDS, check_thresholds
from lvc_jax.metrics.dense_captioning.matching import GUARD, Intervals, flatten_events, flatten_predictions, paired_iou
from lvc_jax.metrics.dense_captioning.result import Result
from lvc_jax.metrics.dense_captioning.scoring import TextScorer, default_scorer
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER

VARIANTS = ("a", "b", "c", "d")
REFERENCE_SETS = ("mean", "merged", "best")
MODES = ("reference", "strict")
PARTS = ("precision", "recall", "f")


class _Task(NamedTuple):
    """One video in one run: its events and captions in order of their start, and their tIoU."""

    run: int
    video: int
    event: Int[np.ndarray, " g"]
    prediction: Int[np.ndarray, " p"]
    iou: Float[np.ndarray, "g p"]


def best_sums(gain: Float[np.ndarray, "g p"]) -> Float[np.ndarray, "g+1 p+1"]:
    """The largest sum of gains of an order-preserving one-to-one matching of the first i rows and j columns."""
    sums = np.zeros((gain.shape[0] + 1, gain.shape[1] + 1))
    for row, values in enumerate(gain):
        np.maximum(sums[row, 1:], sums[row, :-1] + values, out=sums[row + 1, 1:])
        np.maximum.accumulate(sums[row + 1], out=sums[row + 1])
    return sums


def best_pairs(gain: Float[np.ndarray, "g p"]) -> list[tuple[int, int]]:
    """The pairs of a best matching; among equal ones the one whose pairs all gain and end earliest."""
    sums = best_sums(gain)
    row, column = gain.shape
    pairs = []
    while row and column:
        if sums[row, column] == sums[row - 1, column]:
            row -= 1
        elif sums[row, column] == sums[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            pairs.append((row, column))
    return pairs[::-1]


def evaluate(
    references: References,
    predictions: Predictions,
    variants: Sequence[str] = ("c",),
    *,
    reference_sets: str = "mean",
    mode: str = "reference",
    scorer: str = "METEOR",
    thresholds: Sequence[float] = THRESHOLDS,
    pair_scorer: TextScorer | None = None,
) -> Result:
    """SODA of a set of predictions.

    Args:
        references: {video: {"references": [[(start, end, sentence), ...] per annotation set]}}, seconds. A set is empty
            for a video that its file lacks, so that place k means the same file for every video.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence"}]}.
        variants: of `VARIANTS`.
        reference_sets: one of `REFERENCE_SETS`.
        mode: one of `MODES`.
        scorer: the sentence score; METEOR in the original. Another one becomes part of the names.
        thresholds: τ of variant a.
        pair_scorer: scores the sentences; a new one by default.

    Returns:
        Fractions: `SODA_c` (F), `SODA_c/precision`, `SODA_c/recall`; with `mean` and several sets also
        `SODA_c/set_1` and so on, F of each run. A video's value under `mean` is the mean over the runs that score it.

    Raises:
        InputError: no reference video, malformed times or sentences, an unknown choice.
    """
    for name, value, choices in (
        ("reference_sets", reference_sets, REFERENCE_SETS),
        ("mode", mode, MODES),
        *(("variant", variant, VARIANTS) for variant in variants),
    ):
        if value not in choices:
            raise InputError(f"soda: {name} {value!r}: choose one of {', '.join(choices)}")
    if not references:
        raise InputError("soda: no reference video to score against")
    limits = check_thresholds(thresholds)
    strict = mode == "strict"
    videos = list(references)
    events, found = flatten_events(references, videos), flatten_predictions(predictions, videos)
    coverage = {
        "videos_missing": sum(not predictions.get(video) for video in references),
        "videos_extra": sum(video not in references for video in predictions),
        "predictions": sum(len(items or ()) for items in predictions.values()),
    }
    if strict:
        usable = (events.span[:, 0] < events.span[:, 1]) & events.has_words
        coverage |= {
            "events_unusable": int((~usable).sum()),
            "predictions_wordless": int((~found.has_words).sum()),
        }
        events, found = events.keep(usable), found.keep(found.has_words)
    sets = max((len(reference["references"]) for reference in references.values()), default=0)
    tasks = _tasks(events, found, 1 if reference_sets == "merged" else sets, len(videos), strict)
    coverage = {
        "videos_scored": len({task.video for task in tasks}),
        **coverage,
        "predictions_without_match": _unmatched(tasks, len(found.video)),
    }
    values = _values(tasks, events, found, variants, limits, scorer, mode, pair_scorer)
    names = {variant: f"SODA_{variant}" + ("" if scorer == "METEOR" else f"_{scorer}") for variant in variants}
    scores: dict[str, float] = {}
    per_video: dict[str, dict[str, float]] = {videos[task.video]: {} for task in tasks}
    for variant, name in names.items():
        summed, own = _combine(tasks, values[variant], reference_sets)
        scores.update({name + suffix: value for suffix, value in summed.items()})
        for video, row in own.items():
            per_video[videos[video]].update(_named(name, row))
    line = signature(
        "soda",
        mode=mode,
        variants="".join(variants),
        refs=f"{sets}-{reference_sets}",
        scorer=scorer,
        **({"tiou": ",".join(f"{limit:g}" for limit in limits)} if "a" in variants else {}),
        tok=TOKENIZER,
    )
    return Result("soda", mode, line, scores, per_video, coverage)


def _tasks(events: Intervals, found: Intervals, runs: int, videos: int, strict: bool) -> list[_Task]:
    """The videos of every run; with one run all sets are in it."""
    by_start = np.lexsort((found.span[:, 0], found.video))
    captions = np.split(by_start, np.cumsum(np.bincount(found.video, minlength=videos))[:-1])
    eventful = np.bincount(events.video, minlength=videos) > 0
    tasks = []
    for run in range(runs):
        order = np.lexsort((events.span[:, 0], events.video))
        if runs > 1:
            order = order[events.group[order] == run]
        own = np.split(order, np.cumsum(np.bincount(events.video[order], minlength=videos))[:-1])
        for video, (event, prediction) in enumerate(zip(own, captions)):
            # In `strict` a silent video is in every run, and what is missing counts.
            wanted = len(event) or not eventful[video] if strict else len(event) and len(prediction)
            if wanted and (len(event) or len(prediction)):
                iou = paired_iou(found.span[prediction][None], events.span[event][:, None], 0.0 if strict else GUARD)
                tasks.append(_Task(run, video, event, prediction, iou))
    return tasks


def _unmatched(tasks: Sequence[_Task], predictions: int) -> int:
    """Captions that have no moment in common with any event."""
    met = np.zeros(predictions, bool)
    for task in tasks:
        met[task.prediction[task.iou.any(axis=0)]] = True
    return int((~met).sum())


def _values(
    tasks: Sequence[_Task],
    events: Intervals,
    found: Intervals,
    variants: Sequence[str],
    limits: Sequence[float],
    scorer: str,
    mode: str,
    pair_scorer: TextScorer | None,
) -> dict[str, Float[np.ndarray, "t 3"]]:
    """Precision, recall and F of each task, by variant."""
    matched: dict[str, list[list[tuple[int, int]]]] = {}
    if "b" in variants:
        matched["b"] = [best_pairs(task.iou) for task in tasks]
    if "a" in variants:
        matched["a"] = [
            [pair for limit in limits for pair in best_pairs(np.where(task.iou < limit, 0.0, task.iou))]
            for task in tasks
        ]
    wanted = [np.zeros(task.iou.shape, bool) for task in tasks]
    for index, (task, mask) in enumerate(zip(tasks, wanted)):
        if "c" in variants:
            mask |= task.iou > 0
        for pairs in matched.values():
            mask[tuple(np.array(pairs[index], np.int64).reshape(-1, 2).T)] = True
    sentence = _sentence_scores(tasks, wanted, events, found, scorer, mode, pair_scorer)
    totals: dict[str, list[float]] = {}
    for variant in variants:
        if variant in matched:
            share = 1.0 if variant == "b" else 1.0 / len(limits)
            totals[variant] = [
                share * sum(float(score[pair]) for pair in pairs) for score, pairs in zip(sentence, matched[variant])
            ]
        else:
            gains = [task.iou * score if variant == "c" else task.iou for task, score in zip(tasks, sentence)]
            totals[variant] = [float(best_sums(gain)[-1, -1]) for gain in gains]
    return {variant: _shares(np.array(own), tasks) for variant, own in totals.items()}


def _sentence_scores(
    tasks: Sequence[_Task],
    wanted: Sequence[np.ndarray],
    events: Intervals,
    found: Intervals,
    scorer: str,
    mode: str,
    pair_scorer: TextScorer | None,
) -> list[Float[np.ndarray, "g p"]]:
    """S of the wanted pairs of each task, 0 elsewhere."""
    scores = [np.zeros(task.iou.shape) for task in tasks]
    event = np.concatenate([np.zeros(0, np.int64), *(t.event[m.nonzero()[0]] for t, m in zip(tasks, wanted))])
    prediction = np.concatenate([np.zeros(0, np.int64), *(t.prediction[m.nonzero()[1]] for t, m in zip(tasks, wanted))])
    if len(event):
        pair_scorer = pair_scorer or default_scorer([scorer], "standard" if mode == "strict" else "reference")
        captions = [(text,) for text in found.sentence[prediction].tolist()]
        flat = pair_scorer.sentence(events.sentence[event].tolist(), captions)[scorer]
        for part, score, mask in zip(np.split(flat, np.cumsum([m.sum() for m in wanted])[:-1]), scores, wanted):
            score[mask] = part
    return scores


def _shares(total: Float[np.ndarray, " t"], tasks: Sequence[_Task]) -> Float[np.ndarray, "t 3"]:
    precision = total / np.maximum([len(task.prediction) for task in tasks], 1)
    recall = total / np.maximum([len(task.event) for task in tasks], 1)
    f = 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1.0)
    return np.column_stack([precision, recall, f])


def _named(name: str, row: Float[np.ndarray, " 3"]) -> dict[str, float]:
    return {f"{name}/precision": float(row[0]), f"{name}/recall": float(row[1]), name: float(row[2])}


def _combine(
    tasks: Sequence[_Task], rows: Float[np.ndarray, "t 3"], reference_sets: str
) -> tuple[dict[str, float], dict[int, Float[np.ndarray, " 3"]]]:
    """The scores of all videos by suffix of the name, and the row of each video."""
    by_video: dict[int, list[np.ndarray]] = {}
    by_run: dict[int, list[np.ndarray]] = {}
    for task, row in zip(tasks, rows):
        by_video.setdefault(task.video, []).append(row)
        by_run.setdefault(task.run, []).append(row)
    if reference_sets == "best":
        own = {video: max(found, key=lambda row: row[2]) for video, found in by_video.items()}
    else:
        own = {video: np.mean(found, axis=0) for video, found in by_video.items()}
    runs = {run: np.mean(found, axis=0) for run, found in by_run.items()}
    parts = list(runs.values()) if reference_sets == "mean" else list(own.values())
    mean = np.mean(parts, axis=0) if parts else np.zeros(len(PARTS))
    summed = _named("", mean)
    if reference_sets == "mean" and len(runs) > 1:
        summed.update({f"/set_{run + 1}": float(row[2]) for run, row in runs.items()})
    return summed, own
