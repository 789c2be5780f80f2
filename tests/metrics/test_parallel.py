"""Jobs over several processes: same rows in the same order, and no way to hang."""

import os
import subprocess
import sys
from multiprocessing import get_context

import numpy as np
import pytest

from lvc_jax.errors import InputError
from lvc_jax.metrics.text.parallel import map_rows


def lengths(words: list[str]) -> np.ndarray:
    return np.array([len(word) for word in words])


def process_ids(words: list[str]) -> np.ndarray:
    return np.full(len(words), os.getpid())


def refuse(words: list[str]) -> np.ndarray:
    raise InputError(f"words: {len(words)}: none wanted")


def die(words: list[str]) -> np.ndarray:
    if os.getpid() != int(words[0]):
        os._exit(1)
    return np.array([int(word) for word in words])


def inside_a_daemon(results) -> None:
    results.put(len(set(map_rows(process_ids, ["a"] * 8, smallest=1, workers=2))))


WORDS = ["a" * (n % 7) for n in range(50)]


def test_rows_come_back_in_order_from_other_processes() -> None:
    np.testing.assert_array_equal(map_rows(lengths, WORDS, smallest=1, workers=2), lengths(WORDS))
    assert os.getpid() not in map_rows(process_ids, WORDS, smallest=1, workers=2)


def test_small_jobs_stay_here() -> None:
    assert set(map_rows(process_ids, WORDS, smallest=26, workers=2)) == {os.getpid()}
    assert set(map_rows(process_ids, WORDS, smallest=1, workers=1)) == {os.getpid()}
    assert map_rows(lengths, [], smallest=1).shape == (0,)


def test_errors_of_the_work_reach_the_caller() -> None:
    with pytest.raises(InputError, match="none wanted"):
        map_rows(refuse, WORDS, smallest=1, workers=2)


def test_a_job_whose_processes_die_is_done_here(caplog: pytest.LogCaptureFixture) -> None:
    words = [str(os.getpid())] * 10
    assert set(map_rows(die, words, smallest=1, workers=2)) == {os.getpid()}
    assert "worker processes died" in caplog.text


def test_no_processes_inside_a_daemon() -> None:
    context = get_context("spawn")
    results = context.SimpleQueue()
    process = context.Process(target=inside_a_daemon, args=(results,), daemon=True)
    process.start()
    assert results.get() == 1
    process.join()


def test_a_script_without_a_main_guard_runs_once(tmp_path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from lvc_jax.metrics.text.parallel import map_rows\n"
        "from lvc_jax.metrics.text.rouge import score\n"
        "print(map_rows(score, [('a',)] * 4, [[('a',)]] * 4, smallest=1, workers=2))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[1. 1. 1. 1.]\n"
    assert done.stderr == ""
