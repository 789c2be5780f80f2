"""The caption metrics of `score`: files in, `Scored` out."""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from lvc_jax.data import sentence_files
from lvc_jax.errors import InputError
from lvc_jax.evaluation.scoring import coverage, inputs, uses
from lvc_jax.evaluation.scoring.options import Options, chosen_scorers
from lvc_jax.evaluation.scoring.scored import Scored
from lvc_jax.metrics import dense_captioning, live_score
from lvc_jax.metrics import soda as soda_metric
from lvc_jax.metrics.live_score import TOOLKIT_LABELS, VideoScore
from lvc_jax.metrics.live_score.gamma import pair_scorer
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.text.lines import as_read, lists_as_read
from lvc_jax.metrics.text.scorers import SCORERS, PairScorer
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER
from lvc_jax.outputs import plots, plots_scores

Found = tuple[Scored, PairScorer | None]
_USUAL_FRAMES = 150


def _mode(options: Options) -> str:
    return "reference" if options.reference else "paper"


def _check_lines(options: Options, files: Sequence[Mapping[str, Sequence[str]]]) -> list[str]:
    """Notes on blank lines at the end of files of lines, which count as all others do.

    Args:
        options: name the files.
        files: what was read of the predictions, then of the references.

    Raises:
        InputError: lines are paired by their number alone: after a lost one every pair would be a wrong one.
    """
    paths = (options.predictions, *options.references)
    blanks = [sentence_files.blank_end(own) if sentence_files.is_lines(path) else 0 for path, own in zip(paths, files)]

    def number(place: int) -> str:
        return f"{len(files[place])}" + (f" (the last {blanks[place]} blank)" if blanks[place] else "")

    for place, path in enumerate(paths):
        lines = sentence_files.is_lines(path) and sentence_files.is_lines(paths[0])
        if lines and len(files[place]) != len(files[0]):
            raise InputError(
                f"{path}: {number(place)} lines, {paths[0]} has {number(0)}: lines are paired by number; give as "
                "many, or files with ids (.json)"
            )
    return [f"{path}: blank lines at its end: {own}; each counts." for path, own in zip(paths, blanks) if own]


def text(options: Options) -> Found:
    """Captions without times against their references, in one call of the scorers.

    A reference without a caption is left out in `reference` (the toolkits refuse it) and an empty caption in `paper`.
    """
    said = sentence_files.read(options.predictions)
    files = [sentence_files.read(path) for path in options.references]
    blank = _check_lines(options, [said, *files])
    meant = {name: [text for file in files for text in file.get(name, ())] for file in files for name in file}
    several = next((name for name, own in said.items() if len(own) != 1), None)
    if several is not None:
        raise InputError(f"{options.predictions}: id {several!r}: {len(said[several])} captions; give one for each id")
    lonely = next((name for name, own in meant.items() if not own), None)
    if lonely is not None:
        raise InputError(f"{options.references[0]}: id {lonely!r}: no reference sentence; give at least one")
    names = [name for name in meant if name in said or not options.reference]
    if not said.keys() & meant.keys():
        raise InputError(
            f"{options.predictions}: none of its ids has a reference: it has {next(iter(said))!r}, "
            f"the references have {next(iter(meant))!r}"
        )
    scorers, notes = chosen_scorers(options.scorers)
    notes += [*blank, *coverage.strangers(meant.keys(), said.keys(), "ids")]
    scorer = PairScorer(scorers, reading="reference" if options.reference else "standard")
    captions, sentences = [said.get(name, [""])[0] for name in names], [meant[name] for name in names]
    if options.reference:
        captions, sentences = as_read(captions), lists_as_read(sentences)
    corpus = scorer.calls(captions, sentences, np.zeros(len(names), np.int64), 1)
    own = scorer.sentence(captions, sentences)
    number = sorted({len(group) for group in sentences})
    line = signature(
        "text",
        mode=_mode(options),
        refs=f"{number[0]}-{number[-1]}" if len(number) > 1 else number[0],
        missing="skip" if options.reference else "empty",
        tok=TOKENIZER,
        scorers=",".join(scorers),
    )
    scores = {name: float(corpus[name][0]) for name in scorers}
    strangers = len(said.keys() - meant.keys())
    covered = coverage.count(meant, said, "captions", scored=len(names), without_match=strangers)
    rows = {name: {key: float(own[key][index]) for key in scorers} for index, name in enumerate(names)}
    figures = {"text": functools.partial(plots_scores.bars, f"Captions, mode {_mode(options)}", scores)}
    return Scored("text", _mode(options), line, scores, rows, covered, notes=tuple(notes), figures=figures), scorer


