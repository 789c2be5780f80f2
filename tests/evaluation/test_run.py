"""A whole evaluation of a small untrained model: selection, captions, baselines, files."""

import dataclasses
import html
import json
from pathlib import Path

import numpy as np
import pytest
from rich.progress import Progress

from lvc_jax.errors import InputError
from lvc_jax.evaluation import predict, render, table
from lvc_jax.evaluation.run import Results, Run, evaluate
from lvc_jax.evaluation.selection import Selection
from lvc_jax.outputs import predictions


@pytest.fixture(scope="module")
def run(model, dataset) -> Run:
    return Run(
        model=model,
        selection=Selection(dataset),
        segment_frames=(24, 60, "video"),
        overrides={"consolidation": None, "memory": None},
        baselines=("always_silent", "most_frequent", "shuffled_features"),
        most_frequent="a man runs",
        batch=2,
        header={"checkpoint": "x", "step": 3, "dataset": "m", "split": "val", "features": "numbers", "version": "0"},
    )


@pytest.fixture(scope="module")
def results(run: Run) -> Results:
    with Progress(disable=True) as bar:
        return evaluate(run, bar)


def test_every_row_is_there(results: Results) -> None:
    methods = ["model", "always_silent", "most_frequent", "shuffled_features"]
    assert [list(scores) for scores in results.scores.values()] == [methods] * 3
    silent = results.scores[60]["always_silent"].metrics
    assert silent["silent_kept"] == 1
    assert silent["LS/ROUGE-L"] == silent["exact_match"] == 0
    assert results.scores[60]["most_frequent"].metrics["exact_match"] > 0
    assert results.scores[60]["model"].videos


def test_the_counter_is_scored_where_there_is_one(run: Run, results: Results) -> None:
    for frames, scores in results.scores.items():
        with_counter = [name for name, result in scores.items() if "counter_accuracy" in result.metrics]
        assert with_counter == ["model", "shuffled_features"]
        counts: dict[str, list[int]] = {}
        config = predict.stream_config(run.model, run.selection, frames)
        predict.caption(run.model, run.selection, frames, config, counts=counts)
        slots = run.selection.count_segments(frames)[0]
        assert sum(len(own) for own in counts.values()) == slots
        for video, own in counts.items():
            for item in results.predictions[frames][video]:
                assert item["count"] == own[item["segment"]]


def test_the_model_captions_within_its_segments(results: Results) -> None:
    items = results.predictions[60]
    assert set(items) == {"a", "b", "c"}
    assert any(items.values())
    for item in (item for own in items.values() for item in own):
        assert item["timestamp"][1] <= 2 * (item["segment"] + 1)


def test_headers_and_notes(results: Results) -> None:
    assert results.headers[60]["memory"] == 2
    assert results.headers["video"]["memory"] == 1
    assert results.headers["video"]["consolidation"] == "rerank"
    # 0.8 s segments of rows that come once a second: those without a new row are told of.
    assert any(note.startswith("Δt = 24: ") and "no new feature row" in note for note in results.notes)
    assert not any(note.startswith("Δt = 60") for note in results.notes)
    # The checkpoint's config names 24 and 60.
    assert [note.split(" is outside")[0] for note in results.notes if "trained on" in note] == ["Δt = video"]


def test_settings_that_whole_videos_do_not_take_are_told_of(run: Run, results: Results) -> None:
    assert not any(note.startswith("Δt = video: ") for note in results.notes)
    given = {"consolidation": "slot", "memory": 3}
    own = dataclasses.replace(run, segment_frames=(60, "video"), overrides=given, baselines=())
    with Progress(disable=True) as bar:
        again = evaluate(own, bar)
    assert again.headers[60]["memory"] == 3
    (note,) = (note for note in again.notes if note.startswith("Δt = video: "))
    assert "consolidation = slot, memory = 3 does not apply" in note
    assert note.endswith("used instead: consolidation = rerank, memory = 1.")


def test_shuffled_features_come_from_another_video(dataset) -> None:
    selection = Selection(dataset)
    for own, other in zip(selection.clips("video"), selection.clips("video", shuffled=True)):
        assert own.id == other.id
        assert own.segments[0].shape == other.segments[0].shape
        assert not np.isin(other.segments[0], own.segments[0]).any()


