"""Average precision: values of the three programs, a slow oracle, stages, masks, invariances."""

import contextlib
import json
import math
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lvc_jax.errors import InputError
from lvc_jax.metrics import average_precision as ap
from lvc_jax.metrics import average_precision_score as score_module
from lvc_jax.metrics import average_precision_stages as stages
from lvc_jax.metrics import instantaneous_accuracy as ia
from lvc_jax.metrics.instantaneous_accuracy_slots import Clock

CLASSES = ["Background", "A", "B", "C"]
SEGMENT = {"segment": [1, 3], "label": "A"}


@pytest.fixture(scope="module")
def golden(shared: Path) -> dict:
    return json.loads((shared / "golden/average_precision/cases.json").read_text())


def test_golden_single_class(golden: dict) -> None:
    programs = {
        "sklearn.average_precision_score": (ap.average_precision, "trn"),
        "LSTR.calibrated_average_precision_score": (ap.calibrated_average_precision, "lstr"),
        "OadTR.frame_level_map_n_cap AP": (ap.average_precision, "oadtr"),
        "OadTR.frame_level_map_n_cap cAP": (ap.calibrated_average_precision, "oadtr"),
    }
    for case in golden["single_class"]:
        assert case["out"].keys() == programs.keys()
        for program, (function, name) in programs.items():
            value = function(np.array(case["y_true"]), np.array(case["y_score"]), name)
            expected = float(case["out"][program])
            np.testing.assert_allclose(value, expected, rtol=0, atol=1e-15, err_msg=f"{case['name']} {program}")


def test_golden_several_classes(golden: dict) -> None:
    for case in golden["multi_class"]:
        names = case["class_names"]
        ignore = [names[case["ignore_index"]]] if case["ignore_index"] >= 0 else []
        truth, scores = np.array(case["ground_truth"]), np.array(case["prediction"])
        columns = ap.scored_classes(truth, scores, names, "lstr", ignore=ignore)
        values = ap.per_class(truth, scores, columns, "lstr")
        assert values == pytest.approx(case["out"]["per_class_AP"], abs=1e-15)
        assert ap.mean(values) == pytest.approx(case["out"]["mean_AP"], abs=1e-15)
        result = score_module.score(
            {"v": case["ground_truth"]}, {"v": case["prediction"]}, names, "lstr", ignore=ignore
        )
        assert result.scores["mAP"] == pytest.approx(case["out"]["mean_AP"], abs=1e-15)


def test_golden_stages(golden: dict) -> None:
    for case in golden["per_stage_selection"]:
        truth, scores = np.array(case["gt"]), np.array(case["pred"])
        frames = stages.stage_frames(truth, case["perc_s"], case["perc_e"])
        assert truth[frames].tolist() == case["stage_gt"], case["name"]
        assert scores[frames].tolist() == case["stage_pred"], case["name"]


def slow(truth: list, scores: list, *, grouped: bool, calibrated: bool) -> float:
    """Frame by frame; a group of ties has the precision at its end."""
    ranked = sorted(zip(scores, truth), key=lambda pair: -pair[0])
    positives = sum(truth)
    weight = (len(truth) - positives) / positives if calibrated else 1
    total = 0.0
    for k, (value, positive) in enumerate(ranked):
        if positive:
            upto = [p for v, p in ranked if v >= value] if grouped else [p for _, p in ranked[: k + 1]]
            right = sum(upto)
            total += weight * right / (weight * right + len(upto) - right)
    return total / positives


COLUMN = st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.2, 0.5, 1.0, -math.inf])), min_size=2).filter(
    lambda pairs: 0 < sum(truth for truth, _ in pairs) < len(pairs)
)


@given(COLUMN)
def test_equals_the_slow_oracle(pairs: list) -> None:
    truth, scores = (list(part) for part in zip(*pairs))
    arrays = np.array(truth), np.array(scores)
    for function, calibrated in ((ap.average_precision, False), (ap.calibrated_average_precision, True)):
        for name in ("standard", "oadtr", "lstr"):
            rules = ap.rules(name)
            grouped = (rules.calibrated_ties if calibrated else rules.ties) == "grouped"
            expected = slow(truth, scores, grouped=grouped, calibrated=calibrated)
            assert function(*arrays, name) == pytest.approx(expected, abs=1e-12)


@given(COLUMN, st.randoms(use_true_random=False))
def test_standard_knows_no_order_of_frames(pairs: list, rng: random.Random) -> None:
    shuffled = rng.sample(pairs, len(pairs))
    for function in (ap.average_precision, ap.calibrated_average_precision):
        first, second = (function(*(np.array(part) for part in zip(*frames))) for frames in (pairs, shuffled))
        assert first == pytest.approx(second, abs=1e-12)


