"""Scores a checkpoint on a split, beside baselines that know nothing.

    python -m lvc_jax.evaluate --checkpoint=runs/shapes --split=test --segment_frames=24,48 --output=runs/shapes/scores

Writes predictions_<Δt>.json, scores.json, table.txt, table.md, live_score_<Δt>.png, timeline_<Δt>.png and report.html;
on 50Salads also actions_<Δt>.json and actions_<Δt>.png: the captions scored as online action detection.
"""

import shlex
import sys
from pathlib import Path

from absl import flags, logging
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from lvc_jax import cli
from lvc_jax.data.datasets import open_dataset
from lvc_jax.errors import InputError
from lvc_jax.evaluation import actions, baselines, predict, render, suite, table
from lvc_jax.evaluation.caption_loss import caption_loss_note, caption_losses
from lvc_jax.evaluation.run import Run, evaluate
from lvc_jax.evaluation.selection import Selection
from lvc_jax.files import check_writable
from lvc_jax.training import checkpoints
from lvc_jax.training.assemble import make_sample_config
from lvc_jax.training.trained_on import outside_training
from lvc_jax.version import __version__

FLAGS = flags.FlagValues()
CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "Workdir of a training run, or its checkpoints folder.", flag_values=FLAGS
)
WHICH = flags.DEFINE_enum(
    "which", "best", ["best", "latest"], "Best by validation score, or the newest.", flag_values=FLAGS
)
SPLIT = flags.DEFINE_string("split", "val", "Split to caption.", flag_values=FLAGS)
SEGMENT_FRAMES = flags.DEFINE_string(
    "segment_frames", "150", "Δt in frames at 30 per second: a list, or 'video'.", flag_values=FLAGS
)
OUTPUT = flags.DEFINE_string(
    "output", None, "Folder for predictions, scores, table, plots and report.", flag_values=FLAGS
)
MAX_VIDEOS = flags.DEFINE_integer(
    "max_videos", None, "A seeded sample of this many videos instead of all.", flag_values=FLAGS
)
SEED = flags.DEFINE_integer("seed", 0, "Of the sample and of the shuffled features.", lower_bound=0, flag_values=FLAGS)
DATA_DIR = flags.DEFINE_string(
    "data_dir", None, "Folder of prepared datasets; the checkpoint's by default.", flag_values=FLAGS
)
DATASET = flags.DEFINE_string("dataset", None, "Dataset; the checkpoint's by default.", flag_values=FLAGS)
TRAIN_SPLIT = flags.DEFINE_string("train_split", None, "Where the most frequent caption is counted.", flag_values=FLAGS)
CONSOLIDATION = flags.DEFINE_enum(
    "consolidation", None, ["slot", "events", "rerank"], "Temporal filter.", flag_values=FLAGS
)
MEMORY = flags.DEFINE_integer(
    "memory", None, "M, segments in the window, the current one included.", lower_bound=1, flag_values=FLAGS
)
BEAM_SIZE = flags.DEFINE_integer(
    "beam_size", None, "Hypotheses of a beam search for each caption; 1 is greedy.", lower_bound=1, flag_values=FLAGS
)
BATCH = flags.DEFINE_integer("batch", 8, "Videos captioned at once.", lower_bound=1, flag_values=FLAGS)
CAPTION_LOSS = flags.DEFINE_bool(
    "caption_loss",
    False,
    "Also the training's caption loss, beside a unigram model and shuffled features.",
    flag_values=FLAGS,
)
BASELINES = flags.DEFINE_list(
    "baselines", ["all"], "Baselines beside the model: names, 'all' or 'none'.", flag_values=FLAGS
)
TIMELINESS = flags.DEFINE_string(
    "timeliness",
    None,
    "When a caption is an event's: 'label', or a scorer's least score as in 'ROUGE-L>=0.3'; by default 'label' where "
    "captions come from a fixed list of sentences, else 'ROUGE-L>=0.3'.",
    flag_values=FLAGS,
)


