"""50Salads captions as action labels."""

from pathlib import Path

import numpy as np
import pytest

from lvc_jax.data.datasets import fifty_salads, fifty_salads_labels
from lvc_jax.errors import InputError
from lvc_jax.evaluation import actions, baselines
from lvc_jax.outputs import plots, plots_actions

OIL, SALT = fifty_salads.ACTIONS["add_oil"], fifty_salads.ACTIONS["add_salt"]
REFERENCES = {
    "a": {"duration": 8.0, "references": [[(0.0, 4.0, OIL), (6.0, 8.0, SALT)]]},
    "b": {"duration": 4.0, "references": [[(2.0, 4.0, OIL)]]},
}


def said(start: float, end: float, sentence: str, score: float = -1.0) -> dict:
    return {"timestamp": [start, end], "sentence": sentence, "score": score, "segment": int(start)}


def test_every_sentence_means_one_label() -> None:
    for label, sentence in fifty_salads.ACTIONS.items():
        for words in (sentence, sentence.upper(), sentence.rstrip("."), sentence.replace(".", " ."), f"  {sentence} "):
            assert fifty_salads_labels.label_of(words) == label
    for words in ("", ".", "the person adds", "a dog"):
        assert fifty_salads_labels.label_of(words) is None


def test_right_captions_are_a_perfect_detector() -> None:
    right = {
        video: [said(start, end, words.removesuffix(".") + " .") for start, end, words in reference["references"][0]]
        for video, reference in REFERENCES.items()
    }
    result = actions.score(REFERENCES, {"model": right, "silent": baselines.always_silent(REFERENCES)})
    assert result.scores["model"] == result.scores["perfect_model"]
    assert result.scores["silent"] == result.scores["all_background"]
    assert all(value == pytest.approx(1) for value in result.scores["model"].values())
    assert result.unknown == {"model": 0, "silent": 0}
    assert list(result.scores) == ["model", "silent", "all_background", "perfect_model"]


def test_by_hand() -> None:
    items = {"a": [said(0, 4, OIL), said(4, 6, "a dog"), said(6, 8, OIL)], "b": []}
    result = actions.score(REFERENCES, {"model": items}, slot=1.0)
    assert result.unknown["model"] == 1
    assert result.accuracy["model"].per_video["a"]["IA"] == [1, 1, 1, 1, 4 / 5, 4 / 6, 4 / 7, 4 / 8]
    assert result.accuracy["model"].per_video["b"]["IA"] == [1, 1, 2 / 3, 2 / 4]
    # Oil: 4 of 6 said frames are right, 2 of 6 true ones are never said; salt: only said by accident.
    assert result.precision["model"].scores["AP/add_oil"] == pytest.approx((4 * 4 / 6 + 2 * 6 / 12) / 6)
    assert set(result.scores["model"]) == {"maIA", "weighted_maIA", "mAP", "cmAP"}
    reference = actions.score(REFERENCES, {"model": items}, mode="reference", slot=1.0)
    assert reference.accuracy["model"].mode == "reference"
    assert reference.precision["model"].mode == "lstr"


def test_other_data_sets_are_refused() -> None:
    with pytest.raises(InputError, match="video v: 'a man runs' is no verbalised label"):
        actions.score({"v": {"duration": 3.0, "references": [[(0, 1, "a man runs")]]}}, {"model": {"v": []}})
    with pytest.raises(InputError, match="no video"):
        actions.score({}, {"model": {}})


