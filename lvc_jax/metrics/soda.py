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
`merged` puts all events into one list; `best` takes for each video (and τ) the set with the best F, the first of
equals.

Mode `reference` gives the original's numbers, which cover the videos that have both captions and events. As there,
`best` leaves the events in the order of the file, and the pairs of `a` and `b` are those of
`soda_matching.original_pairs`. The tokenizer reads the captions of a run as lines of one text, and its events (see
`text.lines`): by video in the order of the references, within it as they are matched. Which order of videos the
original has is not known; it decides only how a period is read that ends a video's last sentence. Where the original
stops, hangs or has no number: a video with an empty list of captions counts as not predicted, a set without events is
left out, nothing to score gives 0.

Mode `strict` defines every odd case: a video without captions has 0; a video without events has 0 if it has captions
and does not count if it has none; the union has no guard, and τ the tolerance of dense captioning; captions without a
letter or digit are no captions, events without one, without length or reversed are left out; events are always sorted;
the pairs of `a` and `b` are a best matching; every sentence is tokenised alone, and the text scorer takes its
`standard` reading.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.errors import InputError
from lvc_jax.metrics.dense_captioning.localisation import THRESHOLDS, TOLERANCE, check_thresholds
from lvc_jax.metrics.dense_captioning.matching import (
    GUARD,
    Intervals,
    flatten_events,
    flatten_predictions,
    overview,
    paired_iou,
    usable,
)
from lvc_jax.metrics.result import Result
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.soda_matching import best_pairs, best_sums, original_pairs
from lvc_jax.metrics.text.lines import as_read
from lvc_jax.metrics.text.scorers import PairScorer
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER

VARIANTS = ("a", "b", "c", "d")
REFERENCE_SETS = ("mean", "merged", "best")
MODES = ("reference", "strict")


class _Task(NamedTuple):
    """One video in one run: its events and captions in order of their start, and their tIoU."""

    run: int
    video: int
    event: Int[np.ndarray, " g"]
    prediction: Int[np.ndarray, " p"]
    iou: Float[np.ndarray, "g p"]


def evaluate(
    references: References,
    predictions: Predictions,
    variants: Sequence[str] = ("c",),
    *,
    reference_sets: str = "mean",
    mode: str = "reference",
    scorer: str = "METEOR",
    thresholds: Sequence[float] = THRESHOLDS,
    pair_scorer: PairScorer | None = None,
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
    sets, coverage = overview(references, predictions)
    limits = check_thresholds(thresholds)
    strict = mode == "strict"
    videos = list(references)
    events, found = flatten_events(references, videos), flatten_predictions(predictions, videos)
    if strict:
        events, found, left_out = usable(events, found)
        coverage |= left_out
    place = np.arange(len(events.video)) if reference_sets == "best" and not strict else events.span[:, 0]
    order = np.lexsort((place, events.video))
    merged = reference_sets == "merged"
    tasks = _tasks(events, found, order, 1 if merged else sets, strict)
    coverage = {
        "videos_scored": len({task.video for task in tasks}),
        **coverage,
        "predictions_without_match": _unmatched(tasks, len(found.video)),
    }
    if not strict:
        scored = np.unique([task.video for task in tasks])
        events = _as_lines(events, order, scored, np.zeros_like(events.group) if merged else events.group)
        found = _as_lines(found, np.lexsort((found.span[:, 0], found.video)), scored, found.group)
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


def _split(order: Int[np.ndarray, " n"], video: Int[np.ndarray, " n"], videos: int) -> list[Int[np.ndarray, " m"]]:
    """What is ordered by video, by video."""
    return np.split(order, np.cumsum(np.bincount(video, minlength=videos))[:-1])


def _tasks(events: Intervals, found: Intervals, order: Int[np.ndarray, " e"], runs: int, strict: bool) -> list[_Task]:
    """The videos of every run; with one run all sets are in it.

    Args:
        events: of all videos.
        found: the captions.
        order: the events by video, within it as they are matched.
        runs: one for each annotation set, or one for all.
        strict: what is missing counts.
    """
    videos = 1 + max(int(events.video.max(initial=0)), int(found.video.max(initial=0)))
    captions = _split(np.lexsort((found.span[:, 0], found.video)), found.video, videos)
    eventful = np.bincount(events.video, minlength=videos) > 0
    tasks = []
    for run in range(runs):
        own = order[events.group[order] == run] if runs > 1 else order
        for video, (event, prediction) in enumerate(zip(_split(own, events.video[own], videos), captions)):
            # In `strict` a silent video is in every run, and what is missing counts.
            wanted = len(event) or not eventful[video] if strict else len(event) and len(prediction)
            if wanted and (len(event) or len(prediction)):
                iou = paired_iou(found.span[prediction][None], events.span[event][:, None], 0.0 if strict else GUARD)
                tasks.append(_Task(run, video, event, prediction, iou))
    return tasks


def _as_lines(
    part: Intervals, order: Int[np.ndarray, " n"], scored: Int[np.ndarray, " v"], call: Int[np.ndarray, " n"]
) -> Intervals:
    """The same with its sentences as the original's tokenizer reads them, which gets those of a call as lines.

    Args:
        part: captions or events.
        order: their lines.
        scored: the videos that take part.
        call: the call of each.
    """
    order = order[np.isin(part.video[order], scored)]
    order = order[np.argsort(call[order], kind="stable")]
    sentence = part.sentence.copy()
    sentence[order] = np.array(as_read(sentence[order].tolist(), call[order]), object)
    return part._replace(sentence=sentence)


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
    pair_scorer: PairScorer | None,
) -> dict[str, Float[np.ndarray, "t l 3"]]:
    """Precision, recall and F of each task, by variant; a row for each τ of variant a, one for the others."""
    choose, tolerance = (best_pairs, TOLERANCE) if mode == "strict" else (original_pairs, 0.0)
    # By variant, τ and task.
    matched: dict[str, list[list[list[tuple[int, int]]]]] = {
        variant: [
            [choose(np.where(task.iou < limit - tolerance, 0.0, task.iou)) for task in tasks]
            for limit in (limits if variant == "a" else (0.0,))
        ]
        for variant in variants
        if variant in "ab"
    }
    wanted = [np.zeros(task.iou.shape, bool) for task in tasks]
    for index, (task, mask) in enumerate(zip(tasks, wanted)):
        if "c" in variants:
            mask |= task.iou > 0
        for pairs in (chosen[index] for by_limit in matched.values() for chosen in by_limit):
            mask[tuple(np.array(pairs, np.int64).reshape(-1, 2).T)] = True
    sentence = _sentence_scores(tasks, wanted, events, found, scorer, mode, pair_scorer)
    values = {}
    for variant in variants:
        if variant in matched:
            totals = [
                [sum(float(score[pair]) for pair in pairs) for score, pairs in zip(sentence, chosen)]
                for chosen in matched[variant]
            ]
        else:
            gains = [task.iou * score if variant == "c" else task.iou for task, score in zip(tasks, sentence)]
            totals = [[float(best_sums(gain)[-1, -1]) for gain in gains]]
        values[variant] = _shares(np.array(totals), tasks)
    return values