def test_degenerate_columns() -> None:
    frames = np.array([0.1, 0.2, 0.2])
    for function in (ap.average_precision, ap.calibrated_average_precision):
        assert function(np.zeros(3), frames) == 0
        assert function(np.ones(3), frames) == 1
    assert ap.average_precision(np.zeros(3), frames, "trn") == 0
    assert math.isnan(ap.average_precision(np.zeros(3), frames, "oadtr"))
    assert math.isnan(ap.calibrated_average_precision(np.ones(3), frames, "oadtr"))


def random_frames(rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    truth = np.eye(4, dtype=int)[rng.integers(0, 3, number)]
    return truth, rng.integers(0, 9, (number, 4)) / 10 + truth * 0.2


def test_rules_of_absent_classes() -> None:
    truth, scores = random_frames(np.random.default_rng(0), 50)  # never C
    results = {name: score_module.score({"v": truth}, {"v": scores}, CLASSES, name) for name in ap.IMPLEMENTATIONS}
    lstr, trn, oadtr = (results[name].scores for name in ("lstr", "trn", "oadtr"))
    assert trn["mAP"] == pytest.approx(lstr["mAP"] * 2 / 3)
    assert "cmAP" not in trn and "AP/C" not in lstr
    assert math.isnan(oadtr["mAP"]) and math.isnan(oadtr["cmAP"])
    assert any("NaN as oadtr" in note for note in results["oadtr"].notes)
    assert results["standard"].scores["mAP"] == lstr["mAP"]
    assert "1 classes have no frame (C): in no mean." in results["standard"].notes


def test_ambiguous_frames_by_class_and_by_mask() -> None:
    truth, scores = random_frames(np.random.default_rng(1), 60)
    truth[10:20, 3] = 1
    kept = truth[:, 3] == 0
    expected = score_module.score({"v": truth[kept][:, :3]}, {"v": scores[kept][:, :3]}, CLASSES[:3])
    by_class = score_module.score({"v": truth}, {"v": scores}, CLASSES, ambiguous="C")
    by_mask = score_module.score({"v": truth}, {"v": scores}, CLASSES, ignore=["C"], ambiguous={"v": ~kept})
    assert by_class.scores == by_mask.scores == expected.scores
    assert by_class.coverage["frames"] == 50
    assert "|ambiguous:C|" in by_class.signature and "|ambiguous:mask|" in by_mask.signature


@given(st.randoms(use_true_random=False), st.booleans())
def test_videos_in_any_order_and_cut_at_will(rng: random.Random, per_stage: bool) -> None:
    numbers = np.random.default_rng(rng.randrange(1000))
    videos = {name: random_frames(numbers, 20) for name in "abc"}
    whole = score_module.score(
        {n: t for n, (t, _) in videos.items()}, {n: s for n, (_, s) in videos.items()}, CLASSES, per_stage=per_stage
    )
    order = rng.sample(list(videos), 3)
    moved = score_module.score(
        {n: videos[n][0] for n in order}, {n: videos[n][1] for n in videos}, CLASSES, per_stage=per_stage
    )
    assert moved.scores == pytest.approx(whole.scores, abs=1e-12)
    joined = [np.concatenate(parts) for parts in zip(*videos.values())]
    together = score_module.score({"v": joined[0]}, {"v": joined[1]}, CLASSES)
    assert together.scores == pytest.approx({k: v for k, v in whole.scores.items() if "stage" not in k}, abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(["standard", "lstr", "trn", "oadtr"]), st.booleans())
def test_stages_are_average_precision_of_their_frames(seed: int, name: str, calibrated: bool) -> None:
    if calibrated and name == "trn":
        return
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, 2, (12, 3)), rng.integers(1, 14, 12), axis=0)
    scores = np.where(rng.random(truth.shape) < 0.1, -np.inf, rng.integers(-3, 4, truth.shape) / 4)
    one = ap.calibrated_average_precision if calibrated else ap.average_precision
    starts = [0, len(truth) // 2]
    kept = ap.scored_classes(truth, scores, CLASSES[:3], name, stages=True)
    found = stages.per_stage(truth, scores, kept, name, calibrated=calibrated, starts=starts)
    for value, (begin, end) in zip(found, stages.STAGES):
        expected = []
        for column in kept.values():
            frames = stages.stage_frames(truth[:, column], begin, end, starts)
            expected.append(one(truth[frames, column], scores[frames, column], name))
        np.testing.assert_allclose(value, np.mean(expected) if expected else math.nan, rtol=0, atol=1e-15)


def test_columns_are_chosen_once() -> None:
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 2, (30, 3)), rng.random((30, 3))
    for name, columns in (("oadtr", {"c": 2}), ("standard", {"c": 2, "a": 0})):
        found = ap.per_class(truth, scores, columns, name)
        assert found == {key: ap.average_precision(truth[:, k], scores[:, k], name) for key, k in columns.items()}
        one_by_one = [stages.per_stage(truth, scores, {key: k}, name) for key, k in columns.items()]
        assert stages.per_stage(truth, scores, columns, name) == pytest.approx(np.mean(one_by_one, axis=0), abs=1e-15)
    with pytest.raises(InputError, match=r"labels: rows of unequal length"):
        ap.scored_classes([[1], [0, 1]], scores, CLASSES[:3])


