"""Scores a predictions file against annotations, by one metric of the field or by the suite of `evaluate`.

    python -m lvc_jax.score --predictions=predictions_150.json --references=val_1.json,val_2.json --output=scores.json
    python -m lvc_jax.score --metric=dense_captioning --predictions=p.json --references=val_1.json,val_2.json
    python -m lvc_jax.score --metric=soda --variants=a,b,c,d --predictions=p.json --references=val_1.json,val_2.json
    python -m lvc_jax.score --metric=live_score --mode=reference --predictions=p.json --references=val_1.json,val_2.json
    python -m lvc_jax.score --metric=text --predictions=captions.json --references=references.json --verify-with-java
    python -m lvc_jax.score --metric=instantaneous_accuracy --subset=Test --predictions=d.json --references=a.json
    python -m lvc_jax.score --metric=average_precision --mode=paper --predictions=d.json --references=a.json

Mode `reference` gives the numbers that the original program prints, `paper` our reading, in which every odd case is
defined. The default is `reference`; for live_score and the suite it is `paper`. docs/metrics.md explains every metric,
option and file. Prints a table (x 100), what was covered, and a signature that names every choice.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from absl import flags

from lvc_jax import cli
from lvc_jax.errors import InputError
from lvc_jax.evaluation import table
from lvc_jax.evaluation.scoring import actions, captions, everything, java, uses
from lvc_jax.evaluation.scoring import show as terminal
from lvc_jax.evaluation.scoring.inputs import naming
from lvc_jax.evaluation.scoring.options import METRICS, MODES, Options
from lvc_jax.evaluation.scoring.scored import Scored
from lvc_jax.files import check_writable
from lvc_jax.metrics.average_precision import IMPLEMENTATIONS
from lvc_jax.metrics.dense_captioning import THRESHOLDS, VERSIONS
from lvc_jax.metrics.soda import REFERENCE_SETS
from lvc_jax.metrics.text.scorers import PairScorer
from lvc_jax.outputs import plots

FLAGS = flags.FlagValues()


def _text(name: str, default: str | None, meaning: str) -> None:
    flags.DEFINE_string(name, default, meaning, flag_values=FLAGS)


def _choice(name: str, choices: list[str], meaning: str) -> None:
    flags.DEFINE_enum(name, None, choices, meaning, flag_values=FLAGS)


def _list(name: str, default: list[str] | None, meaning: str) -> None:
    flags.DEFINE_list(name, default, meaning, flag_values=FLAGS)


_choice("metric", list(METRICS), "What to score by; without it the suite of `evaluate`.")
_text("predictions", None, "File to score.")
_list("references", None, "Annotation file, or one for each annotator.")
_choice("mode", list(MODES), "The original program's numbers, or ours.")
_text("output", None, "JSON file for the scores.")
_text("plot", None, "Folder for pictures (PNG).")
_list("scorers", None, "Text scorers: BLEU-1, BLEU-2, BLEU-3, BLEU-4, METEOR, ROUGE-L, CIDEr.")
flags.DEFINE_bool(
    "verify-with-java", False, "Run the original METEOR, if Java is there, on a sample.", flag_values=FLAGS
)
flags.DEFINE_alias("verify_with_java", "verify-with-java", flag_values=FLAGS)
_choice("version", list(VERSIONS), "Dense captioning: whose evaluator; default 2018, in mode paper strict.")
_list("tiou", [f"{limit:g}" for limit in THRESHOLDS], "Dense captioning, SODA a: tIoU thresholds.")
flags.DEFINE_bool("paragraph", False, "Dense captioning: also score paragraphs.", flag_values=FLAGS)
_list("variants", ["c"], "SODA: a, b, c, d.")
_choice(
    "reference_sets",
    ["both", "first", *REFERENCE_SETS],
    "Annotation sets. Live Score: both or first; SODA: mean, merged or best.",
)
_text("segment_frames", None, "Live Score: Δt in frames, or 'video'; by default what the predictions file says.")
flags.DEFINE_float("fps", 30.0, "Live Score: frames a second that Δt counts.", flag_values=FLAGS)
flags.DEFINE_integer("window", 5, "Live Score: slots of the history.", lower_bound=1, flag_values=FLAGS)
_choice("clock", ["dt", "prediction"], "Live Score: a slot is Δt of time, or a prediction.")
_choice("gamma", ["mean", "aggregate"], "Live Score: how a slot's pairs make one number.")
_choice("history", ["min(K,w)", "K"], "Live Score: denominator of the windowed forms.")
_choice("silent", ["skip", "one", "zero"], "Live Score: slots that are rightly silent.")
_choice("missed", ["zero", "skip"], "Live Score: slots with events and no caption.")
_text("timeliness", None, "Suite: when a caption is an event's: 'label', or a scorer's least score, 'ROUGE-L>=0.3'.")
_text("subset", None, "Online action detection: part of the videos; default Test, where there is one.")
flags.DEFINE_float("slot", 0.5, "Online action detection: Δt in seconds.", flag_values=FLAGS)
_choice("implementation", list(IMPLEMENTATIONS), "Average precision: whose rules; lstr, in paper standard.")
_text("ambiguous", None, "Average precision: class of frames to leave out.")
_list("ignore", [], "Average precision: classes that no mean contains.")
flags.DEFINE_bool("per_stage", False, "Average precision: also score the ten stages of actions.", flag_values=FLAGS)

_CAPTIONS: dict[str, Callable[[Options], tuple[Scored, PairScorer | None]]] = {
    "text": captions.text,
    "dense_captioning": captions.dense,
    "soda": captions.soda,
    "live_score": captions.live,
}
_ACTIONS: dict[str, Callable[[Options], Scored]] = {
    "instantaneous_accuracy": actions.instantaneous_accuracy,
    "average_precision": actions.average_precision,
}


def _options() -> Options:
    values: dict[str, Any] = {field.name: FLAGS[field.name].value for field in dataclasses.fields(Options)}
    if not values["predictions"] or not values["references"]:
        raise InputError("--predictions and --references are both needed; see --help")
    try:
        values["tiou"] = tuple(float(word) for word in values["tiou"])
    except ValueError as error:
        raise InputError(f"--tiou={','.join(values['tiou'])}: {error}: give numbers above 0 and up to 1") from None
    return Options(**values)


def _score(metric: str | None, options: Options) -> tuple[Scored, str | None]:
    """The score, and Δt if it is the suite's."""
    if metric in _ACTIONS:
        return _ACTIONS[metric](options), None
    if metric is None:
        scored, frames = everything.score(options)
        return scored, str(frames)
    verify = FLAGS["verify-with-java"].value
    if verify:
        java.check(options.scorers)
    scored, scorer = _CAPTIONS[metric](options)
    if verify:
        scored = dataclasses.replace(scored, more={**scored.more, "java": java.compare(scorer)})
    return scored, None