def _sentence_scores(
    tasks: Sequence[_Task],
    wanted: Sequence[np.ndarray],
    events: Intervals,
    found: Intervals,
    scorer: str,
    mode: str,
    pair_scorer: PairScorer | None,
) -> list[Float[np.ndarray, "g p"]]:
    """S of the wanted pairs of each task, 0 elsewhere."""
    scores = [np.zeros(task.iou.shape) for task in tasks]
    event = np.concatenate([np.zeros(0, np.int64), *(t.event[m.nonzero()[0]] for t, m in zip(tasks, wanted))])
    prediction = np.concatenate([np.zeros(0, np.int64), *(t.prediction[m.nonzero()[1]] for t, m in zip(tasks, wanted))])
    if len(event):
        pair_scorer = pair_scorer or PairScorer([scorer], reading="standard" if mode == "strict" else "reference")
        captions = [(text,) for text in found.sentence[prediction].tolist()]
        flat = pair_scorer.sentence(events.sentence[event].tolist(), captions)[scorer]
        for part, score, mask in zip(np.split(flat, np.cumsum([m.sum() for m in wanted])[:-1]), scores, wanted):
            score[mask] = part
    return scores


def _shares(total: Float[np.ndarray, "l t"], tasks: Sequence[_Task]) -> Float[np.ndarray, "t l 3"]:
    precision = total / np.maximum([len(task.prediction) for task in tasks], 1)
    recall = total / np.maximum([len(task.event) for task in tasks], 1)
    f = 2 * precision * recall / np.where(precision + recall > 0, precision + recall, 1.0)
    return np.moveaxis(np.stack([precision, recall, f], axis=-1), 0, 1)


def _named(name: str, row: Float[np.ndarray, " 3"]) -> dict[str, float]:
    return {f"{name}/precision": float(row[0]), f"{name}/recall": float(row[1]), name: float(row[2])}


def _combine(
    tasks: Sequence[_Task], rows: Float[np.ndarray, "t l 3"], reference_sets: str
) -> tuple[dict[str, float], dict[int, Float[np.ndarray, " 3"]]]:
    """The scores of all videos by suffix of the name, and the row of each video."""
    by_video: dict[int, list[np.ndarray]] = {}
    by_run: dict[int, list[np.ndarray]] = {}
    for task, row in zip(tasks, rows):
        by_video.setdefault(task.video, []).append(row)
        by_run.setdefault(task.run, []).append(row.mean(axis=0))
    if reference_sets == "best":
        own = {video: _best(np.stack(found)) for video, found in by_video.items()}
    else:
        own = {video: np.mean(found, axis=(0, 1)) for video, found in by_video.items()}
    runs = {run: np.mean(found, axis=0) for run, found in by_run.items()}
    parts = list(runs.values()) if reference_sets == "mean" else list(own.values())
    mean = np.mean(parts, axis=0) if parts else np.zeros(3)
    summed = _named("", mean)
    if reference_sets == "mean" and len(runs) > 1:
        summed.update({f"/set_{run + 1}": float(row[2]) for run, row in runs.items()})
    return summed, own


def _best(rows: Float[np.ndarray, "s l 3"]) -> Float[np.ndarray, " 3"]:
    """The set with the best F at each τ, mean over τ."""
    chosen = rows[..., 2].argmax(axis=0)
    return rows[chosen, np.arange(rows.shape[1])].mean(axis=0)
