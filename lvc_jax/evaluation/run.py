"""One evaluation: the model and its baselines, for every Δt."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from rich.progress import Progress

from lvc_jax.data.datasets import fifty_salads
from lvc_jax.evaluation import action_scores, baselines, predict, suite
from lvc_jax.evaluation.action_scores import ActionTable
from lvc_jax.evaluation.baselines import Items
from lvc_jax.evaluation.predict import Model
from lvc_jax.evaluation.selection import Selection
from lvc_jax.evaluation.suite import Result, SegmentFrames
from lvc_jax.metrics.slots import References
from lvc_jax.metrics.timeliness import Rule
from lvc_jax.streaming.state import StreamConfig
from lvc_jax.training.trained_on import outside_training


@dataclasses.dataclass(frozen=True)
class Run:
    """What to evaluate.

    Attributes:
        model: a loaded checkpoint.
        selection: the videos.
        segment_frames: every Δt, in frames at 30 per second, or "video".
        overrides: stream settings that win over the checkpoint's; None means "the checkpoint's".
        baselines: names out of `baselines.NAMES`.
        most_frequent: the caption of that baseline.
        header: of the predictions files.
        batch: videos captioned at once.
        rule: match of the timeliness.
        actions: whether the references are verbalised labels of 50Salads, which are scored as actions too.
    """

    model: Model
    selection: Selection
    segment_frames: tuple[SegmentFrames, ...]
    overrides: Mapping[str, Any]
    baselines: tuple[str, ...]
    most_frequent: str | None
    header: Mapping[str, Any]
    batch: int = 8
    rule: Rule = suite.BY_WORDS
    actions: bool = False


@dataclasses.dataclass
class Results:
    """What came out; every mapping is by Δt.

    Attributes:
        references: of the videos.
        scores: {Δt: {method: Result}}, the model first.
        actions: {Δt: captions scored as actions}, where they were asked for.
        predictions: {Δt: items} of the model.
        headers: of the predictions files.
        notes: sentences that belong beside the numbers.
        caption_losses: see `caption_loss.caption_losses`; None where it was not asked for.
    """

    references: dict[str, dict[str, Any]]
    scores: dict[SegmentFrames, dict[str, Result]] = dataclasses.field(default_factory=dict)
    actions: dict[SegmentFrames, ActionTable] = dataclasses.field(default_factory=dict)
    predictions: dict[SegmentFrames, Items] = dataclasses.field(default_factory=dict)
    headers: dict[SegmentFrames, dict[str, Any]] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)
    caption_losses: dict[str, float] | None = None


def evaluate(run: Run, bar: Progress) -> Results:
    """Captions and scores everything.

    Args:
        run: what to evaluate.
        bar: shows a task for each Δt.

    Raises:
        InputError: METEOR is to match captions, and its extra is missing; actions are asked for, and a reference is no
            verbalised label of 50Salads.
    """
    scorer = suite.pair_scorer(rule=run.rule)  # one for all methods and Δt: no pair is scored twice
    results = Results(run.selection.references())
    if run.most_frequent is not None:
        results.notes.append(f"Most frequent caption of the training split: {run.most_frequent!r}.")
    for frames in run.segment_frames:
        outside = outside_training(run.model.config, frames)
        if outside:
            results.notes.append(outside)
        total, held, _ = run.selection.count_segments(frames)
        if held:
            results.notes.append(
                f"Δt = {frames}: {held} of {total} segments bring no new feature row (one row every "
                f"{run.selection.info.stride_s:g} s): they see the last row again, or nothing before the first."
            )
        passes = 1 + ("shuffled_features" in run.baselines)
        task = bar.add_task(f"Δt = {frames}", total=passes * total)
        config = predict.stream_config(run.model, run.selection, frames, **run.overrides)
        if frames == "video":
            results.notes += _ignored(run.overrides, config)
        results.headers[frames] = {
            **run.header,
            "segment_frames": frames,
            "memory": config.memory,
            "mode": config.mode,
            "consolidation": config.consolidation,
            "timeliness": run.rule.matching,
        }
        caption = functools.partial(
            predict.caption,
            run.model,
            run.selection,
            frames,
            config,
            batch=run.batch,
            progress=functools.partial(bar.advance, task),
        )
        items: dict[str, Items] = {}
        counts: dict[str, dict[str, list[int]]] = {}
        for name in ("model", *run.baselines):
            if name in ("model", "shuffled_features"):
                counts[name] = {}
                items[name] = caption(shuffled=name != "model", counts=counts[name])
            else:
                items[name] = _baseline(name, run, results.references, frames)
        results.predictions[frames] = items["model"]
        results.scores[frames] = {
            name: suite.score(results.references, own, frames, counts=counts.get(name), rule=run.rule, scorer=scorer)
            for name, own in items.items()
        }
        if run.actions:
            results.actions[frames] = action_scores.score(results.references, items)
    return results


def _ignored(overrides: Mapping[str, Any], config: StreamConfig) -> list[str]:
    """A sentence about the given settings that whole videos do not take, if there are any."""
    names = [name for name, value in overrides.items() if value is not None and value != getattr(config, name)]
    if not names:
        return []
    given = ", ".join(f"{name} = {overrides[name]}" for name in names)
    used = ", ".join(f"{name} = {getattr(config, name)}" for name in names)
    return [f"Δt = video: {given} does not apply to whole videos, which are one segment; used instead: {used}."]


def _baseline(name: str, run: Run, references: References, frames: SegmentFrames) -> Items:
    if name == "always_silent":
        return baselines.always_silent(references)
    if name == "most_frequent":
        return baselines.most_frequent(references, run.most_frequent, frames)
    scores = {clip.id: clip.segments for clip in run.selection.clips(frames)}
    return baselines.verbalised_argmax(references, scores, fifty_salads.SENTENCES, frames)
