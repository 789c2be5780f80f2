"""Instantaneous Accuracy: the toolkit's numbers to the bit, a slow oracle, both readings by hand, invariances."""

import contextlib
import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics import instantaneous_accuracy as ia
from lvc_jax.metrics.instantaneous_accuracy_slots import BACKGROUND, Clock, label_slots


def segment(start: float, end: float, label: str, **more: object) -> dict:
    return {"segment": [start, end], "label": label, **more}


def video(duration: float, *segments: dict) -> dict:
    return {"duration": duration, "annotations": list(segments)}


def oracle(annotation: dict, items: list[dict], slot: float) -> tuple[list[float], list[float]]:
    """IA and weighted IA with a loop over slots that counts everything anew."""
    number = math.ceil(annotation["duration"] / slot)
    truth, said = [BACKGROUND] * number, [BACKGROUND] * number
    for grid, segments in ((truth, annotation["annotations"]), (said, items)):
        for item in segments:
            start, end = (math.floor(time / slot) for time in item["segment"])
            for i in range(number)[start:end]:
                grid[i] = item["label"]
    plain, weighted = [], []
    for i in range(number):
        pairs = list(zip(truth[: i + 1], said[: i + 1]))
        actions = sum(a != BACKGROUND for a, _ in pairs)
        rest = len(pairs) - actions
        positives = sum(a == b != BACKGROUND for a, b in pairs)
        negatives = sum(a == b == BACKGROUND for a, b in pairs)
        up, down = (rest / actions, actions / rest) if actions and rest else (1, 1)
        plain.append((positives + negatives) / (i + 1))
        weighted.append((positives * up + negatives * down) / (i + 1))
    return plain, weighted


TIMES = st.floats(-3, 30, allow_nan=False)
SEGMENTS = st.lists(
    st.builds(
        lambda a, b, label, score: segment(a, b, label, score=score),
        TIMES,
        TIMES,
        st.sampled_from([BACKGROUND, "A", "B", "C"]),
        st.floats(0, 1),
    ),
    max_size=6,
)
VIDEOS = st.builds(lambda duration, own: video(duration, *own), st.floats(0.01, 25), SEGMENTS)
SLOTS = st.sampled_from([0.1, 0.5, 1.0, 0.7])


def test_golden_cases(shared: Path) -> None:
    cases = json.loads((shared / "golden/instantaneous_accuracy/cases.json").read_text())["cases"]
    assert len(cases) >= 21
    for case in cases:
        given_, expected = case["input"], case["output"]
        how = ia.reading("reference", given_["slot"])
        annotation = {"duration": given_["duration"], "annotations": given_["gt"]["annotations"]}
        curve = ia.score_video(annotation, given_["pred"], how, case["name"])
        assert len(curve.plain) == expected["n_slots"], case["name"]
        assert curve.plain.tolist() == expected["IA"], case["name"]
        assert curve.weighted.tolist() == expected["weighted_IA"], case["name"]
        for name, segments in (("grid_gt", annotation["annotations"]), ("grid_pred", given_["pred"])):
            codes = {BACKGROUND: 0}
            labels = label_slots(segments, expected["n_slots"], how.clock, codes)
            names = list(codes)
            assert [names[code] for code in labels] == expected[name], case["name"]
        own = ia.score({"v": annotation}, {"v": given_["pred"]}, how).per_video["v"]
        assert (own["aIA"], own["weighted_aIA"]) == (expected["aIA"], expected["weighted_aIA"]), case["name"]


def test_golden_small_data_set(shared: Path) -> None:
    content = json.loads((shared / "golden/instantaneous_accuracy/dataset_small.json").read_text())
    for row in content["results"]:
        chosen = {v: x for v, x in content["gt"]["database"].items() if x["subset"] == row["subset"]}
        result = ia.score(chosen, content["pred"]["results"] if chosen else {}, subset=row["subset"])
        assert list(result.per_video) == row["videos"]
        expected = {"maIA": float(row["maIA"]), "weighted_maIA": float(row["maIA_weighted"])}
        np.testing.assert_array_equal(list(result.scores.values()), [expected[name] for name in result.scores])
        assert row["videos"] or "No video was scored: NaN, as the toolkit prints." in result.notes


