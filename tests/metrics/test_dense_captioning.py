"""Precision and recall at tIoU: by hand, odd cases, and the original evaluator's numbers."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.metrics.dense_captioning import interval_iou, precision_recall

SPAN = st.tuples(st.floats(0, 50), st.floats(0.1, 50)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def item(start: float, end: float) -> dict:
    return {"timestamp": [start, end], "sentence": "a"}


@given(st.lists(SPAN, min_size=1, max_size=4), st.lists(SPAN, min_size=1, max_size=4))
def test_iou_against_plain_numbers(first: list, second: list) -> None:
    for (a, b), row in zip(first, interval_iou(first, second)):
        for (c, d), value in zip(second, row):
            shared = max(0.0, min(b, d) - max(a, c))
            assert value == pytest.approx(shared / (b - a + d - c - shared), abs=1e-6)


def test_thresholds_are_strict_and_sets_are_taken_at_their_best() -> None:
    references = {"v": {"references": [[(0.0, 10.0, "a"), (20.0, 30.0, "b")], [(0.0, 5.0, "a")]]}}
    result = precision_recall(references, {"v": [item(0, 10), item(40, 50)]}, (0.3, 0.5, 0.9))
    # The second set has the better recall (its one event meets a prediction at tIoU 0.5, which is not above 0.5).
    assert result == {
        "precision_0.3": 0.5,
        "precision_0.5": 0.5,
        "precision_0.9": 0.5,
        "recall_0.3": 1.0,
        "recall_0.5": 0.5,
        "recall_0.9": 0.5,
    }


def test_odd_cases_are_defined() -> None:
    event = {"references": [[(0.0, 10.0, "a")]]}
    silent = {"references": [[], []]}
    assert precision_recall({"v": event}, {}, (0.5,)) == {"precision_0.5": 0, "recall_0.5": 0}
    assert precision_recall({"v": event}, {"v": []}, (0.5,)) == {"precision_0.5": 0, "recall_0.5": 0}
    assert precision_recall({"s": silent}, {}, (0.5,)) == {"precision_0.5": 0, "recall_0.5": 0}
    found = {"v": [item(0, 10)]}
    assert precision_recall({"v": event, "s": silent}, found, (0.5,)) == {"precision_0.5": 1, "recall_0.5": 1}
    wrong = {**found, "s": [item(0, 10)]}
    assert precision_recall({"v": event, "s": silent}, wrong, (0.5,)) == {"precision_0.5": 0.5, "recall_0.5": 1}
    assert precision_recall({"v": {"references": [[(5.0, 5.0, "a")]]}}, {"v": [item(5, 5)]}, (0.5,))["recall_0.5"] == 0


@pytest.mark.parametrize("name", ["edge_2018", "real50_bmt_2018", "max1000_2018"])
def test_numbers_of_the_original(shared: Path, name: str) -> None:
    folder = shared / "golden/dense_captioning"
    golden = json.loads((folder / f"{name}.json").read_text())
    files = [json.loads((folder / path).read_text()) for path in golden["inputs"]["gt"]]
    results = json.loads((folder / golden["inputs"]["pred"]).read_text())["results"]
    # The original reads the first 1,000 predictions of a video.
    predictions = {video: items[:1000] for video, items in results.items()}
    references = {
        video: {
            "references": [
                [(*t, s) for t, s in zip(file[video]["timestamps"], file[video]["sentences"])]
                for file in files
                if video in file
            ]
        }
        for video in {video for file in files for video in file}
    }
    for limit, scores in golden["scores_by_tiou"].items():
        result = precision_recall(references, predictions, (float(limit),))
        np.testing.assert_allclose(result[f"precision_{limit}"], scores["Precision"], rtol=1e-12)
        np.testing.assert_allclose(result[f"recall_{limit}"], scores["Recall"], rtol=1e-12)
