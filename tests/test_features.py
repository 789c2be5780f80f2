"""The features command: one file a video, resumable, a bad video costs only itself."""

from pathlib import Path

import numpy as np
import pytest

from lvc_jax import features
from lvc_jax.data.feature_store import FeatureInfo, open_store, save_info
from lvc_jax.errors import InputError
from tests.commands import given
from tests.data.video_files import write


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    folder = tmp_path / "videos"
    (folder / "more").mkdir(parents=True)
    write(folder / "a.mp4", range(0, 1700, 100))
    write(folder / "more" / "b.avi", range(0, 1000, 100))
    return folder


def run(**options) -> int:
    with given(features, **{name: str(value) for name, value in options.items()}):
        return features.main()


def test_a_folder(videos, tmp_path, capsys):
    assert run(videos=videos, output=tmp_path / "f") == 0
    store = open_store(tmp_path / "f")
    assert store.ids() == ["a", "b"]
    assert store["a"].shape == (4, store.info.dim)
    assert "2 extracted" in capsys.readouterr().out


def test_one_file_and_going_on(videos, tmp_path, capsys):
    run(videos=videos / "a.mp4", output=tmp_path / "f")
    kept = (tmp_path / "f" / "a.npy").stat().st_mtime_ns
    capsys.readouterr()
    assert run(videos=videos, output=tmp_path / "f") == 0
    assert "1 extracted, 1 there before" in capsys.readouterr().out
    assert (tmp_path / "f" / "a.npy").stat().st_mtime_ns == kept


def test_bad_videos_are_reported_and_skipped(videos, tmp_path, capsys):
    (videos / "broken.mp4").write_bytes(b"nothing")
    whole = write(videos / "short.mkv", range(0, 8000, 100))
    whole.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert run(videos=videos, output=tmp_path / "f") == 2
    out, err = capsys.readouterr()
    assert "2 extracted, 0 there before, 2 skipped" in out
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 2
    assert "broken.mp4" in lines[0]
    assert "short.mkv" in lines[1]
    assert np.isfinite(open_store(tmp_path / "f")["a"]).all()


def test_usage_errors(videos, tmp_path):
    with pytest.raises(InputError, match="--videos is missing"):
        run()
    with pytest.raises(InputError, match="no such file"):
        run(videos=tmp_path / "none", output=tmp_path / "f")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="holds no video"):
        run(videos=tmp_path / "empty", output=tmp_path / "f")
    with pytest.raises(InputError, match="unknown"):
        run(videos=videos, output=tmp_path / "f", backbone="none")
    write(videos / "more" / "a.mp4", [0, 100])
    with pytest.raises(InputError, match="same id"):
        run(videos=videos, output=tmp_path / "f")
    save_info(tmp_path / "other", FeatureInfo("tsp", 512, 1.0, 1.0))
    with pytest.raises(InputError, match="other features"):
        run(videos=videos / "a.mp4", output=tmp_path / "other")
