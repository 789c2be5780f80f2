"""Dense captioning and SODA: the numbers of the original programs, per video and in the mean."""

import json
from pathlib import Path

import numpy as np
import pytest

from lvc_jax.metrics import soda
from lvc_jax.metrics.dense_captioning import evaluate
from tests.extras import needs_meteor
from tests.metrics.dense_inputs import (
    EVALUATOR_CASES,
    GOLDEN_NAMES,
    PUBLISHED,
    SODA_CASES,
    SODA_RUNS,
    golden,
    references_of,
)

WITHOUT_METEOR = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "ROUGE-L", "CIDEr")


def check(found: dict[str, float], expected: dict[str, float], limit: str) -> int:
    """Compares what both hold at a threshold; returns how many numbers that were."""
    compared = 0
    for name, value in expected.items():
        ours = f"{GOLDEN_NAMES.get(name)}@{limit}"
        if ours in found:
            assert found[ours] == pytest.approx(value, abs=1e-9), ours
            compared += 1
    return compared


def check_case(folder: Path, name: str, scorers: tuple[str, ...]) -> None:
    content, references, predictions = golden(folder, name)
    limits = [float(limit) for limit in content["scores_by_tiou"]]
    result = evaluate(references, predictions, name.split("_")[-1], thresholds=limits, scorers=scorers)
    for limit, expected in content["scores_by_tiou"].items():
        assert check(result.scores, expected, limit) == len(scorers) + 2
        for video, own in content["per_video"][limit].items():
            assert check(result.per_video[video], own, limit) == len(scorers)
        # What the original does not list has no predictions.
        for video in set(result.per_video) - set(content["per_video"][limit]):
            assert set(result.per_video[video].values()) == {0.0}
    for name, value in content.get("mean_over_tious", {}).items():
        if GOLDEN_NAMES[name] in (*scorers, "precision", "recall"):
            assert result.scores[GOLDEN_NAMES[name]] == pytest.approx(value, abs=1e-9)


@pytest.mark.parametrize("name", EVALUATOR_CASES)
def test_evaluator(shared: Path, name: str) -> None:
    check_case(shared / "golden/dense_captioning", name, WITHOUT_METEOR)


@needs_meteor
@pytest.mark.parametrize("name", EVALUATOR_CASES)
def test_evaluator_with_meteor(shared: Path, name: str) -> None:
    check_case(shared / "golden/dense_captioning", name, ("METEOR",))


@needs_meteor
@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_predictions(shared: Path, name: str) -> None:
    found, annotated, version = PUBLISHED[name]
    expected = json.loads((shared / "golden/dense_captioning/published_predictions.json").read_text())[name]
    predictions = json.loads((shared / f"data/predictions/{found}.json").read_text())["results"]
    references = references_of(json.loads((shared / f"data/activitynet_captions/{annotated}.json").read_text()))
    scorers = tuple(GOLDEN_NAMES[name] for name in expected["mean"] if name not in ("Precision", "Recall"))
    result = evaluate(references, predictions, version, scorers=scorers)
    for name, value in expected["mean"].items():
        assert result.scores[GOLDEN_NAMES[name]] == pytest.approx(value, abs=1e-9)
    for name, values in expected["per_tiou"].items():
        for limit, value in zip(expected["tious"], values):
            assert result.scores[f"{GOLDEN_NAMES[name]}@{limit:g}"] == pytest.approx(value, abs=1e-9)


@needs_meteor
@pytest.mark.parametrize(("name", "variant"), [(name, one) for name, own in SODA_CASES.items() for one in own])
def test_soda(shared: Path, name: str, variant: str) -> None:
    content, references, predictions = golden(shared / "golden/soda", name)
    expected = content["results"][variant]
    names = [f"SODA_{variant}{part}" for part in ("/precision", "/recall", "")]
    for run, sets in SODA_RUNS.items():
        own = references
        if isinstance(sets, int):
            own = {video: {"references": [one["references"][sets]]} for video, one in references.items()}
        result = soda.evaluate(own, predictions, (variant,), reference_sets=sets if isinstance(sets, str) else "mean")
        np.testing.assert_allclose(
            [result.scores[name] for name in names], expected[run]["precision_recall_f1"], atol=1e-9
        )
        assert result.coverage["videos_scored"] == expected[run]["n_videos"]
        assert set(result.per_video) == set(expected[run]["per_video_prf"])
        for video, row in expected[run]["per_video_prf"].items():
            np.testing.assert_allclose([result.per_video[video][name] for name in names], row, atol=1e-9)
    both = soda.evaluate(references, predictions, (variant,))
    assert both.scores[names[-1]] == pytest.approx(expected["pdvc_eval_soda_mean_f1"], abs=1e-9)
