"""The Live Score equals the curves of the authors' toolkit, and the paper's equations on the toolkit's slots."""

import json
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from lvc_jax.metrics import live_score
from lvc_jax.metrics.live_score import TOOLKIT_LABELS, VARIANTS, Reading, VideoScore
from lvc_jax.metrics.live_score.curves import curves, recursion
from lvc_jax.metrics.live_score.pairs import collect
from tests.extras import needs_meteor
from tests.metrics.live_cases import PAPER_LABELS, TOOLKIT_KEYS, merge_files, read

# Without METEOR, whose resources are an extra; with it: `WITH_METEOR`.
WITHOUT_METEOR = ("BLEU-1", "BLEU-4", "ROUGE-L")
WITH_METEOR = ("METEOR",)


class Case(NamedTuple):
    references: dict
    predictions: dict
    golden: dict


@pytest.fixture(scope="module", params=["edge.json", "real_bmt_dt150.json"])
def case(shared: Path, request: pytest.FixtureRequest) -> Case:
    folder = shared / "golden/live_score"
    golden = read(folder / request.param)
    where = folder if request.param == "edge.json" else shared / "golden/dense_captioning"
    references = merge_files([read(where / path) for path in golden["inputs"]["gt"]])
    return Case(references, read(folder / golden["inputs"]["pred"])["results"], golden)


@pytest.fixture(
    params=[
        pytest.param(WITHOUT_METEOR, id="without_meteor"),
        pytest.param(WITH_METEOR, id="meteor", marks=needs_meteor),
    ]
)
def scorers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return request.param


def assert_curves(videos: dict[str, VideoScore], expected: dict, labels: dict[str, str]) -> None:
    assert set(videos) == {name for name, entry in expected.items() if entry}
    for name, video in videos.items():
        for variant, key in TOOLKIT_KEYS.items():
            for scorer, label in labels.items():
                if scorer in video.scorers:
                    actual = video.figures()[f"{variant}/{scorer}"]
                    np.testing.assert_allclose(actual, expected[name][key][label], rtol=0, atol=1e-12)


def test_reference_equals_the_toolkit(case: Case, scorers: tuple[str, ...]) -> None:
    videos = live_score.score_videos(case.references, case.predictions, Reading(mode="reference", scorers=scorers))
    assert_curves(videos, case.golden["curves"], TOOLKIT_LABELS)
    numbers = live_score.summary(videos)
    for variant, key in TOOLKIT_KEYS.items():
        for scorer, label in TOOLKIT_LABELS.items():
            if scorer in scorers:
                expected = case.golden["average_scores"][key][label]
                assert numbers[f"{variant}/{scorer}"] == pytest.approx(expected, abs=1e-12)


