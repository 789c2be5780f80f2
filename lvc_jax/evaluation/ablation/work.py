"""Trains and evaluates the variants, each step in a process of its own; continues what was stopped or killed."""

import contextlib
import fcntl
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType

from lvc_jax import cli
from lvc_jax.data.json_fields import read_json
from lvc_jax.errors import InputError
from lvc_jax.evaluation.ablation.study import Study
from lvc_jax.files import atomic_write

Say = Callable[[str], None]
Call = Callable[[Sequence[str], int], int]
"""Runs `python -m ARGUMENTS` with an open file descriptor to inherit; returns the exit code."""

SCORES, _REPORT, _SETTINGS = "evaluation", "report.html", "settings.json"


def call(arguments: Sequence[str], inherited: int) -> int:
    """Runs `python -m ARGUMENTS`; SIGTERM goes on to the child, which saves what it has.

    Args:
        arguments: module and flags.
        inherited: a file descriptor that the child keeps open as long as it lives.

    Returns:
        The child's exit code, or -N if signal N ended it.
    """
    child = subprocess.Popen([sys.executable, "-m", *arguments], pass_fds=(inherited,))

    def _pass_on(signum: int, frame: FrameType | None) -> None:
        child.send_signal(signum)

    # Python allows handlers in the main thread only.
    listens = threading.current_thread() is threading.main_thread()
    previous = signal.signal(signal.SIGTERM, _pass_on) if listens else None
    try:
        return child.wait()
    except KeyboardInterrupt:
        # The terminal interrupted the child too.
        child.wait()
        raise
    finally:
        if listens:
            signal.signal(signal.SIGTERM, previous)


def run(study: Study, say: Say, call: Call = call) -> int:
    """Trains and evaluates every variant that is not finished.

    A variant is finished when the last file of its evaluation is there. A training that was stopped goes on from its
    last checkpoint, because its workdir does.

    Args:
        study: what to do.
        say: gets one line for each thing that begins.
        call: see `Call`.

    Returns:
        0, or the exit code of the first process that failed: 75 if it was stopped after a save.

    Raises:
        InputError: no config file here, or a folder that holds an ablation with other settings.
    """
    config = study.data.config.partition(":")[0]
    if not Path(config).is_file():
        raise InputError(f"{config}: no such config file here; run the command from the folder that holds configs/")
    for variant in study.variants:
        claim(study, variant)
    with _alone(study.output, say) as lock:
        for number, variant in enumerate(study.variants, 1):
            label = f"[{number}/{len(study.variants)}] {variant}"
            if finished(study, variant):
                say(f"{label}: finished before")
                continue
            for verb, arguments in (("train", _training(study, variant)), ("evaluate", _evaluation(study, variant))):
                say(f"{label}: {verb}")
                code = call(arguments, lock)
                if code != cli.EXIT_OK:
                    say(f"{label}: {verb} ended with exit code {code}; the same command continues from here")
                    # Only a training has something to save; what SIGTERM ends otherwise is made again.
                    return cli.EXIT_PREEMPTED if code == -signal.SIGTERM else code if code > 0 else cli.EXIT_ERROR
    return cli.EXIT_OK


def claim(study: Study, variant: str) -> None:
    """Writes down the variant's settings, or checks that what is there was made with the same ones.

    Raises:
        InputError: naming the first setting that differs.
    """
    path = study.folder(variant) / _SETTINGS
    now = study.settings(variant)
    if not path.exists():
        with atomic_write(path) as file:
            file.write(json.dumps(now, indent=1) + "\n")
        return
    before = read_json(path, "settings")
    if not isinstance(before, dict):
        raise InputError(f"{path}: not the settings of an ablation; remove it or give another --output")
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name):
            raise InputError(
                f"{study.folder(variant)}: holds a run with {name}={before.get(name)!r}, not {now.get(name)!r}: "
                "give another --output, or the same value to continue"
            )


def finished(study: Study, variant: str) -> bool:
    """Whether the variant's evaluation is complete."""
    return (study.folder(variant) / SCORES / _REPORT).is_file()


def _training(study: Study, variant: str) -> list[str]:
    changes = [f"--config.{name}={value}" for name, value in study.overrides(variant).items()]
    return ["lvc_jax.train", f"--config={study.data.config}", f"--workdir={study.folder(variant)}", *changes]


def _evaluation(study: Study, variant: str) -> list[str]:
    flags = {
        "checkpoint": study.folder(variant),
        "data_dir": study.data_dir,
        "split": study.data.split,
        "segment_frames": study.data.segment_frames,
        "baselines": "none",
        "output": study.folder(variant) / SCORES,
    }
    return ["lvc_jax.evaluate", *(f"--{name}={value}" for name, value in flags.items())]


@contextlib.contextmanager
def _alone(folder: Path, say: Say) -> Iterator[int]:
    """Holds the folder's lock; the descriptor, when a child inherits it, holds the lock until that child has ended too.

    So a training that a killed ablation left behind is waited for, and never has a second one in its workdir.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say(f"{folder}: something is still at work there; waiting for it to end")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield file.fileno()
