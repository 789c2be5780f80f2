"""The prepare command: its report, its exit codes, its one-line errors, and a kill in the middle."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from lvc_jax.data.datasets import open_dataset, registry
from lvc_jax.data.feature_store import FeatureInfo, save_info
from lvc_jax.errors import InputError


def command(**options) -> list[str]:
    return [sys.executable, "-m", "lvc_jax.prepare", *(f"--{name}={value}" for name, value in options.items())]


def prepare(**options) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(**options), capture_output=True, text=True, check=False)


@pytest.fixture
def recipes(tmp_path):
    (tmp_path / "features").mkdir()
    save_info(tmp_path / "features", FeatureInfo("tsn", 2, 1.0, 1.0))
    for split, count in (("train", 3), ("val", 1)):
        names = [f"{split}_{i}" for i in range(count)]
        content = {n: {"duration": 5.0, "timestamps": [[1, 2]], "sentences": [" Cuts bread."]} for n in names}
        (tmp_path / f"{split}.json").write_text(json.dumps(content), encoding="utf-8")
        for name in names:
            np.save(tmp_path / "features" / f"{name}.npy", np.zeros((5, 2), np.float32))
    return {
        "dataset": "youcook2",
        "annotations": tmp_path,
        "features": tmp_path / "features",
        "data_dir": tmp_path / "data",
    }


def test_prepares_reports_and_says_when_there_is_nothing_to_do(recipes):
    (recipes["features"] / "train_1.npy").unlink()
    done = prepare(**recipes, skip_missing=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("youcook2: prepared in ")
    assert lines[1] == "features: tsn, 2 numbers every 1 s over 1 s; captions: human captions"
    assert lines[2] == "train: kept 2 videos, 2 captions; skipped 1"
    assert lines[3] == "  repaired: sentence: surrounding space stripped: 3"
    assert "skipped: no features of video train_1" in lines[4]
    assert lines[5] == "val: kept 1 videos, 1 captions; skipped 0"
    assert len(open_dataset(recipes["data_dir"], "youcook2", "train")) == 2
    again = prepare(**recipes, skip_missing=True)
    assert again.returncode == 0
    assert again.stdout.splitlines()[0].startswith("youcook2: already prepared in ")
    assert again.stdout.splitlines()[1:-1] == lines[1:-1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dataset": "movies"}, "--dataset=movies: unknown; choose one of activitynet_captions, clips"),
        ({"annotations": "nowhere"}, r"nowhere/train\.json: not found"),
    ],
)
def test_bad_options_give_one_line_and_exit_code_2(recipes, change, words):
    failed = prepare(**{**recipes, **change})
    assert failed.returncode == 2
    assert re.fullmatch(f"error: .*{words}.*\n", failed.stderr)
    assert not recipes["data_dir"].exists()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"features": None}, "--features is missing"),
        ({"annotations": None}, "--annotations is missing"),
        ({"features": "nowhere"}, "nowhere: no such feature folder"),
    ],
)
def test_missing_inputs_are_named(recipes, change, words):
    given = {name: str(value) for name, value in recipes.items() if name in ("annotations", "features")}
    with pytest.raises(InputError, match=words):
        registry.make("youcook2", registry.Options(data_dir=recipes["data_dir"], **{**given, **change}))


@pytest.mark.slow
def test_killed_and_run_again(tmp_path):
    options = {"dataset": "moving_shapes", "num_train": 6, "num_val": 0, "num_test": 0, "workers": 1}
    options["data_dir"] = tmp_path
    running = subprocess.Popen(command(**options), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    videos = tmp_path / "moving_shapes" / "rendered" / "videos"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(videos.glob("*.mp4"))) < 2:
        time.sleep(0.05)
    running.send_signal(signal.SIGKILL)
    running.wait()
    kept = {path: path.stat().st_mtime_ns for path in videos.glob("[!.]*.mp4")}
    assert kept
    assert prepare(**options).returncode == 0
    assert len(open_dataset(tmp_path, "moving_shapes", "train")) == 6
    assert all(path.stat().st_mtime_ns == when for path, when in list(kept.items())[:1])
