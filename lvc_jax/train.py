"""Trains a live captioner, or continues the training that a workdir holds.

    python -m lvc_jax.train --config=configs/shapes.py [--workdir=DIR] [--config.num_train_steps=N ...]

Writes `config.json`, `checkpoints/`, `metrics.jsonl` and `tensorboard/` to the workdir (default: runs/<config name>).
SIGTERM saves at the next step and exits with 75; the same command continues.
With --multihost all processes that a launcher started, or that the three flags beside it name, train one model.
"""

import dataclasses
import sys
from pathlib import Path

import jax
from absl import flags
from ml_collections import ConfigDict, config_flags

from lvc_jax import cli
from lvc_jax.errors import InputError
from lvc_jax.evaluation.validation import Validation
from lvc_jax.training import multihost
from lvc_jax.training.assemble import assemble
from lvc_jax.training.guard import TrainingDivergedError
from lvc_jax.training.loop import train

FLAGS = flags.FlagValues()
CONFIG = config_flags.DEFINE_config_file(
    "config", None, "Config file, with its argument: FILE.py[:arg].", flag_values=FLAGS
)
WORKDIR = flags.DEFINE_string("workdir", None, "Folder of the run; default runs/<config name>.", flag_values=FLAGS)
MULTIHOST = flags.DEFINE_bool(
    "multihost", False, "This is one of several processes that train together.", flag_values=FLAGS
)
COORDINATOR_ADDRESS = flags.DEFINE_string(
    "coordinator_address", None, "With --multihost: host:port of process 0; default: the launcher's.", flag_values=FLAGS
)
NUM_PROCESSES = flags.DEFINE_integer(
    "num_processes", None, "With --multihost; default: the launcher's.", lower_bound=1, flag_values=FLAGS
)
PROCESS_ID = flags.DEFINE_integer(
    "process_id", None, "With --multihost: from 0; default: the launcher's.", lower_bound=0, flag_values=FLAGS
)


def default_workdir(config_file: str) -> Path:
    """`configs/salads.py:fold=2` gives runs/salads_fold=2."""
    path, _, argument = config_file.partition(":")
    name = Path(path).stem + (f"_{argument}" if argument else "")
    return Path("runs") / name.replace("/", "_")


def _config() -> tuple[ConfigDict, str]:
    if CONFIG.value is None:
        raise InputError("--config is missing: name a config file, as --config=configs/shapes.py")
    file = config_flags.get_config_filename(FLAGS["config"])
    if not isinstance(CONFIG.value, ConfigDict):
        raise InputError(f"--config={file}: no such config file, or it has no get_config(); see configs/")
    return CONFIG.value, file


def _join_the_others() -> None:
    """Before anything else touches jax."""
    if MULTIHOST.value:
        multihost.join(COORDINATOR_ADDRESS.value, NUM_PROCESSES.value, PROCESS_ID.value)
        return
    for flag in (COORDINATOR_ADDRESS, NUM_PROCESSES, PROCESS_ID):
        if flag.value is not None:
            raise InputError(f"--{flag.name}={flag.value}: means something with --multihost only; add that")


def main() -> int:
    config, file = _config()
    _join_the_others()
    parts = assemble(config)
    if config.eval.every > 0:
        evaluate = Validation(config, parts.model_config, parts.vocabulary, parts.feature_info)
        parts = dataclasses.replace(parts, evaluate=evaluate)
    workdir = Path(WORKDIR.value) if WORKDIR.value else default_workdir(file)
    try:
        outcome = train(config, parts, workdir)
    except TrainingDivergedError as error:
        if jax.process_index() == 0:
            print(f"error: {error}", file=sys.stderr)
        return cli.EXIT_ERROR
    return cli.EXIT_PREEMPTED if outcome.preempted else cli.EXIT_OK


if __name__ == "__main__":
    cli.run(main, FLAGS)
