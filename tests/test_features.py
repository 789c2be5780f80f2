"""The features command: one file a video, resumable, a bad video costs only itself."""

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lvc_jax import features
from lvc_jax.backbones.weights import save_weights
from lvc_jax.data.feature_store import FeatureInfo, open_store, save_info
from lvc_jax.errors import InputError
from tests.backbones import tiny
from tests.commands import given
from tests.data.video_files import write


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    (folder / "more").mkdir(parents=True)
    write(folder / "a.mp4", range(0, 1700, 100))
    write(folder / "more" / "b.avi", range(0, 1000, 100))
    return folder


def run(*videos: Path, **options) -> int:
    values = {name: value if isinstance(value, int) else str(value) for name, value in options.items()}
    with given(features, videos=[str(video) for video in videos] or None, **values):
        return features.main()


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Folders of tiny networks of depths 18 and 34."""
    root = tmp_path_factory.mktemp("weights")
    for depth in (18, 34):
        save_weights(root / str(depth), tiny.config(depth), tiny.variables(depth))
    return {depth: root / str(depth) for depth in (18, 34)}


def test_a_folder(videos, tmp_path, capsys):
    assert run(videos, output=tmp_path / "f") == 0
    store = open_store(tmp_path / "f")
    assert store.ids() == ["a", "b"]
    assert store["a"].shape == (4, store.info.dim)
    assert "2 extracted" in capsys.readouterr().out


def test_one_file_and_going_on(videos, tmp_path, capsys):
    run(videos / "a.mp4", output=tmp_path / "f")
    kept = (tmp_path / "f" / "a.npy").stat().st_mtime_ns
    capsys.readouterr()
    assert run(videos, output=tmp_path / "f") == 0
    assert "1 extracted, 1 there before" in capsys.readouterr().out
    assert (tmp_path / "f" / "a.npy").stat().st_mtime_ns == kept


def test_bad_videos_are_reported_and_skipped(videos, tmp_path, capsys):
    (videos / "broken.mp4").write_bytes(b"nothing")
    whole = write(videos / "short.mkv", range(0, 8000, 100))
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert run(videos, output=tmp_path / "f") == 2
    out, err = capsys.readouterr()
    assert "2 extracted, 0 there before, 2 skipped" in out
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 2
    assert "broken.mp4" in lines[0]
    assert "short.mkv" in lines[1]
    assert np.isfinite(open_store(tmp_path / "f")["a"]).all()


def test_usage_errors(videos, tmp_path):
    with pytest.raises(InputError, match="no videos"):
        run()
    with pytest.raises(InputError, match="no such file"):
        run(tmp_path / "none", output=tmp_path / "f")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no video"):
        run(tmp_path / "empty", output=tmp_path / "f")
    with pytest.raises(InputError, match="unknown"):
        run(videos, output=tmp_path / "f", backbone="none")
    write(videos / "more" / "a.mp4", [0, 100])
    with pytest.raises(InputError, match="same id"):
        run(videos, output=tmp_path / "f")
    save_info(tmp_path / "other", FeatureInfo("tsp", 512, 1.0, 1.0))
    with pytest.raises(InputError, match="other features"):
        run(videos / "a.mp4", output=tmp_path / "other")


def test_several_files_and_folders(videos, tmp_path, capsys):
    assert run(videos / "a.mp4", videos / "more", videos, output=tmp_path / "f") == 0
    assert "2 extracted" in capsys.readouterr().out
    (tmp_path / "elsewhere").mkdir()
    other = write(tmp_path / "elsewhere" / "b.mp4", range(0, 1000, 100))
    with pytest.raises(InputError, match="same id 'b'"):
        run(videos, other, output=tmp_path / "g")
    assert not (tmp_path / "g").exists()


def test_arguments_need_no_flag(videos, tmp_path):
    command = [
        sys.executable,
        "-m",
        "lvc_jax.features",
        videos / "a.mp4",
        videos / "more",
        f"--output={tmp_path / 'f'}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert open_store(tmp_path / "f").ids() == ["a", "b"]


@pytest.mark.parametrize(("name", "depth"), [("r2plus1d_18", 18), ("tsp", 34)])
def test_a_network(videos, weights, tmp_path, name, depth):
    options = {"backbone": name, "backbone_weights": weights[depth]}
    assert run(videos, output=tmp_path / "one", **options) == 0
    store = open_store(tmp_path / "one")
    assert store.info == FeatureInfo(name, 32, 16 / 15, 16 / 15)
    assert store["a"].shape == (1, 32) and store["b"].shape == (1, 32)
    assert run(videos, output=tmp_path / "four", batch_clips=4, **options) == 0
    for video in ("a", "b"):
        np.testing.assert_allclose(open_store(tmp_path / "four")[video], store[video], rtol=1e-5, atol=1e-5)


def test_features_of_other_weights_are_not_mixed(videos, weights, tmp_path):
    out = tmp_path / "f"
    options = {"backbone": "r2plus1d_18", "output": out}
    run(videos / "a.mp4", backbone_weights=weights[18], **options)
    about = (out / "features.json").read_text()
    moved = shutil.copytree(weights[18], tmp_path / "moved")
    assert run(videos, backbone_weights=moved, **options) == 0
    assert (out / "features.json").read_text() == about
    changed = tiny.variables(18)
    changed["params"]["stem"]["temporal_norm"]["bias"][0] += 1
    save_weights(tmp_path / "other", tiny.config(18), changed)
    with pytest.raises(InputError, match="other weights"):
        run(videos, backbone_weights=tmp_path / "other", **options)
    (out / "weights.sha256").unlink()
    with pytest.raises(InputError, match="unknown weights"):
        run(videos, backbone_weights=weights[18], **options)


def test_wrong_weights_write_nothing(videos, weights, tmp_path):
    for name, given_weights, message in (
        ("tsp", weights[18], r"R\(2\+1\)D-18"),
        ("colour_moments", weights[18], "has no weights"),
        ("tsp", tmp_path, "weights.json: missing"),
    ):
        with pytest.raises(InputError, match=message):
            run(videos, backbone=name, backbone_weights=given_weights, output=tmp_path / "f")
    with pytest.raises(InputError, match="--backbone_weights"):
        run(videos, backbone="tsp", output=tmp_path / "f")
    assert not (tmp_path / "f").exists()