def dense(options: Options) -> Found:
    """Offline dense captioning by one of the evaluators; `strict` is the reading `paper`."""
    version = options.version or ("2018" if options.reference else "strict")
    strict = dense_captioning.version_named(version).strict
    if options.mode is not None and strict == options.reference:
        raise InputError(f"--version={version}: belongs to --mode={'paper' if strict else 'reference'}; leave one out")
    scorers, notes = chosen_scorers(options.scorers)
    annotated = inputs.read_annotations(options.references, lenient=not strict, timeless=not strict)
    references = inputs.as_written(annotated, keep_places=True)
    found = inputs.read_predictions(options.predictions, references, reversed_times=True, strangers=not strict)
    notes += found.notes(references)
    scorer = PairScorer(scorers, reading=dense_captioning.version_named(version).reading)
    result = dense_captioning.evaluate(
        references,
        found.items,
        version,
        thresholds=options.tiou,
        scorers=scorers,
        paragraph=options.paragraph,
        pair_scorer=scorer,
    )
    names = [*scorers, "precision", "recall"]
    lines = {name: [result.scores[f"{name}@{limit:g}"] for limit in options.tiou] for name in names}
    drawn = functools.partial(plots_scores.over_thresholds, options.tiou, lines, f"Dense captioning, {version}")
    scored = Scored(
        "dense_captioning",
        "paper" if strict else "reference",
        result.signature,
        result.scores,
        result.per_video,
        {**result.coverage, **coverage.videos(references, found.items)},
        notes=tuple(notes),
        more={"version": version},
        figures={"dense_captioning": drawn},
    )
    return scored, scorer


def soda(options: Options) -> Found:
    """SODA; the reading `paper` is `strict`."""
    # Asked for, not a default that could be left out: without its extra METEOR is an error here.
    scorers, notes = chosen_scorers(("METEOR",) if options.scorers is None else options.scorers)
    if len(scorers) != 1:
        raise InputError(f"--scorers={','.join(scorers)}: soda takes one scorer, METEOR by default")
    mode = "reference" if options.reference else "strict"
    annotated = inputs.read_annotations(options.references, lenient=options.reference, timeless=options.reference)
    references = inputs.as_written(annotated, keep_places=True)
    found = inputs.read_predictions(options.predictions, references, reversed_times=True)
    notes += found.notes(references)
    scorer = PairScorer(scorers, reading="reference" if options.reference else "standard")
    result = soda_metric.evaluate(
        references,
        found.items,
        options.variants,
        reference_sets=options.reference_sets or "mean",
        mode=mode,
        scorer=scorers[0],
        thresholds=options.tiou,
        pair_scorer=scorer,
    )
    figures = {"soda": functools.partial(plots_scores.bars, f"SODA, mode {_mode(options)}", result.scores)}
    holds = {uses.SENTENCES: {*"abc"}, uses.LIMITS: {"a"}}
    scored = Scored(
        "soda",
        _mode(options),
        result.signature,
        result.scores,
        result.per_video,
        {
            **result.coverage,
            **coverage.videos(references, found.items),
            **coverage.left_out(references, found.items, result.per_video),
        },
        notes=tuple(notes),
        figures=figures,
        holds=frozenset(condition for condition, needed in holds.items() if needed & {*options.variants}),
    )
    return scored, scorer