def main() -> None:
    options, metric = _options(), FLAGS["metric"].value
    if FLAGS["output"].value:
        output = Path(FLAGS["output"].value)
        check_writable(output.parent, "--output", output.name)
    if FLAGS["plot"].value:
        check_writable(FLAGS["plot"].value, "--plot")
    with naming(options.predictions, options.references):
        scored, frames = _score(metric, options)
    given = [name for name in uses.FLAGS if FLAGS[name].present]
    holds = scored.holds | ({uses.PICTURES} if scored.figures else set())
    scored = dataclasses.replace(scored, notes=(*uses.notes(metric, given, holds), *scored.notes))
    if frames is None:
        terminal.show(scored, f"{options.predictions}: {metric}")
    else:
        table.show(options.predictions, {frames: {"predictions": scored.scores}})
        terminal.show_rest(scored)
    try:
        _keep(scored)
    except OSError as error:
        raise InputError(f"{error.filename or '--output, --plot'}: cannot be written: {error.strerror}") from None


def _keep(scored: Scored) -> None:
    if FLAGS["output"].value:
        scored.write(FLAGS["output"].value)
    if FLAGS["plot"].value:
        for name, draw in scored.figures.items():
            plots.save(draw(), f"{FLAGS['plot'].value}/{name}.png")


if __name__ == "__main__":
    cli.run(main, FLAGS)