def test_thumos14(shared: Path) -> None:
    database = json.loads((shared / "data/oad/thumos14_ground_truth.json").read_text())["database"]
    items = json.loads((shared / "data/oad/thumos14_c3d_predictions.json").read_text())["results"]
    golden = json.loads((shared / "golden/instantaneous_accuracy/thumos14.json").read_text())["results"]["thumos14"]
    references = {name: own for name, own in database.items() if own["subset"] == "Test"}
    result = ia.score(references, items, subset="Test")
    assert round(result.scores["weighted_maIA"], 7) == 0.5810263
    assert round(result.scores["maIA"], 7) == 0.7264318
    assert result.coverage == {"videos_scored": 212, "videos_missing": 0, "videos_extra": 0, "predictions": 5584}
    for name, scores in (("c3d", result.scores), *result.baselines.items()):
        expected = {"all_background": "all_bg"}.get(name, name)
        assert scores == {key: golden[expected][key] for key in ("maIA", "weighted_maIA")}
    for name, own in golden["c3d"]["per_video"].items():
        mine = result.per_video[name]
        assert (mine["slots"], mine["aIA"], mine["weighted_aIA"]) == (own["n_slots"], own["aIA"], own["weighted_aIA"])
        assert (mine["IA"][-1], mine["weighted_IA"][-1]) == (own["IA_last"], own["weighted_IA_last"])
    paper = ia.score(references, items, ia.reading("paper"), subset="Test")  # the figures of docs/metrics.md
    assert [round(100 * value, 2) for value in paper.scores.values()] == [73.64, 60.30]
    example = result.per_video[golden["curve_example"]["video"]]
    assert example["IA"] == golden["curve_example"]["IA"]
    assert example["weighted_IA"] == golden["curve_example"]["weighted_IA"]


@given(VIDEOS, SEGMENTS, SLOTS)
def test_equals_the_slow_oracle(annotation: dict, items: list, slot: float) -> None:
    curve = ia.score_video(annotation, items, ia.reading("reference", slot))
    plain, weighted = oracle(annotation, items, slot)
    assert curve.plain.tolist() == plain
    assert curve.weighted.tolist() == weighted


@given(
    st.dictionaries(st.sampled_from("abcdef"), VIDEOS, min_size=1), st.data(), st.sampled_from(["reference", "paper"])
)
def test_baselines_and_bounds(references: dict, data: st.DataObject, mode: str) -> None:
    items = {name: data.draw(SEGMENTS) for name in references}
    result = ia.score(references, items, ia.reading(mode))
    for own in result.per_video.values():
        for name in ("IA", "weighted_IA"):
            assert all(0 <= value <= 1 + 1e-12 for value in own[name])
    for value in result.baselines["perfect_model"].values():
        assert value == pytest.approx(1, abs=1e-12)
    nothing = ia.score(references, {name: [] for name in references}, ia.reading(mode))
    assert nothing.scores == result.baselines["all_background"]


@given(st.dictionaries(st.sampled_from("abcdef"), VIDEOS, min_size=2), st.randoms(use_true_random=False))
def test_order_of_videos_and_split_do_not_matter(references: dict, rng: random.Random) -> None:
    items = {name: [segment(0, 5, "A"), segment(4, 9, "B")] for name in references}
    whole = ia.score(references, items)
    names = list(references)
    rng.shuffle(names)
    shuffled = ia.score({name: references[name] for name in names}, items)
    assert shuffled.scores == pytest.approx(whole.scores, abs=1e-12)
    cut = rng.randrange(1, len(names))
    halves = [
        ia.score({n: references[n] for n in part}, {n: items[n] for n in part}) for part in (names[:cut], names[cut:])
    ]
    for name, value in whole.scores.items():
        merged = sum(half.scores[name] * len(half.per_video) for half in halves) / len(names)
        assert merged == pytest.approx(value, abs=1e-12)


def test_paper_reading_by_hand() -> None:
    how = ia.reading("paper", 1.0)
    # 4.6 s are four whole slots; [0.4, 2.6) covers the middles of slots 0, 1 and 2, and C those of 2 and 3.
    annotation = video(4.6, segment(0.4, 2.6, "A"), segment(2.0, 4.0, "C"))
    items = [segment(0, 3, "A", score=0.9), segment(1, 3, "B", score=0.2), segment(3, 4.6, "C", score=0.1)]
    curve = ia.score_video(annotation, items, how)
    assert curve.time.tolist() == [1, 2, 3, 4]
    assert curve.plain.tolist() == [1, 1, 1, 1]
    # Scores decide in `paper`, the order of the list in `reference`.
    wrong = ia.score_video(annotation, items, ia.reading("reference", 1.0))
    assert wrong.plain.tolist() == [1, 1 / 2, 1 / 3, 2 / 4, 3 / 5]


def test_readings_differ_where_they_say() -> None:
    references = {"a": video(4.0, segment(0, 2, "A")), "b": video(4.0, segment(0, 2, "A"))}
    items = {"a": [segment(0, 2, "A")]}
    toolkit = ia.score(references, items)
    paper = ia.score(references, items, ia.reading("paper"))
    assert toolkit.scores["maIA"] == 1
    assert paper.scores["maIA"] == pytest.approx((1 + toolkit.baselines["all_background"]["maIA"]) / 2)
    assert (toolkit.coverage["videos_scored"], toolkit.coverage["videos_missing"]) == (1, 1)
    assert toolkit.coverage | {"videos_scored": 2} == paper.coverage
    assert toolkit.coverage["videos_missing"] == 1
    assert "left out" in toolkit.notes[0] and "background" in paper.notes[0]
    assert "|mode:paper|slot:0.5|slots:floor|raster:middle|overlap:any|missing:background|" in paper.signature