def test_lstr_leaves_no_class_out_of_a_stage() -> None:
    truth, values = {"v": [[0, 1, 0], [1, 0, 0]]}, {"v": [[0.1, 0.9, 0.2], [0.8, 0.1, 0.3]]}
    result = score_module.score(truth, values, CLASSES[:3], "lstr", per_stage=True)
    assert result.scores["mAP"] == 1
    assert result.scores["mAP/stage_0"] == 0.5
    assert math.isnan(result.scores["cmAP/stage_0"])
    assert any("in those of the stages" in note for note in result.notes)
    ours = score_module.score(truth, values, CLASSES[:3], "standard", per_stage=True)
    assert ours.scores["mAP/stage_0"] == ours.scores["cmAP/stage_0"] == 1


def test_the_background_is_found_by_its_name_in_our_rules_and_first_in_theirs() -> None:
    order = [1, 2, 0]
    truth, values = (
        np.eye(3)[[0, 1, 2, 1]],
        np.array([[0.9, 0.2, 0.3], [0.1, 0.4, 0.2], [0.2, 0.5, 0.3], [0.3, 0.9, 0]]),
    )
    names = [CLASSES[column] for column in order]
    for name, equal in (("standard", True), ("lstr", False)):
        first = score_module.score({"v": truth}, {"v": values}, CLASSES[:3], name)
        last = score_module.score({"v": truth[:, order]}, {"v": values[:, order]}, names, name)
        assert (last.scores["mAP"] == first.scores["mAP"]) == equal
        assert any("is not the first" in note for note in last.notes) != equal


def test_stages_end_with_their_video() -> None:
    assert [part.tolist() for part in stages.runs(np.array([0, 1, 1, 1, 0, 1]), starts=[0, 2])] == [
        [1, 2, 5],
        [1, 3, 5],
    ]
    truth = np.ones(20, int)
    assert stages.stage_frames(truth, 0.9, 1.0).tolist() == [17, 18]
    assert stages.stage_frames(truth, 0.9, 1.0, starts=[0, 10]).tolist() == [8, 18]


def test_a_missing_video() -> None:
    truth, scores = random_frames(np.random.default_rng(2), 40)
    references = {"a": truth, "b": truth}
    lstr = score_module.score(references, {"a": scores}, CLASSES, "lstr")
    assert lstr.scores["mAP"] == score_module.score({"a": truth}, {"a": scores}, CLASSES, "lstr").scores["mAP"]
    standard = score_module.score(references, {"a": scores}, CLASSES)
    assert standard.scores["mAP"] < lstr.scores["mAP"]
    assert standard.coverage == {"videos_scored": 2, "videos_missing": 1, "videos_extra": 0, "frames": 80}


def test_segments_as_frames() -> None:
    references = {"v": {"duration": 5.0, "annotations": [
        {"segment": [0, 2], "label": "A"}, {"segment": [1, 3], "label": "B"},
    ]}}  # fmt: skip
    items = {"v": [
        {"segment": [0, 3], "label": "A", "score": -2.0},
        {"segment": [2, 4], "label": "A", "score": -5.0},
        {"segment": [1, 3], "label": "Z"},
    ]}  # fmt: skip
    truth, scores, classes = score_module.frames_of_segments(references, items, Clock(1.0))
    assert classes == ["Background", "A", "B"]
    assert truth["v"].astype(int).T.tolist() == [[0, 0, 0, 1, 1], [1, 1, 0, 0, 0], [0, 1, 1, 0, 0]]
    never = -math.inf
    assert scores["v"][:, 1].tolist() == [-2, -2, -2, -5, never]
    result = score_module.score_segments(references, items, Clock(1.0))
    assert result.scores["AP/A"] == pytest.approx(2 / 3)
    assert result.scores["AP/B"] == pytest.approx(2 / 5)
    assert result.baselines["all_background"]["mAP"] == pytest.approx(2 / 5)
    assert result.baselines["all_background"]["cmAP"] == pytest.approx(0.5)
    # One label a slot: the perfect model misses A where B is on as well.
    assert result.baselines["perfect_model"]["mAP"] == pytest.approx((1 + (1 + 2 / 5) / 2) / 2)


