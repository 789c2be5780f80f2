"""The suite: names, split annotations, curves of a set."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.data.annotations import Event, Video
from lvc_jax.errors import InputError
from lvc_jax.evaluation import suite
from lvc_jax.evaluation.quick import quick_score

REFERENCES = {
    "v": {"duration": 10.0, "references": [[(0.0, 7.0, "a man runs")], [(1.0, 5.0, "he runs")]]},
    "w": {"duration": 4.0, "references": [[(1.0, 2.0, "a dog barks")]]},
}


def item(k: int, sentence: str, delta: float = 2.0) -> dict:
    return {"timestamp": [k * delta, (k + 1) * delta], "sentence": sentence, "segment": k, "score": 0.5}


PERFECT = {"v": [item(k, "a man runs") for k in range(4)], "w": [item(0, "a dog barks")]}


def test_segment_frames() -> None:
    assert suite.parse_segment_frames("24, 48,video,24") == (24, 48, "video")
    for text in ("", "0", "-3", "1.5", "Video", "24,,48"):
        with pytest.raises(InputError, match="segment_frames"):
            suite.parse_segment_frames(text)


def test_plain_references() -> None:
    video = Video("v", 10.0, ((Event(0.0, 7.0, "a man runs"),), (Event(1.0, 5.0, "he runs"),)))
    assert suite.plain_references({"v": video}) == {"v": REFERENCES["v"]}


def test_split_references_end_with_their_events() -> None:
    split = suite.split_references(REFERENCES, 60)
    assert [piece[:2] for piece in split["v"]["references"][0]] == [(0, 2), (2, 4), (4, 6), (6, 7)]
    assert [piece[:2] for piece in split["v"]["references"][1]] == [(1, 2), (2, 4), (4, 5)]
    assert split["w"]["references"] == [[(1.0, 2.0, "a dog barks")]]


def test_names_are_stable_and_values_json() -> None:
    metrics = suite.score(REFERENCES, PERFECT, 60).metrics
    scorers = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr")
    variants = ("LS", "wLS", "hLS", "whLS")
    expected = {f"{variant}/{scorer}" for variant in variants for scorer in scorers}
    for kind in ("recall", "precision", "split_recall", "split_precision"):
        expected |= {f"{kind}_{limit}" for limit in ("0.3", "0.5", "0.7", "0.9")}
    expected |= {"exact_match", "exact_match_all", "silent_kept", "count_accuracy", "false_captions_per_silent_minute"}
    expected |= {"delay_mean_s", "delay_missed_share"}
    assert set(metrics) == expected
    json.dumps(metrics, allow_nan=False)
    assert metrics["exact_match"] == metrics["silent_kept"] == 1


def test_a_perfect_captioner() -> None:
    references = {"w": {"duration": 4.0, "references": [[(0.0, 2.0, "a dog barks loudly")]]}}
    metrics = suite.score(references, {"w": [item(0, "a dog barks loudly")]}, 60).metrics
    for name, value in metrics.items():
        if "BLEU" in name or "ROUGE" in name or "recall" in name or "precision" in name:
            assert value == pytest.approx(1, abs=1e-8), name


def test_whole_videos() -> None:
    captions = {"v": [{"timestamp": [0.0, 7.0], "sentence": "a man runs", "segment": 0}]}
    metrics = suite.score(REFERENCES, captions, "video").metrics
    assert {name.rpartition("_")[0] for name in metrics} == {"precision", "recall", "count"}
    assert metrics["recall_0.5"] == 0.5
    assert len(suite.signatures("video")) == 2


def test_mean_curve_holds_the_newest_value_until_a_video_ends() -> None:
    videos = suite.score(REFERENCES, PERFECT, 60).videos
    time, values, number = suite.over_time(videos, REFERENCES, 60)
    assert time.tolist() == [2, 4, 6, 8, 10]
    assert number.tolist() == [2, 2, 1, 1, 1]
    own = [videos[name].curves["LS"][:, 4] for name in ("v", "w")]
    np.testing.assert_allclose(values[:2, 0, 4], [(own[0][0] + own[1][0]) / 2, (own[0][1] + own[1][0]) / 2])
    np.testing.assert_allclose(values[-1, 0, 4], own[0][-1])
    empty = suite.over_time({}, REFERENCES, 60)
    assert all(len(part) == 0 for part in empty)


CAPTION = st.tuples(st.integers(0, 4), st.sampled_from(["a man runs", "", "!!", "a dog barks . it 's"]))


@given(st.lists(CAPTION, max_size=8), st.sampled_from([24, 60, 150, "video"]))
def test_any_captions_give_finite_numbers(captions: list, frames: int | str) -> None:
    result = suite.score(REFERENCES, {"v": [item(*one) for one in captions], "x": [item(0, "a")]}, frames)
    assert all(value is None or math.isfinite(value) for value in result.metrics.values())


def test_quick_score_is_the_suites_number() -> None:
    asked = []

    def predict(ids: list[str]) -> dict:
        asked.extend(ids)
        return PERFECT

    assert quick_score(predict, REFERENCES, 60) == {
        "live_score_rouge_l": suite.score(REFERENCES, PERFECT, 60).metrics["LS/ROUGE-L"]
    }
    assert asked == ["v", "w"]
