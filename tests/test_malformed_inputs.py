"""Malformed input through the real commands: each gives one clear line, exit code 2, and no half-written output."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lvc_jax.data.feature_store import FeatureInfo, save_info

ROOT = Path(__file__).resolve().parents[1]
VIDEO = {"duration": 5.0, "timestamps": [[1, 2], [2, 4]], "sentences": ["a man cuts bread.", "he eats it."]}
CONFIG = """
from lvc_jax.training.run_config import default_config


def get_config(arg=None):
    config = default_config()
    config.dataset = "youcook2"
    config.segment_frames = (60,)
    config.batch_size = 2
    config.num_train_steps = 2
    config.max_events = 2
    config.model.update(
        dict(
            hidden_dim=16, num_frames=8, num_levels=2, num_heads=2, num_points=2, encoder_layers=1, decoder_layers=1,
            ff_dim=16, num_queries=3, max_events=3, embed_dim=8, rnn_dim=8, max_caption_len=8,
        )
    )
    return config
"""


class Place:
    """A folder with everything that a good run needs; tests spoil one thing of a copy."""

    def __init__(self, root: Path):
        self.root = root
        self.features, self.data, self.run = root / "features", root / "data", root / "run"

    def build(self) -> None:
        self.features.mkdir(parents=True)
        save_info(self.features, FeatureInfo("tsn", 2, 1.0, 1.0))
        for split, count in (("train", 3), ("val", 2)):
            content = {f"{split}_{i}": VIDEO for i in range(count)}
            (self.root / f"{split}.json").write_text(json.dumps(content), encoding="utf-8")
            for name in content:
                np.save(self.features / f"{name}.npy", np.ones((5, 2), np.float32))
        (self.root / "config.py").write_text(CONFIG, encoding="utf-8")
        for command in (self.prepare(), self.train()):
            done = call(command)
            assert done.returncode == 0, done.stderr

    def prepare(self, data: str = "data", **changes: object) -> list[str]:
        given = {"dataset": "youcook2", "annotations": self.root, "features": self.features}
        return command("prepare", **{**given, "data_dir": self.root / data, **changes})

    def train(self, **changes: object) -> list[str]:
        given = {"config": self.root / "config.py", "workdir": self.run, "config.data_dir": self.data}
        return command("train", **{**given, **changes})

    def evaluate(self, **changes: object) -> list[str]:
        given = {"checkpoint": self.run, "data_dir": self.data, "segment_frames": 60, "output": self.root / "scores"}
        return command("evaluate", **{**given, **changes})

    def live(self, **changes: object) -> list[str]:
        given = {"checkpoint": self.run, "source": self.root / "film.mp4", "output": self.root / "live"}
        return command("live", **{**given, **changes})

    def score(self, **changes: object) -> list[str]:
        given = {"predictions": self.root / "p.json", "references": self.root / "val.json", "segment_frames": 60}
        return command("score", **{**given, "output": self.root / "s.json", **changes})

    def spoil(self, split: str = "train", **fields: object) -> list[str]:
        """Another preparation, after the first video's fields were changed; a field set to None is removed."""
        path = self.root / f"{split}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
        first = {**content[f"{split}_0"], **fields}
        content[f"{split}_0"] = {name: value for name, value in first.items() if value is not None}
        path.write_text(json.dumps(content), encoding="utf-8")
        return self.prepare(data="other")

    def replace(self, file: str, content: bytes) -> "Place":
        (self.root / file).write_bytes(content)
        return self


def command(name: str, **options: object) -> list[str]:
    return [sys.executable, "-m", f"lvc_jax.{name}", *(f"--{key}={value}" for key, value in options.items())]


def call(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("good"))
    place.build()
    return place


@pytest.fixture
def place(good: Place, tmp_path: Path) -> Place:
    shutil.copytree(good.root, tmp_path / "copy")
    return Place(tmp_path / "copy")


def _no_rows(place: Place) -> list[str]:
    np.save(place.features / "train_0.npy", np.ones((0, 2), np.float32))
    return place.prepare(data="other")


def _nan_features(place: Place) -> list[str]:
    np.save(place.features / "train_1.npy", np.full((5, 2), np.nan, np.float32))
    return place.prepare(data="other")


def _wrong_dim(place: Place) -> list[str]:
    np.save(place.features / "val_1.npy", np.ones((5, 3), np.float32))
    return place.prepare(data="other")


def _no_file(place: Place) -> list[str]:
    (place.features / "train_2.npy").unlink()
    return place.prepare(data="other")


def _no_clock(place: Place) -> list[str]:
    (place.features / "features.json").unlink()
    return place.prepare(data="other")


