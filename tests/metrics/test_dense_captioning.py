"""Precision and recall at tIoU: by hand, odd cases, and the original evaluator's numbers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics.dense_captioning import interval_iou, precision_recall
from lvc_jax.metrics.dense_captioning.matching import flatten_events, flatten_predictions, meet
from tests.metrics.dense_inputs import data_sets, golden, item

SPAN = st.tuples(st.floats(0, 50), st.floats(0.1, 50)).map(lambda pair: (pair[0], pair[0] + pair[1]))


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


@given(data_sets(), st.sampled_from([1, 2, 7, 1 << 20]))
def test_meetings_do_not_depend_on_the_block(data: tuple, block: int) -> None:
    references, predictions = data
    videos = list(references)
    events, found = flatten_events(references, videos), flatten_predictions(predictions, videos)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lvc_jax.metrics.dense_captioning.matching._BLOCK", block)
        result = meet(found, events, len(videos), floor=0.2)
    expected = [
        (p, e, interval_iou([found.span[p]], [events.span[e]])[0, 0])
        for p in range(len(found.video))
        for e in range(len(events.video))
        if found.video[p] == events.video[e]
    ]
    assert list(zip(*(column.tolist() for column in result))) == [row for row in expected if row[2] >= 0.2]


@pytest.mark.parametrize(
    ("references", "predictions", "text"),
    [
        ({"v": {}}, {}, "video v: references"),
        ({"v": {"references": 3}}, {}, "video v: references"),
        ({"v": {"references": [[(1.0, 2.0)]]}}, {}, "video v: reference event"),
        ({"v": {"references": [[(1.0, float("nan"), "a")]]}}, {}, "video v: reference event: timestamp"),
        ({"v": {"references": [[(1.0, 2.0, None)]]}}, {}, "video v: reference event: sentence"),
        ({"v": {"references": []}}, {"v": 3}, "video v: predictions"),
        ({"v": {"references": []}}, {"v": ["a"]}, "video v: prediction 'a'"),
        ({"v": {"references": []}}, {"v": [{"sentence": "a"}]}, "video v: prediction: timestamp None"),
        ({"v": {"references": []}}, {"v": [{"timestamp": [0, "1"]}]}, "video v: prediction: timestamp"),
        ({"v": {"references": []}}, {"v": [{"timestamp": [0, 1, 2]}]}, "video v: prediction: timestamp"),
        ({"v": {"references": []}}, {"v": [{"timestamp": [0, 10**400]}]}, "video v: prediction: timestamp"),
    ],
)
def test_malformed_input_is_one_line(references: dict, predictions: dict, text: str) -> None:
    with pytest.raises(InputError) as error:
        precision_recall(references, predictions)
    assert str(error.value).startswith(text) and "\n" not in str(error.value)


@pytest.mark.parametrize("thresholds", [(), (0.0,), (0.5, 0.5), (1.2,), (float("nan"),)])
def test_thresholds_are_checked(thresholds: tuple) -> None:
    with pytest.raises(InputError, match="tIoU"):
        precision_recall({"v": {"references": []}}, {}, thresholds)


@pytest.mark.parametrize("name", ["edge_2018", "real50_bmt_2018", "max1000_2018"])
def test_numbers_of_the_original(shared: Path, name: str) -> None:
    content, references, results = golden(shared / "golden/dense_captioning", name)
    # The original reads the first 1,000 predictions of a video.
    predictions = {video: items[:1000] for video, items in results.items()}
    for limit, scores in content["scores_by_tiou"].items():
        result = precision_recall(references, predictions, (float(limit),))
        np.testing.assert_allclose(result[f"precision_{limit}"], scores["Precision"], rtol=1e-12)
        np.testing.assert_allclose(result[f"recall_{limit}"], scores["Recall"], rtol=1e-12)
