"""The evaluate command: flags to files, and what it refuses."""

import dataclasses
import json
from pathlib import Path

import pytest

from lvc_jax import evaluate
from lvc_jax.errors import InputError
from tests.commands import given


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch, model, dataset) -> None:
    """A checkpoint and a data set without files."""
    monkeypatch.setattr(evaluate.checkpoints, "load_for_inference", lambda *_, **__: model)
    monkeypatch.setattr(evaluate, "open_dataset", lambda *_: dataset)


@pytest.mark.usefixtures("at_hand")
def test_evaluate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with given(
        evaluate,
        checkpoint="x",
        output=str(tmp_path),
        segment_frames="60",
        max_videos=2,
        consolidation="events",
        batch=2,
    ):
        evaluate.main()
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert list(scores["rows"]["60"]) == ["model", "always_silent", "most_frequent", "shuffled_features"]
    assert (scores["videos"], scores["split"], scores["caption_kind"]) == (2, "val", "synthetic")
    header = json.loads((tmp_path / "predictions_60.json").read_text())["header"]
    assert (header["consolidation"], header["memory"], header["step"]) == ("events", 2, 3)
    printed = capsys.readouterr().out
    assert "memory, split val, 2 videos; captions: synthetic; features: numbers" in printed
    assert "Most frequent caption of the training split: 'a man runs'." in printed
    assert "livescore|mode:paper|clock:dt60|" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "o"}, "--checkpoint is missing"),
        ({"checkpoint": "nowhere"}, "--output is missing"),
        ({"checkpoint": "nowhere", "output": "o"}, "nowhere: no checkpoint"),
        ({"checkpoint": "x", "output": "o", "segment_frames": "5s"}, "'5s'"),
    ],
)
def test_bad_flags(options: dict[str, str], message: str) -> None:
    with given(evaluate, **options), pytest.raises(InputError, match=message):
        evaluate.main()


@pytest.mark.usefixtures("at_hand")
@pytest.mark.parametrize(
    ("options", "message"),
    [({"max_videos": 0}, "max_videos"), ({"baselines": ["oracle"]}, "'oracle'"), ({"consolidation": "slot"}, "dim")],
)
def test_bad_requests(
    options: dict, message: str, monkeypatch: pytest.MonkeyPatch, model, dataset, tmp_path: Path
) -> None:
    if message == "dim":
        monkeypatch.setattr(dataset, "info", dataclasses.replace(dataset.info, dim=5))
    called = given(evaluate, checkpoint="x", output=str(tmp_path / "o"), **options)
    with called, pytest.raises(InputError, match=message):
        evaluate.main()
    assert not (tmp_path / "o").exists()