def main() -> None:
    if not CHECKPOINT.value:
        raise InputError("--checkpoint is missing: give the workdir of a training run")
    if not OUTPUT.value:
        raise InputError("--output is missing: give a folder for the results")
    check_writable(OUTPUT.value, "--output")
    logging.set_verbosity(logging.ERROR)  # the checkpoint reader comments on each of its own steps
    frames = suite.parse_segment_frames(SEGMENT_FRAMES.value)
    rule = None if TIMELINESS.value is None else suite.parse_timeliness(TIMELINESS.value)
    model = checkpoints.load_for_inference(CHECKPOINT.value, which=WHICH.value)
    for note in filter(None, (outside_training(model.config, entry) for entry in frames)):
        print(f"warning: {note}", file=sys.stderr)
    name = DATASET.value or model.config.dataset
    data_dir = DATA_DIR.value or model.config.data_dir
    dataset = open_dataset(data_dir, name, SPLIT.value)
    predict.check_features(model.feature_info, dataset.info, f"{name}, split {SPLIT.value}")
    chosen = baselines.choose(BASELINES.value, name)
    selection = Selection(dataset, MAX_VIDEOS.value, SEED.value)
    most_frequent = losses = None
    if "most_frequent" in chosen or CAPTION_LOSS.value:
        train_split = TRAIN_SPLIT.value or model.config.get("train_split", "train")
        own = train_split == SPLIT.value  # the same files are parsed once
        try:
            sentences = (dataset if own else open_dataset(data_dir, name, train_split)).sentences()
        except InputError as error:
            raise InputError(
                f"{error}; its most frequent caption is a baseline: --train_split names another split, "
                "--baselines=none leaves it out"
            ) from None
        most_frequent = baselines.most_frequent_sentence(sentences) if "most_frequent" in chosen else None
        if CAPTION_LOSS.value:
            windows = make_sample_config(model.config)
            losses = caption_losses(model, dataset, sentences, windows, videos=selection.indices.tolist())
    run = Run(
        model=model,
        selection=selection,
        segment_frames=frames,
        overrides={"consolidation": CONSOLIDATION.value, "memory": MEMORY.value, "beam_size": BEAM_SIZE.value},
        baselines=chosen,
        most_frequent=most_frequent,
        batch=BATCH.value,
        rule=rule or suite.timeliness_of(dataset.caption_kind),
        actions=actions.scored(name),
        header={
            "checkpoint": str(CHECKPOINT.value),
            "which": model.which,
            "step": int(model.step),
            "dataset": name,
            "split": SPLIT.value,
            "features": dataset.info.backbone,
            "version": __version__,
        },
    )
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    console = Console(stderr=True)
    quiet = not console.is_terminal
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True, disable=quiet) as bar:
        results = evaluate(run, bar)
    results.notes.insert(0, _checkpoint_note(model))
    if losses is not None:
        results.caption_losses = losses
        results.notes.append(caption_loss_note(losses))
    output = Path(OUTPUT.value)
    title = (
        f"{name}, split {SPLIT.value}, {len(run.selection)} videos; captions: {dataset.caption_kind}; "
        f"features: {dataset.info.backbone}"
    )
    render.write(
        output,
        title=title,
        kind=dataset.caption_kind,
        run=run,
        results=results,
        command=shlex.join(["python", "-m", "lvc_jax.evaluate", *sys.argv[1:]]),
    )
    table.show(title, render.rows(results))
    if run.actions:
        print()
        table.show(render.ACTIONS_TITLE, render.action_rows(results), table.ACTION_COLUMNS)
    print("\n".join(results.notes))
    for line in dict.fromkeys(line for lines in render.signatures(run, results).values() for line in lines):
        print(line)
    print(f"report: {output / 'report.html'}")


def _checkpoint_note(model: checkpoints.Loaded) -> str:
    """Which of the run's checkpoints was scored; asked for the best one, it is the latest where none was chosen."""
    kind = "best by validation" if model.which == checkpoints.BEST else "the latest"
    if model.which != WHICH.value:
        kind += ", as there is no best one beside it"
    return f"Checkpoint: {CHECKPOINT.value}, step {model.step} ({kind})."


if __name__ == "__main__":
    cli.run(main, FLAGS)
