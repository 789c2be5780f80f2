"""The evaluate command on two made-up salads: every number of this file was worked out by hand."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from lvc_jax import evaluate
from lvc_jax.data.annotations import Event
from lvc_jax.data.datasets import Span, VideoRecord, fifty_salads
from lvc_jax.errors import InputError
from lvc_jax.evaluation import render
from lvc_jax.metrics.text.scorers import PairScorer
from tests.commands import given
from tests.evaluation import score_runs

OIL, SALT = fifty_salads.ACTIONS["add_oil"], fifty_salads.ACTIONS["add_salt"]
EVENTS = {"a": [(0, 4, OIL), (6, 8, SALT)], "b": [(2, 4, OIL), (4, 8, SALT)]}
# Segments of 2 s: what is said, and in which.
SAID = {"a": [(1, OIL), (2, SALT), (3, SALT)], "b": [(1, SALT), (2, SALT), (3, "a dog")]}
# Half seconds: whether what is said there is annotated there.
RIGHT = {"a": [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4, "b": [1] * 4 + [0] * 4 + [1] * 4 + [0] * 4}
# Captions appear at 2, 4, 6 and 8 s. Oil of a: 4 s late; salt of a: 2 s of 2; oil of b: never; salt of b: 2 s of 4.
TIMELINESS = {"delay_mean_s": 8 / 3, "delay_p50_s": 2, "never": 1 / 4, "before_half": 1 / 4}


class Salads:
    """Two videos of 8 s; the features know the annotated label of every second."""

    info = fifty_salads.INFO
    caption_kind = "verbalised labels"
    ids = ("a", "b")

    def spans(self, i: int) -> Span:
        return Span(8.0, (tuple(Event(*event) for event in EVENTS[self.ids[i]]),), 8)

    def sentences(self) -> list[str]:
        return [SALT]

    def __getitem__(self, i: int) -> VideoRecord:
        features = np.zeros((8, 18), np.float32)
        for second in range(8):
            said = next((words for start, end, words in EVENTS[self.ids[i]] if start <= second < end), None)
            features[second, fifty_salads.SENTENCES.index(said)] = 1
        return VideoRecord(self.ids[i], 8.0, self.spans(i).references, features, self.info)


def captions(_model: object, _selection: object, frames: int, *_: object, counts: dict, **__: object) -> dict:
    counts |= {video: [1] * (240 // frames) for video in SAID}
    return {
        video: [{"timestamp": [2.0 * k, 2.0 * k + 2], "sentence": words, "segment": k} for k, words in said]
        for video, said in SAID.items()
    }


@pytest.fixture
def at_hand(monkeypatch: pytest.MonkeyPatch, model) -> None:
    """A checkpoint that says `SAID`, and the data set."""
    speaker = SimpleNamespace(**{**vars(model), "feature_info": fifty_salads.INFO})
    monkeypatch.setattr(evaluate.checkpoints, "load_for_inference", lambda *_, **__: speaker)
    monkeypatch.setattr(evaluate, "open_dataset", lambda *_: Salads())
    monkeypatch.setattr(evaluate.predict, "caption", captions)


def run(output: Path, **options: object) -> dict:
    flags = {"checkpoint": "x", "dataset": "fifty_salads", "segment_frames": "60", "output": str(output), **options}
    with given(evaluate, **flags):
        evaluate.main()
    return json.loads((output / "scores.json").read_text())


def timely(scores: dict[str, float | None]) -> dict[str, float | None]:
    return {name.partition("/")[2]: value for name, value in scores.items() if name.startswith("timeliness/")}


@pytest.mark.usefixtures("at_hand")
def test_timeliness_and_the_same_of_the_predictions_file(tmp_path: Path) -> None:
    scores = run(tmp_path / "e")
    rows = scores["rows"]["60"]
    found = timely(rows["model"])
    assert {name: found[name] for name in TIMELINESS} == pytest.approx(TIMELINESS)
    # Salt in every segment: salt of a after 2 s, salt of b after 2 s, oil never.
    always = timely(rows["most_frequent"])
    assert (always["delay_mean_s"], always["never"], always["before_half"]) == (2, 0.5, 0.25)
    assert timely(rows["always_silent"])["never"] == 1
    line = "timeliness|clock:dt60|match:label|refs:both|tok:"
    assert any(own.startswith(line) for own in scores["signature"]["60"])
    annotations = {
        video: {"duration": 8, "timestamps": [e[:2] for e in events], "sentences": [e[2] for e in events]}
        for video, events in EVENTS.items()
    }
    files = {
        "predictions": tmp_path / "e/predictions_60.json",
        "references": score_runs.write(tmp_path / "r.json", annotations),
    }
    again = score_runs.run(tmp_path, **files)
    assert timely(again["scores"]) == found
    assert line in again["signature"]
    # Three of the four words of salt and oil are the same.
    by_words = score_runs.run(tmp_path, "--timeliness=ROUGE-L>=0.7", **files)
    assert timely(by_words["scores"])["never"] == 0
    assert "|match:ROUGE-L>=0.7|" in by_words["signature"]


@pytest.mark.parametrize(
    ("flags", "header", "message"),
    [
        (["--timeliness=ROUGE-L"], {}, "^--timeliness=ROUGE-L: give label, or a scorer and its least score in quotes"),
        ([], {"timeliness": [1]}, r"p.json: header: timeliness=\[1\]: give label"),
        ([], {"timeliness": "CIDEr>=1"}, "header: timeliness=CIDEr>=1: match='CIDEr': choose one of"),
    ],
)
def test_a_bad_match_of_a_predictions_file(tmp_path: Path, flags: list[str], header: dict, message: str) -> None:
    content = {"results": {"a": []}, "header": {"segment_frames": 60, **header}}
    files = {
        "predictions": score_runs.write(tmp_path / "p.json", content),
        "references": score_runs.write(
            tmp_path / "r.json", {"a": {"duration": 8, "timestamps": [[0, 4]], "sentences": [OIL]}}
        ),
    }
    with pytest.raises(InputError, match=message):
        score_runs.run(tmp_path, *flags, **files)


@pytest.mark.usefixtures("at_hand")
def test_a_match_by_words(tmp_path: Path) -> None:
    scores = run(tmp_path, timeliness="ROUGE-L>=0.7", baselines=["none"])
    # Oil of a: still 4 s, salt 2 s; b says salt of oil at 4 s, after 2 s of 2; salt 2 s of 4.
    found = timely(scores["rows"]["60"]["model"])
    assert (found["delay_mean_s"], found["never"], found["before_half"]) == (2.5, 0, 0.25)
    assert json.loads((tmp_path / "predictions_60.json").read_text())["header"]["timeliness"] == "ROUGE-L>=0.7"


@pytest.mark.usefixtures("at_hand")
def test_captions_as_actions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = run(tmp_path)
    content = score_runs.read(tmp_path / "actions_60.json")
    curves = {video: np.cumsum(right) / np.arange(1, 17) for video, right in RIGHT.items()}
    i = np.arange(9, 17)
    # Weights of a: 1 up to slot 8, where no background was; (i - 8) / 8 up to slot 12, then 4 / (i - 4).
    weighted = [0, 0, 0, 0, 1 / 5, 2 / 6, 3 / 7, 4 / 8, *((i - 8) / (2 * i))[:4], *(4 * (i - 8) / (i - 4) / i)[4:]]
    for mode in ("paper", "reference"):
        own = content["per_video"][mode]["model"]
        for video, values in curves.items():
            assert own[video]["IA"] == pytest.approx(values.tolist(), abs=1e-6)
        assert own["a"]["weighted_IA"] == pytest.approx(weighted, abs=1e-6)
        model = content["scores"][mode]["model"]
        assert model["maIA"] == pytest.approx(np.mean([values.mean() for values in curves.values()]))
        # Oil: 4 of 12 frames are found, all first; salt: 8 of 12, as 8 of 16; the rest as 12 in all 32.
        assert model["mAP"] == pytest.approx(np.mean([4 / 12 + 8 / 12 * 12 / 32, 8 / 12 / 2 + 4 / 12 * 12 / 32]))
    # Calibrated by 20 / 12: salt's 8 of 16 become 5/8, and 12 of 32 become 1/2.
    assert content["scores"]["paper"]["model"]["cmAP"] == pytest.approx(
        np.mean([4 / 12 + 8 / 12 / 2, 8 / 12 * 5 / 8 + 4 / 12 / 2])
    )
    paper = content["scores"]["paper"]
    assert list(paper) == [
        "model",
        "always_silent",
        "most_frequent",
        "shuffled_features",
        "verbalised_argmax",
        "all_background",
        "perfect_model",
    ]
    assert paper["always_silent"] == paper["all_background"]
    assert paper["verbalised_argmax"] == paper["perfect_model"] == pytest.approx(dict.fromkeys(paper["model"], 1))
    assert content["unknown"]["model"] == 1
    for mode, own in content["signature"].items():
        assert [line.split("|slot")[0].split("|ties")[0] for line in own] == [
            f"instantaneous_accuracy|mode:{mode}",
            f"average_precision|mode:{'standard' if mode == 'paper' else 'lstr'}",
        ]
        assert set(own) < set(scores["signature"]["60"])
    assert not any("maIA" in name for name in scores["rows"]["60"]["model"])
    printed = capsys.readouterr().out
    shown = [f"{100 * paper['model'][name]:.1f}" for name in ("maIA", "weighted_maIA", "mAP", "cmAP")]
    for place in (printed, (tmp_path / "table.txt").read_text(), (tmp_path / "table.md").read_text()):
        tables = place.split(render.ACTIONS_TITLE)
        assert len(tables) == 2
        assert "perfect model" not in tables[0]
        row = next(line for line in tables[1].splitlines() if " model " in line)
        assert row.replace("|", " ").split()[2:6] == shown
    page = (tmp_path / "report.html").read_text()
    for text in (render.ACTIONS_TITLE, "<dt>perfect model</dt>", "Instantaneous accuracy of video ", "|mode:lstr|"):
        assert text in page
    assert (tmp_path / "actions_60.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("at_hand")
def test_the_picture_shows_the_median_video(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = []
    draw = render.action_scores.plots_actions.instantaneous_accuracy
    monkeypatch.setattr(
        render.action_scores.plots_actions,
        "instantaneous_accuracy",
        lambda *given: shown.append(given) or draw(*given),
    )
    run(tmp_path, baselines=["always_silent"])
    ((title, slot, curves, annotated, detected),) = shown
    # a is mostly wrong at first, so b is the better one, and of two the better is taken.
    assert title.endswith("Video b")
    assert (slot, list(curves)) == (0.5, ["model", "always silent"])
    assert curves["model"]["IA"] == pytest.approx((np.cumsum(RIGHT["b"]) / np.arange(1, 17)).tolist())
    assert [item["label"] for item in annotated] == ["add_oil", "add_salt"]
    assert [item["label"] for item in detected][:2] == ["add_salt", "add_salt"]


@pytest.mark.usefixtures("at_hand")
def test_pairs_are_scored_and_pictures_drawn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, drawn = [], []
    begin, png = PairScorer.__init__, render.plots.png
    monkeypatch.setattr(PairScorer, "__init__", lambda self, *a, **k: made.append(self) or begin(self, *a, **k))
    monkeypatch.setattr(render.plots, "png", lambda figure: drawn.append(figure) or png(figure))
    run(tmp_path, segment_frames="60,120", timeliness="BLEU-2>=0.5")
    assert len(made) == 1
    assert len(drawn) == len(list(tmp_path.glob("*.png"))) == 6


@pytest.mark.usefixtures("at_hand")
def test_other_references_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EVENTS, "b", [(0, 2, "a man runs")])
    with pytest.raises(InputError, match="video b: 'a man runs' is no verbalised label"):
        run(tmp_path / "e", baselines=["none"])
    assert not (tmp_path / "e").exists()