def test_thumos14_as_frames(shared: Path) -> None:
    database = json.loads((shared / "data/oad/thumos14_ground_truth.json").read_text())["database"]
    items = json.loads((shared / "data/oad/thumos14_c3d_predictions.json").read_text())["results"]
    references = {name: own for name, own in database.items() if own["subset"] == "Test"}
    result = score_module.score_segments(references, items, Clock(), "lstr", subset="Test")
    assert result.coverage["videos_scored"] == 212
    assert 0 < result.baselines["all_background"]["mAP"] < result.scores["mAP"] < 1
    assert result.scores["mAP"] < result.scores["cmAP"]
    assert 0.9 < result.baselines["perfect_model"]["mAP"] < 1


@pytest.mark.parametrize(
    ("truth", "scores", "options", "message"),
    [
        ([[1, 0]], [[1, 0], [1, 0]], {}, "video v: 1 frames of labels, 2 of scores"),
        ([[1, 2]], [[1, 0]], {}, "video v: labels: expected 0 or 1"),
        ([[1, 0]], [[math.nan, 0]], {}, "video v: scores: NaN"),
        ([[1, 0]], [["a", "b"]], {}, "video v: scores: expected numbers"),
        ([[1, 0], [1]], [[1, 0]], {}, "video v: rows of unequal length"),
        ([[1, 0, 0]], [[1, 0, 0]], {}, r"expected \[frames, 2 classes\]"),
        ([[1, 0]], [[1, 0]], {}, "no frame of any class"),
        (np.zeros((0, 2)), np.zeros((0, 2)), {}, "no frame to score"),
        ([[1, 0]], [[1, 0]], {"implementation": "mine"}, "choose one of standard, lstr, trn, oadtr"),
        ([[1, 0]], [[1, 0]], {"ambiguous": "Z"}, "ambiguous class 'Z'"),
        ([[1, 0]], [[1, 0]], {"ambiguous": {"v": [1, 0]}}, r"ambiguous frames \(2,\)"),
        ([[1, 0]], [[1, 0]], {"ignore": ["Z"]}, "class 'Z' to leave out"),
    ],
)
def test_bad_input_is_one_line(truth: object, scores: object, options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        score_module.score({"v": truth}, {"v": scores}, ["Background", "A"], **options)  # type: ignore[dict-item]


ANY = hnp.arrays(
    st.sampled_from([np.float64, np.int64, np.bool_]), hnp.array_shapes(min_dims=0, max_dims=3, max_side=3, min_side=0)
)


@given(ANY, ANY, st.sampled_from(list(ap.IMPLEMENTATIONS)), st.booleans())
def test_any_arrays_score_or_say_why(truth: np.ndarray, scores: np.ndarray, name: str, per_stage: bool) -> None:
    with contextlib.suppress(InputError):
        result = score_module.score({"v": truth}, {"v": scores}, CLASSES[:3], name, per_stage=per_stage)
        assert name == "oadtr" or name == "lstr" or all(math.isfinite(value) for value in result.scores.values())


@given(hnp.arrays(np.bool_, (6, 3)), hnp.arrays(np.float64, (6, 3), elements=st.floats(allow_nan=False)))
def test_standard_is_never_nan(truth: np.ndarray, scores: np.ndarray) -> None:
    with contextlib.suppress(InputError):
        result = score_module.score({"v": truth}, {"v": scores}, CLASSES[:3], per_stage=True)
        assert all(0 <= value <= 1 + 1e-12 for value in result.scores.values())


@pytest.mark.parametrize("annotation", [{"duration": 2.0}, {"annotations": []}, [], None])
def test_an_annotation_without_its_parts_is_named(annotation: object) -> None:
    with pytest.raises(InputError, match="video v: expected an object with 'duration' and 'annotations'"):
        score_module.score_segments({"v": annotation}, {"v": []}, Clock())


def test_a_video_of_no_length_is_refused_by_our_rules_and_has_no_frame_in_theirs() -> None:
    annotated = {name: {"duration": length, "annotations": [SEGMENT]} for name, length in (("v", 0), ("w", 4.0))}
    items = {"v": [SEGMENT], "w": [SEGMENT]}
    with pytest.raises(InputError, match="video v: duration 0: expected more than 0 seconds"):
        score_module.score_segments(annotated, items, ia.reading("paper").clock)
    with pytest.raises(InputError, match="video v: duration 0: expected more than 0 seconds"):
        ia.score(annotated, items, ia.reading("paper"))
    assert score_module.score_segments(annotated, items, ia.reading().clock, "lstr").coverage["frames"] == 8
