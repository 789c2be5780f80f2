"""Prepares a dataset: annotations and features in, one self-contained folder of array_record files out.

    python -m lvc_jax.prepare --dataset=fifty_salads --features=DIR --data_dir=data

What was repaired, skipped and kept is printed for each split. A killed run leaves no half dataset; a repeated one says
that there is nothing to do. See docs/datasets.md for what each dataset is made from.
"""

import time
from pathlib import Path

from absl import flags
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lvc_jax import cli
from lvc_jax.data.datasets import registry, shapes_builder, writing

FLAGS = flags.FlagValues()
DATASET = flags.DEFINE_string(
    "dataset", None, f"One of {', '.join(sorted(registry.BUILDERS))}.", required=True, flag_values=FLAGS
)
DATA_DIR = flags.DEFINE_string("data_dir", "data", "Folder of all prepared datasets.", flag_values=FLAGS)
ANNOTATIONS = flags.DEFINE_string("annotations", None, "Caption file, or folder of caption files.", flag_values=FLAGS)
FEATURES = flags.DEFINE_string(
    "features", None, "Feature folder or file, or oracle:FOLDER of action segments.", flag_values=FLAGS
)
FEATURE_DTYPE = flags.DEFINE_enum(
    "feature_dtype",
    None,
    ["float32", "float16"],
    "Type of the features on disk; default float32, for oracle:FOLDER float16.",
    flag_values=FLAGS,
)
BACKBONE = flags.DEFINE_string(
    "backbone", "colour_moments", "clips: extractor to use where no --features are given.", flag_values=FLAGS
)
BACKBONE_WEIGHTS = flags.DEFINE_string(
    "backbone_weights", None, "clips: weights of that extractor, see convert --format=tsp.", flag_values=FLAGS
)
NUM_VIDEOS = {
    split: flags.DEFINE_integer(
        f"num_{split}", None, f"moving_shapes: {split} videos.", lower_bound=0, flag_values=FLAGS
    )
    for split in ("train", "val", "test")
}
SEED = flags.DEFINE_integer(
    "seed", shapes_builder.DEFAULT_SEED, "moving_shapes: seed of the whole dataset.", flag_values=FLAGS
)
WORKERS = flags.DEFINE_integer(
    "workers", None, "moving_shapes: rendering processes; default one a core.", lower_bound=1, flag_values=FLAGS
)
SKIP_MISSING = flags.DEFINE_bool(
    "skip_missing", False, "Skip and count videos without usable features.", flag_values=FLAGS
)
OVERWRITE = flags.DEFINE_bool(
    "overwrite", False, "Replace a dataset that was prepared from other inputs.", flag_values=FLAGS
)


def main() -> None:
    begun = time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        making = bar.add_task("videos and features", total=None)
        options = registry.Options(
            data_dir=Path(DATA_DIR.value),
            annotations=ANNOTATIONS.value,
            features=FEATURES.value,
            feature_dtype=FEATURE_DTYPE.value,
            backbone=BACKBONE.value,
            backbone_weights=BACKBONE_WEIGHTS.value,
            sizes={split: flag.value for split, flag in NUM_VIDEOS.items() if flag.value is not None},
            seed=SEED.value,
            workers=WORKERS.value,
            progress=lambda done, total: bar.update(making, completed=done, total=total),
        )
        builder, source = registry.make(DATASET.value, options)
        bar.remove_task(making)
        total = sum(len(split.ids) for split in source.splits.values())
        writing_task = bar.add_task("records", total=total)
        folder, summary, was_there = writing.write(
            builder,
            source,
            DATA_DIR.value,
            skip_missing=SKIP_MISSING.value,
            overwrite=OVERWRITE.value,
            progress=lambda count: bar.advance(writing_task, count),
        )
    print(f"{DATASET.value}: already prepared in {folder}" if was_there else f"{DATASET.value}: prepared in {folder}")
    print_summary(summary)
    print(f"{time.monotonic() - begun:.1f} s")


def print_summary(summary: dict) -> None:
    """What is in the dataset, one line a split and one for each kind of repair and each skipped video."""
    info = summary["feature_info"]
    print(
        f"features: {info['backbone']}, {info['dim']} numbers every {info['stride_s']:g} s "
        f"over {info['window_s']:g} s; captions: {summary['caption_kind']}"
    )
    for name, split in summary["splits"].items():
        captions = " + ".join(map(str, split["captions"]))
        print(f"{name}: kept {split['videos']} videos, {captions} captions; skipped {len(split['skipped'])}")
        for kind, count in sorted(split["repairs"].items()):
            print(f"  repaired: {kind}: {count}")
        for reason in split["skipped"].values():
            print(f"  skipped: {reason}")


if __name__ == "__main__":
    cli.run(main, FLAGS)
