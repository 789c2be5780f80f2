"""Two processes that train together give what one process gives."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from lvc_jax import train
from lvc_jax.data.datasets import writing
from lvc_jax.errors import InputError
from lvc_jax.training import multihost
from lvc_jax.training.checkpoints import load_for_inference
from lvc_jax.training.metric_log import read
from tests.commands import given
from tests.data.tiny import TinyCaptions, make_source

ROOT = Path(__file__).resolve().parents[2]
SMALL = {
    "model.hidden_dim": 16,
    "model.ff_dim": 16,
    "model.encoder_layers": 1,
    "model.embed_dim": 8,
    "model.rnn_dim": 8,
    "model.max_caption_len": 8,
    "batch_size": 4,
    "num_train_steps": 4,
    "checkpoint_every": 2,
    "log_every": 1,
    "optimizer.warmup_steps": 1,
    "eval.every": 2,
    "eval.max_videos": 2,
}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    writing.write(TinyCaptions, make_source(), folder)
    return folder


def start(data_dir, workdir, *options, devices=1, **changes):
    settings = {**SMALL, **changes, "dataset": "tiny_captions", "data_dir": data_dir}
    flags = [f"--config.{key}={value}" for key, value in settings.items()]
    command = ["-m", "lvc_jax.train", "--config=configs/shapes.py", f"--workdir={workdir}", *flags, *options]
    how = re.sub(r"device_count=\d+", f"device_count={devices}", os.environ["XLA_FLAGS"])
    surroundings = {**os.environ, "XLA_FLAGS": how, "JAX_CPU_COLLECTIVES_IMPLEMENTATION": "gloo"}
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def start_two(data_dir, workdir, **changes):
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    together = ["--multihost", f"--coordinator_address={address}", "--num_processes=2"]
    return [start(data_dir, workdir, *together, f"--process_id={i}", **changes) for i in range(2)]


def finish(*processes):
    try:
        ended = [process.communicate(timeout=900) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [(process.returncode, out, err) for process, (out, err) in zip(processes, ended)]


@pytest.mark.slow
def test_two_processes_train_as_one(data_dir, tmp_path):
    (alone,) = finish(start(data_dir, tmp_path / "one", devices=2))
    assert alone[0] == 0, alone[2]
    first, second = finish(*start_two(data_dir, tmp_path / "two"))
    assert (first[0], second[0]) == (0, 0), first[2] + second[2]
    assert "step 4/4" in first[1]
    assert "step" not in second[1]
    expected, found = (read(tmp_path / name / "metrics.jsonl") for name in ("one", "two"))
    assert [record["step"] for record in found] == [1, 2, 3, 4]
    assert len(list((tmp_path / "two" / "tensorboard").iterdir())) == 1
    for a, b in zip(expected, found, strict=True):
        a.pop("videos_per_s"), b.pop("videos_per_s")
        assert b == pytest.approx(a, rel=1e-4, abs=1e-6)
    assert load_for_inference(tmp_path / "two", "latest").step == 4
    assert load_for_inference(tmp_path / "two").step == load_for_inference(tmp_path / "one").step


@pytest.mark.slow
def test_sigterm_to_one_process_stops_both_after_a_save_and_one_process_can_continue(data_dir, tmp_path):
    log = tmp_path / "metrics.jsonl"
    processes = start_two(
        data_dir, tmp_path, **{"num_train_steps": 100_000, "checkpoint_every": 100_000, "eval.every": 0}
    )
    while not (log.exists() and read(log)):
        assert all(process.poll() is None for process in processes), finish(*processes)
        time.sleep(0.05)
    processes[1].send_signal(signal.SIGTERM)
    first, second = finish(*processes)
    assert (first[0], second[0]) == (75, 75), first[2] + second[2]
    assert "stopped by SIGTERM" in first[1]
    step = load_for_inference(tmp_path, "latest").step
    (again,) = finish(start(data_dir, tmp_path, devices=2, **{"num_train_steps": step + 1, "eval.every": 0}))
    assert again[0] == 0, again[2]
    assert f"continuing at step {step}" in again[1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_processes": 2}, "--num_processes=2: means something with --multihost only"),
        *(
            ({"multihost": True, "coordinator_address": address}, f"--coordinator_address={address}: needs a host and")
            for address in ("host", "8476", ":8476", "host:", "host:port", "host:0", "host:99999", "host:٨٤٧٦", "")
        ),
    ],
)
def test_flags_that_do_not_fit(options, message):
    with given(train, **options), pytest.raises(InputError, match=message):
        train._join_the_others()


def test_an_address_from_the_surroundings_is_checked_too(monkeypatch):
    monkeypatch.setenv("JAX_COORDINATOR_ADDRESS", "8476")
    with pytest.raises(InputError, match=r"^JAX_COORDINATOR_ADDRESS=8476: needs a host and a port"):
        multihost.join(None, 2, 0)


@pytest.mark.parametrize(
    ("said", "reason"),
    [("coordinator_address should be defined.\nmore", "coordinator_address should be defined"), ("", "ValueError")],
)
def test_no_launcher_is_one_line(monkeypatch, said, reason):
    def lonely(*_):
        raise ValueError(said)

    monkeypatch.setattr(multihost.jax.distributed, "initialize", lonely)
    with pytest.raises(InputError, match=f"^--multihost: {reason}; start under a launcher"):
        multihost.join(None, None, None)


def test_numbers_pass_between_processes_unrounded(monkeypatch):
    def broadcast(sent):
        """As between processes: through a device array, which has 32 bits."""
        return np.asarray(jnp.asarray(sent))

    monkeypatch.setattr(multihost.multihost_utils, "broadcast_one_to_all", broadcast)
    assert broadcast(np.array([0.1])).dtype == np.float32
    values = {"a": 0.1, "b": 1e-300, "c": 3.0}
    assert multihost.of_first_process(values) == values
