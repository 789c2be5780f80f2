"""The evaluators against a plain restatement of their rules, their odd cases, and what may not change a score."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics import soda
from lvc_jax.metrics.dense_captioning import THRESHOLDS, VERSIONS, evaluate
from lvc_jax.metrics.text.scorers import SCORERS
from tests.metrics.dense_inputs import Overlap, data_sets, item

NAMES = st.sampled_from(sorted(VERSIONS))


def score(references: dict, predictions: dict, version: str = "2018", **options: object):
    return evaluate(references, predictions, version, scorers=("METEOR",), pair_scorer=Overlap(), **options)


def plain_iou(a: tuple, b: tuple) -> float:
    common = max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
    union = min(max(a[1], b[1]) - min(a[0], b[0]), a[1] - a[0] + b[1] - b[0])
    return common / (union + 1e-8)


def restatement(references: dict, predictions: dict, limit: float, garbage: str, skip: bool) -> list[float]:
    """Language, precision and recall at one threshold, video by video, in loops."""
    rows = []
    for video, reference in references.items():
        if skip and video not in predictions:
            continue
        items = predictions.get(video, [])[:1000]
        pairs: list[tuple[str, str]] = []
        for one in items:
            met = [
                event[2]
                for events in reference["references"]
                for event in events
                if plain_iou(one["timestamp"], event[:2]) >= limit
            ]
            pairs += [(one["sentence"], sentence) for sentence in met or [garbage]]
        precision, recall = [0.0], [0.0]
        for events in reference["references"]:
            hits = [[plain_iou(one["timestamp"], event[:2]) > limit for event in events] for one in items]
            if hits and events:
                precision.append(sum(map(any, hits)) / len(items))
                recall.append(sum(map(any, zip(*hits))) / len(events))
        language = 0.0
        if pairs:
            call = Overlap().calls([h for h, _ in pairs], [[r] for _, r in pairs], np.zeros(len(pairs), int), 1)
            language = call["METEOR"][0]
        rows.append([language, max(precision), max(recall)])
    return np.mean(rows, axis=0).tolist() if rows else [0.0, 0.0, 0.0]


@given(data_sets(), st.sampled_from([("2018", "abc123!@#", False), ("2021", "zz", False), ("vidchapters", "zz", True)]))
def test_against_a_plain_restatement(data: tuple, rules: tuple) -> None:
    version, garbage, skip = rules
    result = score(*data, version)
    rows = [restatement(*data, limit, garbage, skip) for limit in THRESHOLDS]
    for place, name in enumerate(("METEOR", "precision", "recall")):
        for limit, row in zip(THRESHOLDS, rows):
            assert result.scores[f"{name}@{limit:g}"] == pytest.approx(row[place], abs=1e-12)
        assert result.scores[name] == pytest.approx(np.mean([row[place] for row in rows]), abs=1e-12)


@given(data_sets(), NAMES, st.randoms(use_true_random=False))
def test_what_may_not_change_a_score(data: tuple, version: str, random: object) -> None:
    references, predictions = data
    result = score(references, predictions, version)
    assert all(math.isfinite(value) for value in result.scores.values())
    assert all(math.isfinite(value) for own in result.per_video.values() for value in own.values())
    shuffled = [dict(random.sample(list(part.items()), len(part))) for part in data]  # type: ignore[attr-defined]
    assert score(*shuffled, version).scores == pytest.approx(result.scores, abs=1e-12)
    # Each score is the mean of the videos that hold it, so scoring in batches gives the same.
    held: dict[str, list[float]] = {name: [] for name in result.scores}
    for video, reference in references.items():
        part = score({video: reference}, predictions, version)
        assert part.per_video.get(video) == pytest.approx(result.per_video.get(video))
        for name, value in part.per_video.get(video, {}).items():
            held[name].append(value)
    expected = {name: np.mean(values) if values else 0.0 for name, values in held.items()}
    assert result.scores == pytest.approx(expected, abs=1e-12)


@given(data_sets(), NAMES)
def test_every_caption_twice_changes_no_ratio(data: tuple, version: str) -> None:
    references, predictions = data
    twice = {video: [one for one in items for _ in range(2)] for video, items in predictions.items()}
    assert score(references, twice, version).scores == pytest.approx(score(references, predictions, version).scores)


@given(data_sets(), NAMES)
def test_coverage_adds_up(data: tuple, version: str) -> None:
    references, predictions = data
    found = score(references, predictions, version).coverage
    assert found["videos_missing"] == sum(not predictions.get(video) for video in references)
    assert found["videos_extra"] == len(set(predictions) - set(references))
    assert found["predictions"] == sum(map(len, predictions.values()))
    unmatched = [found[f"predictions_without_match@{limit:g}"] for limit in THRESHOLDS]
    assert unmatched == sorted(unmatched) and unmatched[-1] <= found["predictions"] - found["predictions_extra"]
    assert found["videos_scored"] == len(score(references, predictions, version).per_video)


EVENT = {"references": [[(0.0, 10.0, "a man runs")], []]}
SILENT = {"references": [[], []]}


def perfect(result: object) -> bool:
    return result.scores["METEOR"] == 0.5 and result.scores["precision"] == result.scores["recall"] == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_missing_empty_and_extra_videos(version: str) -> None:
    found = {"v": [item(0, 10)]}
    assert perfect(score({"v": EVENT}, {**found, "x": [item(0, 10)]}, version))
    assert set(score({"v": EVENT}, {}, version).scores.values()) == {0.0}
    assert set(score({"v": EVENT}, {"v": []}, version).scores.values()) == {0.0}
    half = score({"v": EVENT, "w": EVENT}, {**found, "w": []}, version)
    assert half.scores["METEOR"] == 0.25 and half.scores["recall"] == 0.5
    missing = score({"v": EVENT, "w": EVENT}, found, version)
    assert missing.scores["METEOR"] == (0.5 if version == "vidchapters" else 0.25)
    assert missing.coverage["videos_missing"] == 1
    with pytest.raises(InputError, match="no reference video"):
        score({}, found, version)


def test_strict_leaves_silent_videos_and_events_that_nobody_can_describe_out() -> None:
    odd = {"references": [[(0.0, 10.0, "a man runs"), (5.0, 5.0, "a"), (9.0, 2.0, "a"), (0.0, 10.0, " ?!")], []]}
    result = score({"v": odd, "s": SILENT}, {"v": [item(0, 10), item(0, 10, "...")]}, "strict")
    assert perfect(result) and set(result.per_video) == {"v"}
    assert result.coverage["events_unusable"] == 3 and result.coverage["predictions_wordless"] == 1
    talking = score({"v": EVENT, "s": SILENT}, {"v": [item(0, 10)], "s": [item(0, 10)]}, "strict")
    assert (talking.scores["precision"], talking.scores["recall"], talking.scores["METEOR"]) == (0.5, 1.0, 0.25)
    assert "recall" not in talking.per_video["s"]


def test_strict_takes_ratios_as_they_are_and_reads_every_prediction() -> None:
    for length, limit in ((3, 0.3), (5, 0.5), (7, 0.7), (9, 0.9), (10, 1.0)):
        assert perfect(score({"v": EVENT}, {"v": [item(0, length)]}, "strict", thresholds=(limit,)))
        assert set(score({"v": EVENT}, {"v": [item(0, length)]}, "2021", thresholds=(limit,)).scores.values()) == {0.0}
    late = {"v": [item(20, 30)] * 1000 + [item(0, 10)]}
    assert score({"v": EVENT}, late, "strict").scores["recall"] == 1
    limited = score({"v": EVENT}, late, "2021")
    assert limited.scores["recall"] == 0 and limited.coverage["predictions_over_limit"] == 1


def test_a_reversed_prediction_stays_and_meets_nothing() -> None:
    for version in VERSIONS:
        result = score({"v": EVENT}, {"v": [item(0, 10), item(10, 0)]}, version)
        assert (result.scores["precision"], result.scores["recall"]) == (0.5, 1.0)
        assert result.coverage["predictions_without_match@0.3"] == 1


def test_garbage_can_be_guessed_in_2018_only() -> None:
    wrong = {"v": [item(20, 30, "abc123!@#")]}
    assert score({"v": EVENT}, wrong, "2018").scores["METEOR"] == 0.5
    word = VERSIONS["2021"].garbage_for(())
    assert word.isalpha() and word.islower() and 10 <= len(word) <= 20
    for version in ("2021", "vidchapters", "strict"):
        for text in ("abc123!@#", word, word.upper(), word + "q"):
            assert score({"v": EVENT}, {"v": [item(20, 30, text)]}, version).scores["METEOR"] == 0


def test_paragraphs_are_joined_in_time_and_stripped_to_letters() -> None:
    references = {
        "v": {"references": [[(0.0, 5.0, "A man"), (5.0, 9.0, "runs.")], [(0.0, 9.0, "two dogs")]]},
        "s": SILENT,
    }
    seen: list[tuple] = []

    class Spy(Overlap):
        def calls(self, hypotheses, references, group, groups):
            seen.append((list(hypotheses), list(references)))
            return super().calls(hypotheses, references, group, groups)

    predictions = {"v": [item(5, 9, "Runs 2 fast!"), item(0, 5, "a MAN"), item(5, 9, "away")]}
    result = evaluate(references, predictions, scorers=("METEOR",), paragraph=True, pair_scorer=Spy())
    assert seen[-1] == (["a man runs fast away"], [("a man runs", "two dogs")])
    assert 0 < result.scores["para/METEOR"] < 1
    assert (
        evaluate({"s": SILENT}, {}, scorers=("METEOR",), paragraph=True, pair_scorer=Spy()).scores["para/METEOR"] == 0
    )


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(("v", "timestamp", "sentence")), inner),
    max_leaves=6,
)


@given(st.data(), NAMES)
def test_malformed_input_is_an_error_of_one_line_or_a_score(data: st.DataObject, version: str) -> None:
    """One part of good input is replaced by anything."""
    references: dict = {"v": {"references": [[(0.0, 10.0, "a man runs")]]}}
    predictions: dict = {"v": [item(0, 10)]}
    place = data.draw(
        st.sampled_from(("references", "video", "sets", "set", "event", "found", "items", "item", "time"))
    )
    junk = data.draw(JUNK)
    if place in ("references", "found"):
        references, predictions = (junk, predictions) if place == "references" else (references, junk)
    elif place in ("video", "items"):
        (references if place == "video" else predictions)["v"] = junk
    elif place == "sets":
        references["v"]["references"] = junk
    elif place in ("set", "event"):
        references["v"]["references"] = [junk] if place == "set" else [[junk]]
    else:
        predictions["v"] = [junk] if place == "item" else [{"timestamp": junk, "sentence": "a"}]
    numbers, line = [], ""
    try:
        numbers += score(references, predictions, version).scores.values()
        numbers += soda.evaluate(references, predictions, tuple("abcd"), pair_scorer=Overlap()).scores.values()
    except InputError as error:
        line = str(error)
    assert "\n" not in line and all(map(math.isfinite, numbers))


ALL_BUT_METEOR = tuple(name for name in SCORERS if name != "METEOR")


@given(data_sets(), NAMES)
def test_text_scorers_are_finite_on_odd_input(data: tuple, version: str) -> None:
    result = evaluate(*data, version, scorers=ALL_BUT_METEOR, paragraph=True)
    assert all(map(math.isfinite, result.scores.values()))


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_line_breaks_stay_inside_their_caption(version: str) -> None:
    texts = (
        "a man\rplays the guitar",
        "a man\nplays the guitar",
        "a man\u2028plays the guitar",
        "a man\x0bplays the guitar",
    )
    references = {"v": {"references": [[(float(k), k + 1.0, "a man plays the guitar") for k in range(4)]]}}
    found = {"v": [item(k, k + 1, text) for k, text in enumerate(texts)]}
    assert evaluate(references, found, version, scorers=("ROUGE-L",)).scores["ROUGE-L"] == pytest.approx(1)


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_blank_against_blank_with_every_scorer(version: str) -> None:
    blank = {"v": {"references": [[(0.0, 10.0, "")]]}}
    scores = evaluate(blank, {"v": [item(0, 10, "")]}, version, scorers=ALL_BUT_METEOR).scores
    # The toolkits' ROUGE-L of two blank sentences is 1; in `strict` neither is there.
    assert scores["ROUGE-L"] == (0 if version == "strict" else 1)
    assert scores["CIDEr"] == scores["BLEU-4"] == 0


def test_signature_and_json_form() -> None:
    result = score({"v": EVENT}, {"v": [item(0, 10)]}, "2021")
    assert result.signature.startswith("densecap|version:2021|tiou:0.3,0.5,0.7,0.9|refs:2|")
    plain = dataclasses.asdict(result)
    assert json.loads(json.dumps({**plain, "notes": []}, allow_nan=False)) == {**plain, "notes": []}
    assert (result.metric, result.mode, result.baselines, result.notes) == ("dense_captioning", "2021", {}, ())
    with pytest.raises(InputError, match="choose one of 2018, 2021"):
        score({"v": EVENT}, {}, "2017")
