"""What `evaluate` says of a model's captions, said of a predictions file."""

import dataclasses
import functools

import numpy as np

from lvc_jax.errors import InputError
from lvc_jax.evaluation import suite
from lvc_jax.evaluation.scoring import inputs
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
    given = options.segment_frames or found.header.get("segment_frames")
    if given is None:
        raise InputError(f"--segment_frames is missing, and the header of {options.predictions} does not name one")
    frames = suite.parse_segment_frames(str(given))
    if len(frames) != 1:
        raise InputError(f"--segment_frames={given}: a predictions file has one Δt")
    scorers = None if options.scorers is None else chosen_scorers(options)[0]
    reading = Reading(**options.live(scorers=scorers))
    rule = _rule(options, found)
    result = suite.score(references, found.items, frames[0], reading, rule=rule)
    coverage = {
        "videos_scored": len(found.items.keys() & references.keys()),
        "videos_missing": len(references.keys() - found.items.keys()),
        "videos_extra": len(found.items.keys() - references.keys()),
        "predictions": found.number,
        "predictions_without_match": _without_match(references, found),
    }
    scored = Scored(
        METRIC,
        "paper",
        "; ".join(suite.signatures(frames[0], reading, rule)),
        result.metrics,
        {video: own.data() for video, own in result.videos.items()},
        coverage,
        notes=tuple(inputs.repair_notes(repairs)),
    )
    if frames[0] == "video" or not result.videos:
        return scored, frames[0]
    draw = functools.partial(_over_time, result, references, frames[0], reading.names[-1])
    return dataclasses.replace(scored, figures={"live_score": draw}), frames[0]


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


def _over_time(result: suite.Result, references: inputs.References, frames: int, scorer: str):
    time, means, number = suite.over_time(result.videos, references, frames)
    column = next(iter(result.videos.values())).scorers.index(scorer)
    curves = {variant: means[:, index, column] for index, variant in enumerate(VARIANTS)}
    return plots.score_over_time(time, curves, f"{scorer}, mean of videos", videos=number.astype(np.float64))
