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
    # Made-up sentences are a fixed list.
    assert "timeliness|clock:dt60|match:label|" in printed
    note = "Checkpoint: x, step 3 (best by validation)."
    for place in (printed, *((tmp_path / name).read_text() for name in ("report.html", "table.txt", "table.md"))):
        assert note in place


@pytest.mark.usefixtures("at_hand")
def test_the_latest_in_place_of_the_best_is_told_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, model
) -> None:
    monkeypatch.setattr(model, "which", "latest")
    with given(evaluate, checkpoint="x", output=str(tmp_path), segment_frames="60", baselines=["none"]):
        evaluate.main()
    assert "step 3 (the latest, as there is no best one beside it)." in capsys.readouterr().out
    assert json.loads((tmp_path / "predictions_60.json").read_text())["header"]["which"] == "latest"


@pytest.mark.usefixtures("at_hand")
def test_a_segment_length_that_was_not_trained_is_told_of(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with given(evaluate, checkpoint="x", output=str(tmp_path), segment_frames="60,45", baselines=["none"]):
        evaluate.main()
    printed = capsys.readouterr()
    note = "Δt = 45 is outside what the checkpoint was trained on (Δt = 24, 60 frames): expect worse captions."
    assert printed.err.count("warning: ") == 1
    assert f"warning: {note}\n" in printed.err
    for place in (printed.out, *((tmp_path / name).read_text() for name in ("report.html", "table.txt", "table.md"))):
        assert place.count("outside what the checkpoint") == 1
        assert note in place


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"output": "o"}, "--checkpoint is missing"),
        ({"checkpoint": "nowhere"}, "--output is missing"),
        ({"checkpoint": "nowhere", "output": "o"}, "nowhere: no checkpoint"),
        ({"checkpoint": "x", "output": "o", "segment_frames": "5s"}, "'5s'"),
        ({"checkpoint": "x", "output": "o", "timeliness": "soon"}, "--timeliness=soon: give label"),
    ],
)
def test_bad_flags(options: dict[str, str], message: str) -> None:
    with given(evaluate, **options), pytest.raises(InputError, match=message):
        evaluate.main()


@pytest.mark.usefixtures("at_hand")
def test_a_data_set_without_the_training_split_says_what_it_was_for(
    monkeypatch: pytest.MonkeyPatch, dataset, tmp_path
) -> None:
    def opened(data_dir: str, name: str, split: str) -> object:
        if split == "train":
            raise InputError("x: no split 'train'; there are val")
        return dataset

    monkeypatch.setattr(evaluate, "open_dataset", opened)
    called = given(evaluate, checkpoint="x", output=str(tmp_path / "o"), train_split="train")
    with called, pytest.raises(InputError, match=r"no split .train.*--train_split.*--baselines=none"):
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