def live(options: Options) -> Found:
    """The Live Score; here the default reading is `paper`, as in `evaluate`.

    On the Δt clock the references are repaired as those of `evaluate`; where a slot is a prediction they are taken as
    they are written.
    """
    mode = options.mode or "paper"
    clock = options.clock or ("prediction" if mode == "reference" else "dt")
    notes: list[str] = []
    if clock == "dt":
        references, repairs = inputs.repaired(options.references)
        notes += inputs.repair_notes(repairs)
    else:
        annotated = inputs.read_annotations(options.references, lenient=mode == "reference")
        references = inputs.as_written(annotated, keep_places=False)
    found = inputs.read_predictions(options.predictions, references, reversed_times=clock == "prediction")
    notes += found.notes(references)
    default = tuple(TOOLKIT_LABELS) if mode == "reference" else SCORERS
    scorers, missing = chosen_scorers(options.scorers, default)
    frames = found.segment_frames(options.segment_frames)
    if frames is None and clock == "dt":
        missing.append(f"Δt is {_USUAL_FRAMES} frames, the default: the predictions file names none.")
    reading = live_score.Reading(
        _USUAL_FRAMES if frames is None else frames, **options.live(mode=mode, fps=options.fps, scorers=scorers)
    )
    scorer = pair_scorer(reading)
    videos = live_score.score_videos(references, found.items, reading, scorer)
    scored = Scored(
        "live_score",
        mode,
        reading.signature,
        live_score.summary(videos, reading.names),
        {video: own.data() for video, own in videos.items()},
        live_coverage(references, found, videos),
        notes=(*notes, *missing),
        more=_toolkit_labels(reading),
        figures=_live_figures(videos, reading),
        holds=uses_of_live(reading),
    )
    return scored, scorer


def _toolkit_labels(reading: live_score.Reading) -> dict[str, Any]:
    if reading.mode != "reference":
        return {}
    return {"toolkit_labels": {name: label for name, label in TOOLKIT_LABELS.items() if name in reading.names}}


def uses_of_live(reading: live_score.Reading) -> frozenset[str]:
    """Which conditions of `uses` hold for a reading."""
    clock = reading.clock == "dt"
    holds = {
        uses.PAPER: reading.mode == "paper",
        uses.CLOCK: clock,
        uses.SLOTS: not clock or reading.segment_frames != "video",
    }
    return frozenset(condition for condition, true in holds.items() if true)


def live_coverage(
    references: inputs.References, found: inputs.Predicted, videos: Mapping[str, VideoScore]
) -> dict[str, int]:
    """What Live Scores cover; a false caption is a prediction without match."""
    return coverage.count(
        references,
        found.items,
        scored=len(videos),
        without_match=int(sum(video.false_positives.sum() for video in videos.values())),
        slots=sum(len(video.time) for video in videos.values()),
        **coverage.left_out(references, found.items, videos),
    )


def _live_figures(videos: Mapping[str, VideoScore], reading: live_score.Reading) -> dict[str, Callable[[], Figure]]:
    """The figure set of the videos with the highest, the median and the lowest Live Score."""
    ranked = sorted(videos, key=lambda video: -float(videos[video].curves["LS"].mean()))
    chosen = {"best": ranked[:1], "median": ranked[len(ranked) // 2 :][:1], "worst": ranked[-1:]}

    @functools.cache  # of few videos one may have several ranks
    def drawn(name: str) -> Figure:
        ranks = " and ".join(rank for rank, names in chosen.items() if name in names)
        title = f"Video {name}, {ranks} of {len(ranked)} by mean LS, mode {reading.mode}"
        return _live_figure(videos[name], reading, title)

    return {f"live_score_{rank}": functools.partial(drawn, name) for rank, names in chosen.items() for name in names}


def _live_figure(video: VideoScore, reading: live_score.Reading, title: str) -> Figure:
    if reading.clock == "dt":
        return plots.live_scores_of_video(video.time, video.figures(), title)
    number = np.arange(1.0, len(video.time) + 1)
    return plots.live_scores_of_video(number, video.figures(), title, xlabel="prediction")
