"""What the benchmarks share: pinned cores, medians, the machine they ran on, JSON."""

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np

from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

PINNED = "LVC_BENCHMARK_THREADS"


def pin(threads: int) -> None:
    """Runs this program on the first `threads` of the cores that it may use, with as many threads.

    XLA reads both when it starts: the program replaces itself once by a fresh one. 0 leaves everything as it is.

    Raises:
        InputError: there are not so many cores.
    """
    if threads == 0 or os.environ.get(PINNED) == str(threads):
        return
    cores = sorted(os.sched_getaffinity(0))
    if threads > len(cores):
        raise InputError(f"--threads={threads}: this process may use {len(cores)} cores")
    os.sched_setaffinity(0, cores[:threads])
    one = " --xla_cpu_multi_thread_eigen=false" if threads == 1 else ""
    flags = os.environ.get("XLA_FLAGS", "") + one
    environment = {**os.environ, "XLA_FLAGS": flags, "OMP_NUM_THREADS": str(threads), PINNED: str(threads)}
    module = sys.modules["__main__"].__spec__.name
    os.execve(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]], environment)


def seconds(work: Callable[[], Any], times: int, warm_up: int = 1) -> np.ndarray:
    """Wall-clock seconds of each of `times` calls of `work`, its result waited for, after `warm_up` untimed ones."""
    found = []
    for index in range(warm_up + times):
        begun = time.perf_counter()
        jax.block_until_ready(work())
        if index >= warm_up:
            found.append(time.perf_counter() - begun)
    return np.array(found)


def machine() -> str:
    """One line: device, cores in use, versions."""
    device = jax.devices()[0]
    kind = _processor() if device.platform == "cpu" else device.device_kind
    cores = len(os.sched_getaffinity(0))
    return f"{kind}, {cores} core{'s' * (cores != 1)}, jax {jax.__version__}, Python {platform.python_version()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or "CPU")


def write_json(path: str | None, figures: dict[str, float]) -> None:
    """Figures and ratios (a peer's time over ours) by their names; does nothing without a path."""
    if path:
        with atomic_write(Path(path)) as file:
            json.dump(figures, file, indent=1)
            file.write("\n")
