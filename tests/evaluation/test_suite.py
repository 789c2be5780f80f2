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
from lvc_jax.metrics.live_score import Reading
from lvc_jax.metrics.timeliness import Rule

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
    delays = {f"delay_{which}_s" for which in ("mean", "p10", "p25", "p50", "p75", "p90")}
    expected |= {f"timeliness/{name}" for name in (*delays, "never", "before_half")}
    assert set(metrics) == expected
    json.dumps(metrics, allow_nan=False)
    assert metrics["exact_match"] == metrics["silent_kept"] == 1


def test_a_perfect_captioner() -> None:
    references = {"w": {"duration": 4.0, "references": [[(0.0, 2.0, "a dog barks loudly")]]}}
    metrics = suite.score(references, {"w": [item(0, "a dog barks loudly")]}, 60).metrics
    for name, value in metrics.items():
        if "BLEU" in name or "ROUGE" in name or "recall" in name or "precision" in name:
            assert value == pytest.approx(1, abs=1e-8), name


def test_timeliness_by_hand() -> None:
    # Appear at 4, 8 and 2 s. Label: 4 s, never, 1 s. By words "a man runs" also means "he runs", after 3 s.
    said = {"v": [item(1, "a man runs"), item(3, "he runs")], "w": [item(0, "a dog barks")]}
    for rule, mean, never in ((suite.BY_LABEL, 2.5, 1 / 3), (suite.BY_WORDS, 8 / 3, 0)):
        metrics = suite.score(REFERENCES, said, 60, rule=rule).metrics
        assert metrics["timeliness/delay_mean_s"] == pytest.approx(mean)
        assert metrics["timeliness/never"] == pytest.approx(never)
    # The first annotator has no "he runs". Where a slot is a prediction, "a dog barks" (0 to 2 s) is over at 2 s too,
    # and "he runs" (6 to 8 s) meets the end of "a man runs".
    first = Reading(references="first")
    assert suite.score(REFERENCES, said, 60, first, rule=suite.BY_LABEL).metrics["timeliness/never"] == 0
    assert "|refs:first|" in suite.signatures(60, first)[-1]
    clock = Reading(clock="prediction")
    assert suite.score(REFERENCES, said, 60, clock).metrics["timeliness/delay_mean_s"] == 2.5
    assert suite.signatures(60, clock)[-1].startswith("timeliness|clock:prediction|match:ROUGE-L>=0.3|refs:first|")


def test_one_memory_of_pairs_for_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = suite.parse_timeliness("BLEU-1>=0.5")
    reading = Reading(scorers=("ROUGE-L", "CIDEr"))
    scorer = suite.pair_scorer(reading, rule)
    assert scorer.scorers == ("ROUGE-L", "BLEU-1")
    alone = suite.score(REFERENCES, PERFECT, 60, reading, rule=rule)
    assert suite.score(REFERENCES, PERFECT, 60, reading, rule=rule, scorer=scorer).metrics == alone.metrics
    pairs = scorer.pairs
    # The same captions at another Δt meet the same events.
    suite.score(REFERENCES, PERFECT, 60, reading, rule=rule, scorer=scorer)
    assert scorer.pairs == pairs == 3
    with pytest.raises(InputError, match="timeliness: the given pair scorer has no METEOR"):
        suite.score(REFERENCES, PERFECT, 60, reading, rule=Rule(match="METEOR"), scorer=scorer)


@pytest.mark.parametrize("text", ["label", " label ", "ROUGE-L>=0.3", "BLEU-4 >= 0.123456789", "METEOR>=1"])
def test_matches_of_the_timeliness_are_written_as_they_are_read(text: str) -> None:
    rule = suite.parse_timeliness(text)
    assert rule.matching == text.replace(" ", "")
    assert suite.parse_timeliness(rule.matching) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "give label"),
        ("ROUGE-L", "in quotes"),
        ("label>=0.5", "give label"),
        ("CIDEr>=0.5", "match='CIDEr': choose one of"),
        ("ROUGE-L>=x", "'x' is no number"),
        ("ROUGE-L>=0", "above 0"),
        ("ROUGE-L>=nan", "above 0"),
        ("ROUGE-L>=30", "at most 1"),
    ],
)
def test_bad_matches(text: str, message: str) -> None:
    with pytest.raises(InputError, match=f"^--timeliness={text}: [^\n]*{message}"):
        suite.parse_timeliness(text)


def test_the_kind_of_captions_chooses_the_match() -> None:
    kinds = ("verbalised labels", "synthetic", "human captions", "captions of the annotation file")
    assert [suite.timeliness_of(kind).matching for kind in kinds] == ["label"] * 2 + ["ROUGE-L>=0.3"] * 2


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