def test_equation_2_as_printed() -> None:
    how = ia.Reading("paper-printed", Clock(1.0, "floor", "middle", "any"), "background", "duration")
    result = ia.score({"v": video(4.5, segment(1, 2, "A"))}, {"v": [segment(1, 2, "A")]}, how)
    assert result.scores["maIA"] == pytest.approx(4 / 4.5)


def test_labels_nobody_annotated_are_noted() -> None:
    result = ia.score({"v": video(4.0, segment(0, 2, "A"))}, {"v": [segment(0, 2, "a")], "w": []})
    assert result.coverage["videos_extra"] == 1
    assert any("'a'" in note for note in result.notes)


def test_an_empty_video_is_nan_in_reference_only() -> None:
    result = ia.score({"v": video(0.0)}, {"v": []})
    assert math.isnan(result.scores["maIA"])
    assert result.notes == ("1 videos have no slot: NaN, as the toolkit prints.",)
    with pytest.raises(InputError, match=r"video v: duration 0"):
        ia.score({"v": video(0.0)}, {"v": []}, ia.reading("paper"))
    with pytest.raises(InputError, match="no video to score"):
        ia.score({}, {}, ia.reading("paper"))


@pytest.mark.parametrize(
    ("annotation", "items", "message"),
    [
        (video(math.nan), [], "video v: duration nan"),
        (video(-1.0), [], "video v: duration -1"),
        (video(1e300), [], "more than 10000000 slots"),
        ({"duration": 3.0}, [], "video v: expected an object with 'duration' and 'annotations'"),
        (video(3.0, {"label": "A"}), [], "video v: annotations: item 0: field 'segment'"),
        (video(3.0), [{"segment": [0, 1]}], "video v: predictions: item 0: field 'label'"),
        (video(3.0), [segment(0, math.inf, "A")], "item 0: field 'segment'"),
        (video(3.0), [segment(0, 1, "A", score=math.nan)], "item 0: field 'score'"),
        (video(3.0), "abc", "expected a list"),
        (video(3.0), [3], "expected an object"),
    ],
)
def test_bad_input_is_one_line(annotation: dict, items: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        ia.score({"v": annotation}, {"v": items})


def test_bad_options() -> None:
    for bad in (0, -1.0, math.nan):
        with pytest.raises(InputError, match="slot="):
            ia.reading("reference", bad)
    with pytest.raises(InputError, match="mode="):
        ia.reading("toolkit")
    with pytest.raises(InputError, match="raster="):
        Clock(raster="round")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="none of the 1 predicted videos"):
        ia.score({"v": video(3.0)}, {"w": []}, ia.reading("paper"))


def test_predictions_for_unknown_videos_alone_are_nan_in_the_toolkits_reading() -> None:
    result = ia.score({"v": video(3.0)}, {"w": []}, subset="Test")
    assert math.isnan(result.scores["maIA"])
    assert result.coverage["videos_scored"] == 0
    assert any("annotated (subset Test): do both files name videos alike" in note for note in result.notes)


def test_coverage_counts_what_is_in_the_mean() -> None:
    given_videos = {"v": video(3.0), "w": video(2.0)}
    for mode, number in (("reference", 1), ("paper", 2)):
        coverage = ia.score(given_videos, {"v": []}, ia.reading(mode)).coverage
        assert (coverage["videos_scored"], coverage["videos_missing"]) == (number, 1)


JSONISH = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers(-(10**400), 10**400) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["segment", "label", "score", "duration", "annotations", "v"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSONISH, JSONISH, st.sampled_from(["reference", "paper"]))
def test_any_input_scores_or_says_why(annotation: object, items: object, mode: str) -> None:
    with contextlib.suppress(InputError):
        result = ia.score({"v": annotation}, {"v": items}, ia.reading(mode))  # type: ignore[dict-item]
        assert mode == "reference" or all(math.isfinite(value) for value in result.scores.values())


def test_a_perfect_model_says_no_background_over_an_action() -> None:
    both = [
        {"segment": [0.0, 1.0], "label": BACKGROUND, "score": 1.0},
        {"segment": [0.0, 1.0], "label": "A", "score": 0.0},
    ]
    result = ia.score({"a": {"duration": 1.0, "annotations": both}}, {"a": []}, ia.reading("paper"))
    assert result.baselines["perfect_model"] == {"maIA": 1.0, "weighted_maIA": 1.0}
