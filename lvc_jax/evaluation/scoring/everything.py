"""What `evaluate` says of a model's captions, said of a predictions file."""

import functools
from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from lvc_jax.errors import InputError
from lvc_jax.evaluation import suite, table
from lvc_jax.evaluation.scoring import coverage, inputs, uses
from lvc_jax.evaluation.scoring.captions import uses_of_live
from lvc_jax.evaluation.scoring.options import Options, chosen_scorers
from lvc_jax.evaluation.scoring.scored import Scored
from lvc_jax.metrics.dense_captioning.matching import flatten_events, flatten_predictions, meet
from lvc_jax.metrics.live_score import VARIANTS, Reading
from lvc_jax.metrics.timeliness import Rule
from lvc_jax.outputs import plots

METRIC = "suite"


def score(options: Options) -> tuple[Scored, suite.SegmentFrames]:
    """The suite of `evaluate`: Live Score, localisation, what a viewer notices, timeliness. Also returns Δt.

    Raises:
        InputError: a file that cannot be read; neither flag nor file name one Δt.
    """
    if options.mode == "reference":
        raise InputError("--mode=reference needs --metric: without it the suite of evaluate is scored, mode paper")
    references, repairs = inputs.repaired(options.references)
    found = inputs.read_predictions(options.predictions, references)
    frames = found.segment_frames(options.segment_frames)
    if frames is None:
        raise InputError(
            f"--segment_frames is missing, and the header of {options.predictions} does not name one "
            '({"header": {"segment_frames": 150}, "results": ...})'
        )
    notes = [*inputs.repair_notes(repairs), *found.notes(references)]
    scorers = None if options.scorers is None else chosen_scorers(options.scorers)[0]
    reading = Reading(frames, **options.live(scorers=scorers))
    rule = _rule(options, found)
    result = suite.score(references, found.items, frames, reading, rule=rule)
    scored_videos = result.videos.keys() if frames != "video" else suite.localised(references, found.items)
    holds, figures = uses_of_live(reading), {}
    if frames != "video":
        holds |= {uses.LIVE}
        notes += _without_column(scorers or ())
        if result.videos:
            figures["live_score"] = functools.partial(_over_time, result, references, frames, reading)
    scored = Scored(
        METRIC,
        "paper",
        "; ".join(suite.signatures(frames, reading, rule)),
        result.metrics,
        {video: own.data() for video, own in result.videos.items()},
        coverage.count(
            references,
            found.items,
            scored=len(scored_videos),
            without_match=_without_match(references, found),
            **coverage.left_out(references, found.items, scored_videos),
        ),
        notes=tuple(notes),
        figures=figures,
        holds=holds,
    )
    return scored, frames


def _without_column(scorers: Sequence[str]) -> list[str]:
    """A note on the scorers that were asked for and are in no column of the table of `evaluate`."""
    shown = {column.metric.rpartition("/")[2] for column in table.COLUMNS}
    hidden = [name for name in scorers if name not in shown]
    return [f"In no column of the table: {', '.join(hidden)}; --output has their Live Scores."] if hidden else []


def _rule(options: Options, found: inputs.Predicted) -> Rule:
    """The match of the timeliness: the flag's, that of the evaluation which wrote the file, or the suite's default."""
    if options.timeliness is not None:
        return suite.parse_timeliness(options.timeliness)
    written = found.header.get("timeliness")
    if written is None:
        return suite.BY_WORDS
    return suite.parse_timeliness(str(written), f"{found.path}: header: timeliness")


def _without_match(references: inputs.References, found: inputs.Predicted) -> int:
    """Predictions in annotated videos that have no moment in common with any event."""
    videos = list(references)
    said, events = flatten_predictions(found.items, videos), flatten_events(references, videos)
    # The smallest ratio above 0: touching is not meeting.
    meetings = meet(said, events, len(videos), floor=float(np.nextafter(0, 1)))
    return len(said.video) - len(np.unique(meetings.prediction))


def _over_time(result: suite.Result, references: inputs.References, frames: int, reading: Reading) -> Figure:
    """The mean of the videos' curves of one scorer: over time, or over predictions where each is a slot."""
    scorer = reading.names[-1]
    title = f"{scorer}, mean of {len(result.videos)} videos, mode {reading.mode}"
    if reading.clock == "prediction":
        longest = max(len(video.time) for video in result.videos.values())
        rows = np.full((len(result.videos), len(VARIANTS), longest), np.nan)
        for row, video in zip(rows, result.videos.values()):
            row[:, : len(video.time)] = [video.figures()[f"{variant}/{scorer}"] for variant in VARIANTS]
        own = dict(zip(VARIANTS, np.nanmean(rows, axis=0)))
        number = (~np.isnan(rows[:, 0])).sum(axis=0)
        place = np.arange(1.0, longest + 1)
        return plots.score_over_time(place, own, title, videos=number.astype(np.float64), xlabel="prediction")
    time, means, number = suite.over_time(result.videos, references, frames)
    curves = {variant: means[:, index, -1] for index, variant in enumerate(VARIANTS)}
    return plots.score_over_time(time, curves, title, videos=number.astype(np.float64))
