"""The train command as a process, on real 50Salads data: killed, terminated, continued."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lvc_jax.training.checkpoints import load_for_inference
from lvc_jax.training.metric_log import read
from tests.training.parts import no_clock

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data_dir(shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    features = shared / "data" / "50salads"
    command = ["-m", "lvc_jax.prepare", "--dataset=fifty_salads", f"--features={features}", f"--data_dir={folder}"]
    subprocess.run([sys.executable, *command], check=True, cwd=ROOT, capture_output=True)
    return folder


def start(data_dir, workdir, *options):
    flags = {
        "config": "configs/salads.py:fold=2",
        "workdir": workdir,
        "config.data_dir": data_dir,
        "config.num_train_steps": 8,
        "config.batch_size": 4,
        "config.checkpoint_every": 4,
        "config.log_every": 1,
        "config.eval.every": 4,
        "config.eval.max_videos": 2,
    }
    command = [sys.executable, "-m", "lvc_jax.train", *(f"--{key}={value}" for key, value in flags.items()), *options]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process):
    out, err = process.communicate(timeout=600)
    return process.returncode, out, err


def wait_for(condition, process):
    while not condition():
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)


@pytest.fixture(scope="module")
def whole(data_dir, tmp_path_factory):
    workdir = tmp_path_factory.mktemp("whole")
    code, out, err = finish(start(data_dir, workdir))
    assert (code, err) == (0, "")
    assert "step 8/8" in out
    return [no_clock(record) for record in read(workdir / "metrics.jsonl")]


def test_a_killed_training_continues_with_identical_losses(data_dir, tmp_path, whole):
    process = start(data_dir, tmp_path)
    wait_for((tmp_path / "checkpoints" / "4" / "commit_success.txt").exists, process)
    process.send_signal(signal.SIGKILL)
    assert finish(process)[0] == -signal.SIGKILL
    assert finish(start(data_dir, tmp_path))[0] == 0
    assert [no_clock(record) for record in read(tmp_path / "metrics.jsonl")] == whole
    assert load_for_inference(tmp_path).metrics["live_score_rouge_l"] >= 0


def test_sigterm_exits_with_75_after_a_save_and_the_rest_is_identical(data_dir, tmp_path, whole):
    process = start(data_dir, tmp_path)
    wait_for(lambda: (tmp_path / "metrics.jsonl").exists() and read(tmp_path / "metrics.jsonl"), process)
    process.send_signal(signal.SIGTERM)
    code, out, _ = finish(process)
    assert code == 75
    assert "stopped by SIGTERM" in out
    assert finish(start(data_dir, tmp_path))[0] == 0
    assert [no_clock(record) for record in read(tmp_path / "metrics.jsonl")] == whole


@pytest.mark.parametrize("dtype", ["bfloat16"])
def test_half_precision_trains(data_dir, tmp_path, whole, dtype):
    code, _, err = finish(start(data_dir, tmp_path, f"--config.model.dtype={dtype}", "--config.eval.every=0"))
    assert (code, err) == (0, "")
    found = read(tmp_path / "metrics.jsonl")
    assert found[0]["loss"] == pytest.approx(whole[0]["loss"], rel=0.05)
    assert found[-1]["loss"] == pytest.approx(whole[-1]["loss"], rel=0.1)
