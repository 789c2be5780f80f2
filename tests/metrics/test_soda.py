"""SODA against exhaustive search, the original's numbers, and odd cases."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics import dense_captioning, soda
from lvc_jax.metrics.dense_captioning import interval_iou
from lvc_jax.metrics.soda_matching import best_pairs, best_sums, original_pairs
from tests.metrics.dense_inputs import SODA_RUNS, Overlap, data_sets, golden, item

GAINS = st.integers(0, 4).flatmap(
    lambda g: st.integers(0, 4).flatmap(
        lambda p: st.lists(
            st.lists(st.sampled_from((0.0, 0.25, 0.5, 0.7)), min_size=p, max_size=p), min_size=g, max_size=g
        ).map(lambda rows: np.array(rows).reshape(g, p))
    )
)


def score(references: dict, predictions: dict, *variants: str, **options: object):
    return soda.evaluate(references, predictions, variants or ("c",), pair_scorer=Overlap(), **options)


def matchings(g: int, p: int) -> list[list[tuple[int, int]]]:
    """Every order-preserving one-to-one matching."""
    return [
        list(zip(rows, columns))
        for size in range(min(g, p) + 1)
        for rows in itertools.combinations(range(g), size)
        for columns in itertools.combinations(range(p), size)
    ]


@given(GAINS)
def test_matching_is_the_best_of_all(gain: np.ndarray) -> None:
    best = max(sum(gain[pair] for pair in pairs) for pairs in matchings(*gain.shape))
    assert best_sums(gain)[-1, -1] == pytest.approx(best)
    pairs = best_pairs(gain)
    assert pairs in matchings(*gain.shape)
    assert sum(gain[pair] for pair in pairs) == pytest.approx(best)
    assert all(gain[pair] > 0 for pair in pairs)


@given(GAINS)
def test_the_pairs_of_the_original_keep_the_order(gain: np.ndarray) -> None:
    pairs = original_pairs(gain)
    assert pairs in matchings(*gain.shape)
    assert bool(pairs) == bool(gain.size)


def test_a_ratio_that_rounding_puts_below_its_threshold_reaches_it_as_in_dense_captioning() -> None:
    references, found = {"v": {"duration": 1.0, "references": [[(0.4, 0.7, "a man runs")]]}}, {"v": [item(0, 1)]}
    assert (0.7 - 0.4) / 1 < 0.3
    values = [
        score(references, found, "a", mode="strict", thresholds=(limit,)).scores["SODA_a"]
        for limit in (0.2, 0.3, 0.300001)
    ]
    assert values[0] == values[1] > values[2] == 0
    assert dense_captioning.evaluate(references, found, "strict", scorers=(), thresholds=(0.3,)).scores["recall"] == 1


def test_a_set_with_nothing_to_score_is_no_run() -> None:
    references = {"v": {"duration": 10.0, "references": [[(0, 10, "a man runs")], []]}}
    alone = {"v": {"duration": 10.0, "references": [[(0, 10, "a man runs")]]}}
    for mode in soda.MODES:
        result, expected = (score(given, {"v": [item(0, 10)]}, mode=mode).scores for given in (references, alone))
        assert result == expected
        assert result["SODA_c"] > 0


def test_the_pairs_of_the_original_by_hand() -> None:
    assert original_pairs(np.zeros((2, 3))) == [(0, 0)]
    assert original_pairs(np.eye(3)) == [(0, 0), (1, 1), (2, 2)]
    # The best matching takes (0, 1) and (2, 2); the second row has a step of its own, which is read first.
    missed = np.array([[0.2, 0.6, 0.5], [0.3, 0.3, 0.0], [0.0, 0.5, 1.0]])
    assert original_pairs(missed) == [(1, 0), (2, 2)]
    assert best_pairs(missed) == [(0, 1), (2, 2)]


def restatement(reference: dict, items: list, variant: str) -> dict[int, float]:
    """The value of one video for each set that counts, before it is divided."""
    result = {}
    for place, events in enumerate(reference["references"]):
        events, own = sorted(events, key=lambda e: e[0]), sorted(items, key=lambda i: i["timestamp"][0])
        if events and own:
            iou = interval_iou([event[:2] for event in events], [one["timestamp"] for one in own])
            value = [Overlap().sentence([e[2]] * len(own), [[o["sentence"]] for o in own])["METEOR"] for e in events]
            gain = iou * np.array(value) if variant == "c" else iou
            result[place] = max(sum(gain[pair] for pair in pairs) for pairs in matchings(*gain.shape))
    return result


@given(data_sets(), st.sampled_from("cd"))
def test_against_a_plain_restatement(data: tuple, variant: str) -> None:
    references, predictions = data
    rows: dict[int, list[float]] = {}
    for video, reference in references.items():
        items = predictions.get(video, [])
        for place, total in restatement(reference, items, variant).items():
            p, r = total / len(items), total / len(reference["references"][place])
            rows.setdefault(place, []).append(2 * p * r / (p + r) if p + r else 0.0)
    expected = np.mean([np.mean(own) for own in rows.values()]) if rows else 0.0
    assert score(references, predictions, variant).scores[f"SODA_{variant}"] == pytest.approx(expected)


@given(
    data_sets(), st.sampled_from(soda.MODES), st.sampled_from(soda.REFERENCE_SETS), st.randoms(use_true_random=False)
)
def test_finite_and_independent_of_the_order_of_videos(data: tuple, mode: str, sets: str, random: object) -> None:
    result = score(*data, *"abcd", mode=mode, reference_sets=sets)
    numbers = [*result.scores.values(), *(value for own in result.per_video.values() for value in own.values())]
    assert all(math.isfinite(number) for number in numbers)
    shuffled = [dict(random.sample(list(part.items()), len(part))) for part in data]  # type: ignore[attr-defined]
    assert score(*shuffled, *"abcd", mode=mode, reference_sets=sets).scores == pytest.approx(result.scores)
    for video, own in result.per_video.items():
        alone = score({video: data[0][video]}, data[1], *"abcd", mode=mode, reference_sets=sets)
        assert alone.per_video[video] == pytest.approx(own)
    if sets != "mean":
        for name, value in result.scores.items():
            expected = np.mean([own[name] for own in result.per_video.values()]) if result.per_video else 0.0
            assert value == pytest.approx(expected)


EVENT = {"references": [[(0.0, 10.0, "a man runs")], [(0.0, 10.0, "two dogs run")]]}
SILENT = {"references": [[], []]}
FOUND = {"v": [item(0, 10)]}


def test_annotation_sets() -> None:
    mean = score({"v": EVENT}, FOUND).scores
    assert mean["SODA_c/set_1"] == pytest.approx(0.5) and mean["SODA_c/set_2"] == 0
    assert mean["SODA_c"] == pytest.approx(0.25)
    assert score({"v": EVENT}, FOUND, reference_sets="best").scores["SODA_c"] == pytest.approx(0.5)
    merged = score({"v": EVENT}, FOUND, reference_sets="merged").scores
    assert merged["SODA_c/precision"] == pytest.approx(0.5) and merged["SODA_c/recall"] == pytest.approx(0.25)
    assert "SODA_c/set_1" not in merged


def test_odd_cases_are_defined() -> None:
    references = {"v": EVENT, "w": EVENT}
    for predictions in ({}, {"x": [item(0, 10)]}, {"v": []}):
        for mode in soda.MODES:
            result = score({"v": EVENT, "s": SILENT}, predictions, *"abcd", mode=mode)
            assert set(result.scores.values()) == {0.0}
            assert result.coverage["videos_scored"] == (0 if mode == "reference" else 1)
    assert score(references, {**FOUND, "w": []}).scores["SODA_c"] == pytest.approx(0.25)
    assert score(references, FOUND, mode="strict").scores["SODA_c"] == pytest.approx(0.125)
    talking = {**FOUND, "s": [item(0, 10)]}
    assert score({"v": EVENT, "s": SILENT}, talking).scores["SODA_c"] == pytest.approx(0.25)
    assert score({"v": EVENT, "s": SILENT}, talking, mode="strict").scores["SODA_c"] == pytest.approx(0.125)
    with pytest.raises(InputError, match="no reference video"):
        score({}, FOUND)
    for options in ({"mode": "paper"}, {"reference_sets": "all"}):
        with pytest.raises(InputError, match="choose one of"):
            score(references, FOUND, **options)
    with pytest.raises(InputError, match="choose one of a, b, c, d"):
        score(references, FOUND, "m")


def test_a_thousand_captions_on_twenty_events() -> None:
    events = [(float(k), k + 1.0, "a man runs") for k in range(20)]
    items = [item(k / 50, k / 50 + 1) for k in range(1000)]
    result = score({"v": {"references": [events]}}, {"v": items}, *"abcd")
    assert result.scores["SODA_d/recall"] == pytest.approx(1.0, abs=1e-6)


def test_signature_names_every_choice() -> None:
    line = score({"v": EVENT}, FOUND, "a", "c", mode="strict", reference_sets="best").signature
    assert line.startswith("soda|mode:strict|variants:ac|refs:2-best|scorer:METEOR|tiou:0.3,0.5,0.7,0.9|tok:")


def test_best_leaves_the_events_in_the_order_of_the_file() -> None:
    late_first = {"v": {"references": [[(10.0, 20.0, "a man runs"), (0.0, 10.0, "a man runs")], []]}}
    found = {"v": [item(0, 10), item(10, 20)]}
    for sets, mode, expected in (("mean", "reference", 1), ("best", "reference", 0.5), ("best", "strict", 1)):
        scores = score(late_first, found, "d", reference_sets=sets, mode=mode).scores
        assert scores["SODA_d"] == pytest.approx(expected, abs=1e-6)


def of_run(references: dict, which: str | int) -> tuple[dict, str]:
    """The references of a golden run and how their sets are taken."""
    if isinstance(which, str):
        return references, which
    return {video: {"references": [own["references"][which]]} for video, own in references.items()}, "mean"


@pytest.mark.parametrize("run", SODA_RUNS)
def test_localisation_of_the_original(shared: Path, run: str) -> None:
    content, references, predictions = golden(shared / "golden/soda", "real50_bmt")
    own, sets = of_run(references, SODA_RUNS[run])
    result = score(own, predictions, "d", reference_sets=sets)
    expected = content["results"]["d"][run]
    assert result.coverage["videos_scored"] == expected["n_videos"]
    for name, value in zip(("SODA_d/precision", "SODA_d/recall", "SODA_d"), expected["precision_recall_f1"]):
        assert result.scores[name] == pytest.approx(value, abs=1e-12)
    both = score(references, predictions, "d").scores["SODA_d"]
    assert both == pytest.approx(content["results"]["d"]["pdvc_eval_soda_mean_f1"], abs=1e-12)