def test_gamma_of_every_slot(case: Case, scorers: tuple[str, ...]) -> None:
    videos = live_score.score_videos(case.references, case.predictions, Reading(mode="reference", scorers=scorers))
    names = {"BLEU-1": "Bleu(1)_labelled_Bleu_4", "BLEU-4": "true_Bleu_4", "METEOR": "METEOR", "ROUGE-L": "ROUGE_L"}
    for name, slots in case.golden["gamma_per_slot"].items():
        assert videos[name].false_positives.tolist() == [not slot["matched"] for slot in slots]
        for column, scorer in enumerate(scorers):
            expected = [slot[names[scorer]] for slot in slots]
            np.testing.assert_allclose(videos[name].gamma[:, column], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("options", [{}, {"history": "K", "references": "first", "segment_frames": 24}])
def test_the_papers_equations_on_the_toolkits_slots(case: Case, scorers: tuple[str, ...], options: dict) -> None:
    reading = Reading(clock="prediction", gamma="aggregate", scorers=scorers, **options)
    videos = live_score.score_videos(case.references, case.predictions, reading)
    assert_curves(videos, case.golden["derived_paper_equations_2_to_7"]["curves"], PAPER_LABELS)


@pytest.mark.parametrize("which", ["grid150", "sample"])
def test_the_second_set_and_the_repositorys_sample(shared: Path, scorers: tuple[str, ...], which: str) -> None:
    folder = shared / "golden/live_score"
    annotations = folder if which == "grid150" else shared / "data/activitynet_captions"
    references = merge_files([read(annotations / "val_1.json"), read(annotations / "val_2.json")])
    predictions = read(folder / f"pred_{which}.json")["results"]
    videos = live_score.score_videos(references, predictions, Reading(mode="reference", scorers=scorers))
    assert_curves(videos, read(folder / f"official_{which}.json"), TOOLKIT_LABELS)


def test_gamma_of_the_second_set(shared: Path, scorers: tuple[str, ...]) -> None:
    """Recovered from the toolkit's curves, hence to a few units in the last place of their sums."""
    folder = shared / "golden/live_score"
    references = merge_files([read(folder / "val_1.json"), read(folder / "val_2.json")])
    predictions = read(folder / "pred_grid150.json")["results"]
    videos = live_score.score_videos(references, predictions, Reading(mode="reference", scorers=scorers))
    labels = {"BLEU-1": "Bleu_4(=BLEU-1)", "METEOR": "METEOR", "ROUGE-L": "ROUGE_L"}
    for name, own in read(folder / "gamma_grid150.json").items():
        assert videos[name].false_positives.tolist() == [not met for met in own["overlaps_gt"]]
        for scorer in set(scorers) & set(labels):
            column = videos[name].gamma[:, scorers.index(scorer)]
            np.testing.assert_allclose(column, own["gamma_recovered"][labels[scorer]], rtol=0, atol=1e-12)


def test_the_toolkits_file_form(shared: Path) -> None:
    folder = shared / "golden/live_score"
    references = merge_files([read(folder / "val_1.json"), read(folder / "val_2.json")])
    predictions = read(folder / "pred_grid150.json")["results"]
    reading = Reading(mode="reference", scorers=("BLEU-1", "ROUGE-L"))
    written = live_score.toolkit_form(live_score.score_videos(references, predictions, reading), reading.window)
    for name, expected in read(folder / "official_grid150.json").items():
        assert set(written[name]) == set(expected)
        assert written[name]["delta_t_window"] == expected["delta_t_window"]
        block = written[name]["results_w"]
        assert block["BLEU-1"] == block["Bleu_4"]
        assert block["Bleu_4"] == pytest.approx(expected["results_w"]["Bleu_4"], abs=1e-12)


def synthetic_cases() -> list[dict]:
    """A copy of half of the shared file, numbers only, so that this is tested everywhere."""
    return json.loads((Path(__file__).parent / "live_score_recursion.json").read_text())["cases"]


def assert_recursion(cases: list[dict]) -> None:
    for golden in cases:
        wrong = 1.0 - np.array(golden["overlaps_gt"])
        actual = curves(np.array(golden["gamma"]), wrong, window=golden["window"], mode="reference")
        for variant in VARIANTS:
            np.testing.assert_allclose(actual[variant], golden[variant], rtol=0, atol=1e-12)


def test_the_recursion_on_synthetic_cases() -> None:
    assert_recursion(synthetic_cases())


def test_the_recursion_on_all_shared_cases(shared: Path) -> None:
    cases = read(shared / "golden/live_score/synthetic_aggregation.json")
    assert all(case in cases for case in synthetic_cases())
    assert_recursion(cases)


# Δt, share of false positives, wLS / LS by the paper's equation and by the recursion, LS by the recursion.
RATIOS = [
    (24, 0.0423, 0.9755, 0.9443, 0.8739),
    (48, 0.0360, 0.9802, 0.9578, 0.9085),
    (72, 0.0315, 0.9833, 0.9661, 0.9284),
    (96, 0.0282, 0.9853, 0.9710, 0.9403),
    (120, 0.0253, 0.9873, 0.9761, 0.9507),
    (150, 0.0221, 0.9892, 0.9804, 0.9597),
]


@pytest.mark.slow
@pytest.mark.parametrize(("frames", "false", "paper", "toolkit", "live"), RATIOS)
def test_damping_of_a_captioner_that_is_right_wherever_there_is_an_event(
    shared: Path, frames: int, false: float, paper: float, toolkit: float, live: float
) -> None:
    """The published table has the toolkit's ratio, not that of the paper's equation."""
    references = merge_files([read(shared / "data/activitynet_captions/val_1.json")])
    step = frames / 30
    predictions = {}
    for name, video in references.items():
        number = max(1, math.floor(video["duration"] / step))
        spans = [[k * step, min((k + 1) * step, video["duration"])] for k in range(number)]
        predictions[name] = [{"timestamp": span, "sentence": "a"} for span in spans]
    slots = collect(references, predictions, Reading(mode="reference", scorers=("ROUGE-L",)))
    wrong = slots.false_positives
    right = 1.0 - wrong[:, None]
    starts = np.cumsum(slots.counts) - slots.counts

    def _mean(values: np.ndarray) -> float:
        return float((np.add.reduceat(values, starts) / slots.counts).mean())

    published = recursion(right, wrong, slots.counts, 5)[:, :, 0]
    by_paper = [
        curves(right[a : a + n], wrong[a : a + n], window=5) for a, n in zip(starts.tolist(), slots.counts.tolist())
    ]
    plain, damped = (_mean(np.concatenate([own[name][:, 0] for own in by_paper])) for name in ("LS", "wLS"))
    # Printed with four places.
    assert _mean(wrong) == pytest.approx(false, abs=6e-5)
    assert damped / plain == pytest.approx(paper, abs=6e-5)
    assert _mean(published[1]) / _mean(published[0]) == pytest.approx(toolkit, abs=6e-5)
    assert _mean(published[0]) == pytest.approx(live, abs=6e-5)