def test_the_arg_max_of_all_real_folds(shared: Path) -> None:
    splits = fifty_salads.source(shared / "data/50salads").splits.values()
    records = [split.read(video) for split in splits for video in split.ids]
    references = {
        record.id: {
            "duration": record.duration,
            "references": [[(e.start, e.end, e.sentence) for e in events] for events in record.references],
        }
        for record in records
    }
    rows = {record.id: [record.features[k : k + 5] for k in range(0, len(record.features), 5)] for record in records}
    argmax = baselines.verbalised_argmax(references, rows, fifty_salads.SENTENCES, 150)
    result = actions.score(references, {"argmax": argmax})
    assert result.unknown["argmax"] == 0
    percent = {name: [round(100 * value, 1) for value in scores.values()] for name, scores in result.scores.items()}
    # The figures of docs/metrics.md.
    assert percent == {
        "argmax": [58.1, 33.1, 33.3, 73.3],
        "all_background": [4.3, 79.3, 5.6, 50.0],
        "perfect_model": [100, 100, 100, 100],
    }


def test_figure_2() -> None:
    items = {"a": [said(0, 4, OIL), said(6, 8, OIL)], "b": []}
    result = actions.score(REFERENCES, {"model": items, "silent": baselines.always_silent(REFERENCES)})
    curves = {name: own.per_video["a"] for name, own in result.accuracy.items()}
    figure = plots_actions.instantaneous_accuracy(
        "Video a", 0.5, curves, result.annotated["a"]["annotations"], result.detected["model"]["a"]
    )
    by_title = {axes.get_title(): axes for axes in figure.axes}
    assert sorted(by_title) == ["", "(a) model", "(b) weighted IA"]
    one, strips, both = by_title["(a) model"], by_title[""], by_title["(b) weighted IA"]
    assert [line.get_label() for line in one.get_lines()] == ["weighted IA", "IA"]
    assert [line.get_label() for line in both.get_lines()] == ["model", "silent"]
    np.testing.assert_allclose(both.get_lines()[0].get_ydata(), 100 * np.array(curves["model"]["weighted_IA"]))
    assert both.get_lines()[0].get_xdata()[-1] == 8
    np.testing.assert_allclose(one.get_lines()[1].get_ydata(), 100 * np.array(curves["model"]["IA"]))
    bars = [(bar.get_x(), bar.get_x() + bar.get_width(), bar.get_y() > 0.7) for bar in strips.patches]
    assert bars == [(0, 4, True), (6, 8, True), (0, 4, False), (6, 8, False)]
    assert not one.patches and not both.patches
    assert plots.png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize("number", [1, 6])
def test_the_legends_are_beside_the_curves(number: int) -> None:
    rng = np.random.default_rng(0)
    names = ["model", "verbalised arg-max", "model, shuffled features", "most frequent caption", "silent", "perfect"]
    curves = {name: {"IA": rng.random(60).tolist(), "weighted_IA": rng.random(60).tolist()} for name in names[:number]}
    segments = [{"segment": [k, k + 1], "label": f"action {k}"} for k in range(12)]
    figure = plots_actions.instantaneous_accuracy("Video a", 0.5, curves, segments, segments)
    plots.png(figure)
    panels = {axes.get_title()[:3]: axes for axes in figure.axes}
    (beside,) = figure.legends
    assert [text.get_text() for text in beside.get_texts()] == list(curves)
    for legend in (beside, panels["(a)"].get_legend(), panels[""].get_legend()):
        own = legend.get_window_extent()
        assert figure.bbox.x0 <= own.x0 and own.x1 <= figure.bbox.x1 and own.y0 >= figure.bbox.y0
        for axes in figure.axes:
            box = axes.get_window_extent()
            assert min(own.x1, box.x1) <= max(own.x0, box.x0) or min(own.y1, box.y1) <= max(own.y0, box.y0)
    title, own = panels["(a)"].title.get_window_extent(), panels["(a)"].get_legend().get_window_extent()
    assert title.y0 >= own.y1 - 4


@pytest.mark.parametrize(
    "curves", [{}, {"nothing": {"IA": [], "weighted_IA": []}}, {"x": {"IA": [1.0], "weighted_IA": [1.0]}}]
)
def test_short_and_empty_pictures_are_drawn(curves: dict) -> None:
    assert plots.png(plots_actions.instantaneous_accuracy("Nothing", 0.5, curves)).startswith(b"\x89PNG")
