"""The ablation of figure 12 of the Live Video Captioning paper: trains and scores every variant, in one table.

    python -m lvc_jax.ablation --dataset=fifty_salads --data_dir=data --output=runs/ablation_salads
    python -m lvc_jax.ablation --dataset=moving_shapes --data_dir=data --output=runs/ablation --variants=base,plain

Deformable against plain transformer, 5, 10, 20 and 50 queries, with and without the event counter; all else as in
configs/salads.py (fold 1 held out) or configs/shapes.py (its test split). The same command continues what was stopped
or killed; finished variants are not run again. Writes ablation.md, ablation.json and ablation.png, and a folder for
each variant. SIGTERM saves and exits with 75.
"""

from pathlib import Path

from absl import flags

from lvc_jax import cli
from lvc_jax.data.datasets import open_dataset
from lvc_jax.errors import InputError
from lvc_jax.evaluation.ablation import results, work
from lvc_jax.evaluation.ablation.study import DATA, Study, chosen
from lvc_jax.files import check_writable

FLAGS = flags.FlagValues()
DATASET = flags.DEFINE_enum("dataset", None, list(DATA), "Prepared data set.", flag_values=FLAGS)
DATA_DIR = flags.DEFINE_string("data_dir", "data", "Folder of prepared data sets.", flag_values=FLAGS)
OUTPUT = flags.DEFINE_string("output", None, "Folder for runs, table and picture.", flag_values=FLAGS)
NUM_TRAIN_STEPS = flags.DEFINE_integer(
    "num_train_steps", None, "Steps of each variant; the config's by default.", lower_bound=1, flag_values=FLAGS
)
VARIANTS = flags.DEFINE_list(
    "variants", None, "Of base, plain, queries_5, queries_20, queries_50, no_counter; default all.", flag_values=FLAGS
)


def main() -> int:
    if DATASET.value is None:
        raise InputError(f"--dataset is missing: choose {' or '.join(DATA)}")
    if not OUTPUT.value:
        raise InputError("--output is missing: give a folder for the runs and their table")
    check_writable(OUTPUT.value, "--output")
    variants, data = chosen(VARIANTS.value), DATA[DATASET.value]
    open_dataset(DATA_DIR.value, DATASET.value, data.split)  # refuses what is not prepared before anything is written
    study = Study(data, DATA_DIR.value, Path(OUTPUT.value), NUM_TRAIN_STEPS.value, variants)
    code = work.run(study, lambda line: print(line, flush=True))
    if code != cli.EXIT_OK:
        return code
    print(results.write(study.output, results.collect(study, DATASET.value)))
    print(f"written: {study.output / 'ablation.md'}, ablation.json, ablation.png")
    return cli.EXIT_OK


if __name__ == "__main__":
    cli.run(main, FLAGS)
