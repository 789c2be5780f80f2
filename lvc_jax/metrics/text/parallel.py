"""One job over all cores: independent items, cut into pieces, done by fresh processes, put together in order."""

import contextlib
import itertools
import logging
import multiprocessing
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import numpy as np

# Pieces per process: even out their lengths without much overhead.
_PIECES = 4


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextlib.contextmanager
def _main_hidden() -> Iterator[None]:
    # New processes would run the user's script once more to find the work in it, where it isn't.
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def map_rows(
    function: Callable[..., np.ndarray], *columns: Sequence, smallest: int, workers: int | None = None
) -> np.ndarray:
    """`function(*columns)`, which works row by row, over all cores.

    Every row's result is the same whatever the number of processes. Small jobs, and jobs inside a daemonic process
    (which may have no children), are done in this process; so is a job whose processes die.

    Args:
        function: takes columns of n rows, returns an array of n rows; importable by name.
        *columns: sequences of n rows each.
        smallest: rows that are worth a process.
        workers: processes at most; all cores if None.

    Returns:
        The rows of all pieces, in order.
    """
    rows = len(columns[0])
    workers = min(cores() if workers is None else workers, rows // max(smallest, 1))
    if workers < 2 or multiprocessing.current_process().daemon:
        return function(*columns)
    bounds = np.linspace(0, rows, workers * _PIECES + 1).astype(int)
    pieces = [[column[a:b] for column in columns] for a, b in itertools.pairwise(bounds)]
    try:
        with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
            try:
                with _main_hidden():
                    futures = [pool.submit(function, *piece) for piece in pieces]
                return np.concatenate([future.result() for future in futures])
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    except BrokenProcessPool:
        logging.getLogger(__name__).warning("text scores: worker processes died; going on in one process")
        return function(*columns)