def _broken_checkpoint(place: Place) -> list[str]:
    large = [path for path in (place.run / "checkpoints").rglob("*") if path.is_file() and path.stat().st_size > 500]
    for path in large:
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    return place.evaluate()


def _pickled(place: Place) -> list[str]:
    np.save(place.features / "train_0.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return place.prepare(data="other")


BAD: dict[str, tuple[Callable[[Place], list[str]], str]] = {
    "annotations: no such folder": (lambda p: p.prepare(data="other", annotations="nowhere"), "nowhere"),
    "annotations: not JSON": (
        lambda p: p.replace("train.json", b'{"train_0": {').prepare(data="other"),
        r"train\.json",
    ),
    "annotations: no video": (lambda p: p.replace("train.json", b"{}").prepare(data="other"), r"train\.json"),
    "annotations: not UTF-8": (lambda p: p.replace("val.json", b"\xff\xfe{}").prepare(data="other"), r"val\.json"),
    "annotations: a key is missing": (lambda p: p.spoil(timestamps=None), "train_0.*timestamps"),
    "annotations: NaN time": (lambda p: p.spoil(timestamps=[[1, float("nan")], [2, 4]]), "train_0"),
    "annotations: negative time": (lambda p: p.spoil(timestamps=[[-3, 2], [2, 4]]), "train_0.*-3"),
    "annotations: unequal counts": (lambda p: p.spoil(split="val", sentences=["one."]), "val_0.*2.*1|val_0.*1.*2"),
    "annotations: no duration": (lambda p: p.spoil(duration=0), "train_0.*duration"),
    "annotations: a sentence that is no text": (lambda p: p.spoil(sentences=[1, 2]), "train_0"),
    "features: no rows": (_no_rows, r"train_0\.npy"),
    "features: NaN": (_nan_features, r"train_1\.npy"),
    "features: another dimension": (_wrong_dim, r"val_1\.npy"),
    "features: a file is missing": (_no_file, "train_2"),
    "features: no features.json": (_no_clock, r"features\.json"),
    "features: a pickle": (_pickled, r"train_0\.npy"),
    "features: a truncated file": (
        lambda p: p.replace("features/val_0.npy", b"\x93NUMPY\x01\x00v").prepare(data="other"),
        r"val_0\.npy",
    ),
    "prepare: unknown dataset": (lambda p: p.prepare(dataset="movies"), "movies"),
    "train: no such config file": (lambda p: p.train(config="nowhere.py"), r"nowhere\.py"),
    "train: unknown config key": (lambda p: p.train(**{"config.batchsize": 3}), "batchsize"),
    "train: a value of the wrong type": (lambda p: p.train(**{"config.batch_size": "many"}), "batch_size"),
    "train: data not prepared": (
        lambda p: p.train(**{"config.data_dir": "nowhere"}),
        "nowhere.*prepare",
    ),
    "train: the workdir holds another run": (lambda p: p.train(**{"config.seed": 1}), "seed"),
    "evaluate: no checkpoint": (lambda p: p.evaluate(checkpoint="nowhere"), "nowhere"),
    "evaluate: unknown split": (lambda p: p.evaluate(split="testing"), "testing"),
    "evaluate: Δt is no number": (lambda p: p.evaluate(segment_frames="5s"), "5s"),
    "evaluate: a corrupt checkpoint": (_broken_checkpoint, "checkpoint"),
    "live: no such file": (lambda p: p.live(), r"film\.mp4"),
    "live: not a video": (lambda p: p.replace("film.mp4", b"not a film" * 99).live(), r"film\.mp4|tsn"),
    "score: predictions without results": (lambda p: p.replace("p.json", b'{"version": "1"}').score(), r"p\.json"),
    "score: reversed prediction": (
        lambda p: p.replace(
            "p.json", b'{"version": "1", "external_data": {}, "results": {"val_0": [{"timestamp": "x"}]}}'
        ).score(),
        r"p\.json",
    ),
    "any command: unknown flag": (lambda p: p.evaluate(no_such_flag=1), "no_such_flag"),
}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.replace(" ", "_"))
def test_one_line_and_exit_code_2(place: Place, case: str) -> None:
    spoil, words = BAD[case]
    done = call(spoil(place))
    assert done.returncode == 2, done.stderr
    assert re.fullmatch(r"error: [^\n]+\n", done.stderr), done.stderr
    assert re.search(words, done.stderr), done.stderr
    for output in ("scores", "live", "s.json"):
        assert not (place.root / output).exists()
    assert not list((place.root / "other").rglob("*.array_record*"))


def test_twenty_kinds_at_least() -> None:
    assert len(BAD) >= 20