def test_held_segments_are_counted(dataset) -> None:
    selection = Selection(dataset)
    # 4 s in segments of 0.8 s: rows end at 1, 2, 3, 4 s, so segments 1, 2, 3, 4 get one each and segment 0 none.
    assert Selection(_only(dataset, 0)).count_segments(24) == (5, 1, 1)
    assert selection.count_segments(60)[:2] == (2 + 4 + 5, 0)
    assert selection.count_segments("video") == (3, 0, 10)


def _only(dataset, i: int):
    class One:
        info = dataset.info
        ids = (dataset.ids[i],)

        def spans(self, _: int):
            return dataset.spans(i)

        def __getitem__(self, _: int):
            return dataset[i]

    return One()


def test_the_sample_is_seeded(dataset) -> None:
    assert Selection(dataset, 2, seed=1).ids == Selection(dataset, 2, seed=1).ids
    assert len({tuple(Selection(dataset, 2, seed=seed).ids) for seed in range(8)}) > 1
    assert len(Selection(dataset, 99)) == 3
    with pytest.raises(InputError, match="max_videos"):
        Selection(dataset, 0)


@pytest.mark.parametrize(("name", "value"), [("backbone", "tsp"), ("dim", 5), ("stride_s", 0.5)])
def test_wrong_features_are_refused(model, name: str, value: object) -> None:
    given = dataclasses.replace(model.feature_info, **{name: value})
    with pytest.raises(InputError, match=name):
        predict.check_features(model.feature_info, given, "here")


def test_files(run: Run, results: Results, tmp_path: Path) -> None:
    render.write(tmp_path, title="Title <1>", kind="synthetic", run=run, results=results, command="python x")
    expected = {"scores.json", "table.txt", "table.md", "report.html", "live_score_24.png", "live_score_60.png"}
    expected |= {f"{stem}_{frames}{end}" for frames in (24, 60, "video") for stem, end in (("predictions", ".json"),)}
    expected |= {f"timeline_{frames}.png" for frames in (24, 60, "video")}
    assert {path.name for path in tmp_path.iterdir()} == expected
    scores = json.loads((tmp_path / "scores.json").read_text())
    assert scores["caption_kind"] == "synthetic"
    assert set(scores["rows"]) == {"24", "60", "video"}
    assert scores["signature"]["60"][0].startswith("livescore|mode:paper|clock:dt60|")
    assert scores["signature"]["60"][-1].startswith("timeliness|clock:dt60|match:ROUGE-L>=0.3|")
    header, items = predictions.read(tmp_path / "predictions_60.json")
    assert (header["segment_frames"], header["step"]) == (60, 3)
    assert items == results.predictions[60]
    page = (tmp_path / "report.html").read_text()
    assert "Title &lt;1&gt;" in page
    for head, meaning in table.legend().items():
        assert f"\n- *{head}*: {meaning}\n" in (tmp_path / "table.md").read_text()
        assert f"\n{head}: {meaning}\n" in (tmp_path / "table.txt").read_text()
        assert page.count(f"<dt>{html.escape(head)}</dt><dd>{html.escape(meaning)}</dd>") == 1
    # Tables of three Δt and four methods each, and none of actions.
    assert page.count("<dt>always silent</dt>") == 3
    assert "maIA" not in page
    assert "http" not in page.replace("http-equiv", "")
    for note in results.notes:
        assert f"\n{note}\n" in (tmp_path / "table.txt").read_text()
        assert f"\n- {note}\n" in (tmp_path / "table.md").read_text()
    lines = (tmp_path / "table.txt").read_text().splitlines()
    assert sum(line.lstrip().startswith(("24 ", "60 ", "video ")) for line in lines) == 12
    assert (tmp_path / "table.md").read_text().count("\n| ") == 14


def test_a_second_evaluation_gives_the_same_numbers(run: Run, results: Results) -> None:
    again = dataclasses.replace(run, segment_frames=(60,), batch=3)
    with Progress(disable=True) as bar:
        repeated = evaluate(again, bar)
    for name, result in repeated.scores[60].items():
        assert result.metrics == pytest.approx(results.scores[60][name].metrics, abs=1e-6)
