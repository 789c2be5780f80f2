"""The live command with a backbone that needs weights: --backbone_weights."""

import json

import jax
import numpy as np
import pytest

from lvc_jax.backbones.r2plus1d import R2Plus1D
from lvc_jax.backbones.weights import save_weights
from lvc_jax.data.feature_store import FeatureInfo
from tests.backbones import tiny
from tests.data.video_files import write
from tests.test_live import INFO, run, save

CLOCK = 1.0667  # as people write 16/15


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return save(tmp_path_factory.mktemp("run"), FeatureInfo("tsp", INFO.dim, CLOCK, CLOCK))


@pytest.fixture
def movie(tmp_path):
    return str(write(tmp_path / "movie.mp4", range(0, 4000, 100)))


def weights(folder, depth):
    config = tiny.config(depth, width=INFO.dim // 8)
    variables = jax.jit(R2Plus1D(config).init)(jax.random.key(0), np.zeros((1, 4, 16, 16, 3), np.float32))
    save_weights(folder, config, variables)
    return str(folder)


def test_the_weights_are_passed_on(monkeypatch, checkpoint, movie, tmp_path):
    options = {"backbone_weights": weights(tmp_path / "w", 34), "segment_frames": 60}
    code = run(monkeypatch, checkpoint=checkpoint, source=movie, output=tmp_path / "out", **options)
    assert code == 0
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["segments"] == 2


def test_one_line_without_weights_or_with_others(monkeypatch, capsys, checkpoint, movie, tmp_path):
    for options, message in (
        ({}, "--backbone_weights"),
        ({"backbone_weights": weights(tmp_path / "w18", 18)}, "R(2+1)D-18"),
        ({"backbone_weights": tmp_path / "none"}, "no such folder"),
    ):
        assert run(monkeypatch, checkpoint=checkpoint, source=movie, output=tmp_path / "out", **options) == 2
        error = capsys.readouterr().err
        assert len(error.splitlines()) == 1 and message in error
    assert not (tmp_path / "out").exists()
