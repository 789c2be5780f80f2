"""Delays of captions: by hand, against a plain loop, and what may not change them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings

from lvc_jax.errors import InputError
from lvc_jax.metrics import timeliness
from lvc_jax.metrics.text.scorers import PairScorer
from lvc_jax.metrics.timeliness import Delays, Rule
from tests.metrics.live_cases import DATA, oracle_slots

LABEL = Rule(60, match="label")
VIDEO = {
    "duration": 20.0,
    "references": [[(1.0, 9.0, "a man runs"), (3.0, 5.0, "A dog barks."), (12.0, 19.0, "a cat")], [(1.0, 9.0, "he")]],
}


def item(segment: int, sentence: str) -> dict:
    return {"timestamp": [0, 1], "sentence": sentence, "segment": segment}


def test_delays_by_hand() -> None:
    # Slots of 2 s: a caption of slot k appears at 2(k + 1) s.
    said = [item(0, "a cat"), item(1, "A man runs "), item(2, "a man runs"), item(2, "a dog barks"), item(9, "a cat")]
    events = timeliness.delays({"v": VIDEO}, {"v": said}, LABEL)
    assert events.delay.tolist() == [3.0, 3.0, 8.0, math.inf]
    assert events.length.tolist() == [8.0, 2.0, 7.0, 8.0]
    numbers = timeliness.summary(events)
    assert numbers["timeliness/delay_mean_s"] == pytest.approx(14 / 3)
    assert numbers["timeliness/delay_p50_s"] == 3
    assert numbers["timeliness/delay_p90_s"] == pytest.approx(7)
    assert numbers["timeliness/never"] == 0.25
    # The man (3 s of 8 s); the dog's event is over when the caption comes, the cat's almost.
    assert numbers["timeliness/before_half"] == 0.25


def test_first_annotator_only_and_a_scorer_with_its_threshold() -> None:
    said = {"v": [item(0, "a man walks"), item(1, "a man runs")]}
    rule = Rule(60, match="ROUGE-L", threshold=0.9, references="first")
    assert timeliness.delays({"v": VIDEO}, said, rule).delay.tolist() == [3.0, math.inf, math.inf]
    rule = Rule(60, match="ROUGE-L", threshold=0.6, references="first")
    assert timeliness.delays({"v": VIDEO}, said, rule).delay.tolist() == [1.0, math.inf, math.inf]


def test_without_a_clock_a_caption_appears_when_its_time_is_over() -> None:
    said = [{"timestamp": [2.0, 6.5], "sentence": "a man runs"}, {"timestamp": [12.0, 20.0], "sentence": "a man runs"}]
    events = timeliness.delays({"v": VIDEO}, {"v": said}, Rule("video", match="label", references="first"))
    assert events.delay.tolist() == [5.5, math.inf, math.inf]


def test_nothing_to_count_is_none() -> None:
    silent = timeliness.score({"v": {"duration": 5.0, "references": [[]]}}, {}, LABEL)
    assert set(silent.values()) == {None}
    mute = timeliness.score({"v": VIDEO}, {}, LABEL)
    assert mute["timeliness/never"] == 1
    assert mute["timeliness/before_half"] == 0
    assert mute["timeliness/delay_mean_s"] is None


@settings(max_examples=15)
@given(data=DATA)
def test_equal_to_a_plain_loop_however_divided(data: tuple[dict, dict]) -> None:
    references, predictions = data
    rule = Rule(60, match="ROUGE-L", threshold=0.5)
    expected = []
    scorer = PairScorer(["ROUGE-L"])
    for name, video in references.items():
        step, number = 2.0, max(1, math.ceil(video["duration"] / 2))
        for start, end, sentence in [event for group in video["references"] for event in group]:
            soonest = math.inf
            for k in range(number):
                shown = min(2.0 * (k + 1), video["duration"])
                alone = {"duration": video["duration"], "references": [[(start, end, sentence)]]}
                said = [item for item in predictions[name] if place(item, step, number) == k]
                pairs = [pair for found, _, _ in oracle_slots(alone, said, rule.reading) for pair in found]
                values = scorer.sentence([said for said, _ in pairs], [[meant] for _, meant in pairs])["ROUGE-L"]
                if (values >= 0.5).any():
                    soonest = min(soonest, max(0.0, shown - start))
            expected.append(soonest)
    actual = timeliness.delays(references, predictions, rule)
    np.testing.assert_allclose(actual.delay, expected, rtol=0, atol=1e-9)
    twice = {name: [item for item in items for _ in range(2)] for name, items in predictions.items()}
    np.testing.assert_array_equal(timeliness.delays(references, twice, rule).delay, actual.delay)
    parts = [timeliness.delays({name: references[name]}, predictions, rule) for name in references]
    np.testing.assert_array_equal(timeliness.merge(parts).delay, actual.delay)
    assert timeliness.summary(timeliness.merge(parts[::-1])) == pytest.approx(timeliness.summary(actual))


def place(item: dict, step: float, number: int) -> int:
    return min(max(item.get("segment", int(sum(item["timestamp"]) / 2 // step)), 0), number - 1)


def test_merging_nothing() -> None:
    assert timeliness.summary(timeliness.merge([])) == timeliness.summary(Delays(np.zeros(0), np.zeros(0)))


def test_signature_and_bad_rules() -> None:
    assert Rule().signature.startswith("timeliness|clock:dt150|match:METEOR>=0.15|refs:both|tok:")
    assert Rule("video", match="label").signature.startswith("timeliness|clock:prediction|match:label|refs:both|")
    for options, message in (
        ({"match": "CIDEr"}, "choose one of"),
        ({"threshold": 0.0}, "above 0"),
        ({"threshold": math.nan}, "above 0"),
        ({"segment_frames": 0}, "segment_frames"),
        ({"references": "all"}, "choose one of"),
    ):
        with pytest.raises(InputError, match=message):
            Rule(**options)
