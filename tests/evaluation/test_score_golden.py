"""Every golden file of the caption metrics through the score command."""

import re
from pathlib import Path

import numpy as np
import pytest

from lvc_jax.metrics.live_score import TOOLKIT_LABELS, VARIANTS
from tests.evaluation.score_runs import run, write
from tests.extras import needs_meteor
from tests.metrics.dense_inputs import EVALUATOR_CASES, GOLDEN_NAMES, PUBLISHED, SODA_CASES, SODA_RUNS
from tests.metrics.live_cases import PAPER_LABELS, TOOLKIT_KEYS, read

PLAIN = "BLEU-1,BLEU-2,BLEU-3,BLEU-4,ROUGE-L,CIDEr"


METEOR = pytest.param("METEOR", id="meteor", marks=needs_meteor)


@pytest.fixture(params=[pytest.param(PLAIN, id="without_meteor"), METEOR])
def scorers(request: pytest.FixtureRequest) -> str:
    return request.param


def close(actual: dict, expected: dict, names: dict[str, str], tolerance: float, suffix: str = "") -> int:
    """Compares every number that both have; how many those were."""
    both = {name: value for name, value in expected.items() if names.get(name, "") + suffix in actual}
    for name, value in both.items():
        assert actual[names[name] + suffix] == pytest.approx(value, rel=0, abs=tolerance), name
    return len(both)


def test_text(shared: Path, tmp_path: Path, scorers: str) -> None:
    golden = read(shared / "golden/text/sentence_scores.json")
    said = {f"p{index}": pair["hyp_raw"] for index, pair in enumerate(golden["pairs"])}
    meant = {f"p{index}": pair["refs_raw"] for index, pair in enumerate(golden["pairs"])}
    found = run(
        tmp_path,
        metric="text",
        scorers=scorers,
        predictions=write(tmp_path / "p.json", said),
        references=write(tmp_path / "r.json", meant),
    )
    wanted = len(scorers.split(","))
    assert close(found["scores"], golden["corpus"], GOLDEN_NAMES, 1e-9) == wanted
    for index, pair in enumerate(golden["pairs"]):
        if "sentence" in pair:
            assert close(found["per_video"][f"p{index}"], pair["sentence"], GOLDEN_NAMES, 1e-12) == wanted
    assert found["coverage"]["captions_scored"] == len(golden["pairs"]) == 231


def test_tokenizer(shared: Path, tmp_path: Path) -> None:
    """Every raw line against the plain words among its tokens: ROUGE-L says how many, and if those are there."""
    rows = [row for row in read(shared / "golden/text/tokenizer.json")["rows"] if row["tokens_joined"]]
    tokens = {f"t{index}": row["tokens_joined"].split(" ") for index, row in enumerate(rows)}
    plain = {name: [token for token in own if re.fullmatch("[a-z]+", token)] for name, own in tokens.items()}
    found = run(
        tmp_path,
        metric="text",
        scorers="ROUGE-L",
        predictions=write(tmp_path / "p.json", {f"t{index}": row["raw"] for index, row in enumerate(rows)}),
        references=write(tmp_path / "r.json", {name: [" ".join(own)] for name, own in plain.items()}),
    )
    assert len(rows) > 450
    for name, own in tokens.items():
        precision, recall = len(plain[name]) / len(own), float(bool(plain[name]))
        expected = (1 + 1.2**2) * precision * recall / (recall + 1.2**2 * precision) if recall else 0.0
        assert found["per_video"][name]["ROUGE-L"] == pytest.approx(expected, rel=0, abs=1e-12), own


WITH_MEANS = tuple(name for name in EVALUATOR_CASES if name != "max1000_2018")


@pytest.mark.parametrize("name", EVALUATOR_CASES)
def test_dense_captioning(shared: Path, tmp_path: Path, scorers: str, name: str) -> None:
    folder = shared / "golden/dense_captioning"
    golden = read(folder / f"{name}.json")
    found = run(
        tmp_path,
        metric="dense_captioning",
        version=name.split("_")[-1],
        scorers=scorers,
        tiou=",".join(golden["scores_by_tiou"]),
        predictions=folder / golden["inputs"]["pred"],
        references=",".join(str(folder / path) for path in golden["inputs"]["gt"]),
    )
    assert (found["mode"], found["version"]) == ("reference", name.split("_")[-1])
    wanted = len(scorers.split(","))
    for limit, expected in golden["scores_by_tiou"].items():
        assert close(found["scores"], expected, GOLDEN_NAMES, 1e-9, f"@{limit}") == wanted + 2
        for video, own in golden["per_video"][limit].items():
            assert close(found["per_video"][video], own, GOLDEN_NAMES, 1e-9, f"@{limit}") == wanted
    means = golden.get("mean_over_tious", {})
    assert close(found["scores"], means, GOLDEN_NAMES, 1e-9) == (wanted + 2 if means else 0)
    assert bool(means) == (name in WITH_MEANS)


@needs_meteor
@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_predictions(shared: Path, tmp_path: Path, name: str) -> None:
    file, annotated, version = PUBLISHED[name]
    golden = read(shared / "golden/dense_captioning/published_predictions.json")[name]
    found = run(
        tmp_path,
        metric="dense_captioning",
        version=version,
        predictions=shared / f"data/predictions/{file}.json",
        references=shared / f"data/activitynet_captions/{annotated}.json",
    )
    assert close(found["scores"], golden["mean"], GOLDEN_NAMES, 1e-9) == len(golden["mean"])
    for name, values in golden["per_tiou"].items():
        for limit, value in zip(golden["tious"], values):
            assert found["scores"][f"{GOLDEN_NAMES[name]}@{limit:g}"] == pytest.approx(value, rel=0, abs=1e-9)


@needs_meteor
@pytest.mark.parametrize(("name", "variants"), SODA_CASES.items())
@pytest.mark.parametrize("which", SODA_RUNS)
def test_soda(shared: Path, tmp_path: Path, name: str, variants: str, which: str) -> None:
    golden = read(shared / f"golden/soda/{name}.json")
    folder = shared / "golden/dense_captioning"
    paths = [str(folder / path) for path in golden["inputs"]["gt"]]
    sets = SODA_RUNS[which]
    found = run(
        tmp_path,
        metric="soda",
        variants=",".join(variants),
        reference_sets="mean" if isinstance(sets, int) else sets,
        predictions=folder / golden["inputs"]["pred"],
        references=paths[sets] if isinstance(sets, int) else ",".join(paths),
    )
    for variant in variants:
        expected = golden["results"][variant][which]
        names = [f"SODA_{variant}/precision", f"SODA_{variant}/recall", f"SODA_{variant}"]
        actual = [found["scores"][name] for name in names]
        np.testing.assert_allclose(actual, expected["precision_recall_f1"], rtol=0, atol=1e-9)
        assert found["coverage"]["videos_scored"] == expected["n_videos"]
        for video, row in expected["per_video_prf"].items():
            actual = [found["per_video"][video][name] for name in names]
            np.testing.assert_allclose(actual, row, rtol=0, atol=1e-9)


@needs_meteor
@pytest.mark.parametrize(("name", "variants"), SODA_CASES.items())
def test_soda_as_pdvc_prints_it(shared: Path, tmp_path: Path, name: str, variants: str) -> None:
    golden = read(shared / f"golden/soda/{name}.json")
    folder = shared / "golden/dense_captioning"
    found = run(
        tmp_path,
        metric="soda",
        variants=",".join(variants),
        predictions=folder / golden["inputs"]["pred"],
        references=",".join(str(folder / path) for path in golden["inputs"]["gt"]),
    )
    for variant in variants:
        expected = golden["results"][variant]["pdvc_eval_soda_mean_f1"]
        assert found["scores"][f"SODA_{variant}"] == pytest.approx(expected, rel=0, abs=1e-9)


LIVE = "BLEU-1,BLEU-4,ROUGE-L"


@pytest.fixture(params=[pytest.param(LIVE, id="without_meteor"), METEOR])
def live_scorers(request: pytest.FixtureRequest) -> str:
    return request.param


def check_curves(found: dict, expected: dict, labels: dict[str, str], scorers: str) -> None:
    assert set(found["per_video"]) == {video for video, entry in expected.items() if entry}
    for video, own in found["per_video"].items():
        for variant, key in TOOLKIT_KEYS.items():
            for scorer in set(scorers.split(",")) & set(labels):
                values = expected[video][key][labels[scorer]]
                np.testing.assert_allclose(own[f"{variant}/{scorer}"], values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["edge", "real_bmt_dt150"])
def test_live_score(shared: Path, tmp_path: Path, live_scorers: str, name: str) -> None:
    folder = shared / "golden/live_score"
    golden = read(folder / f"{name}.json")
    where = folder if name == "edge" else shared / "golden/dense_captioning"
    files = {
        "metric": "live_score",
        "scorers": live_scorers,
        "predictions": folder / golden["inputs"]["pred"],
        "references": ",".join(str(where / path) for path in golden["inputs"]["gt"]),
    }
    found = run(tmp_path, mode="reference", **files)
    check_curves(found, golden["curves"], TOOLKIT_LABELS, live_scorers)
    for variant, key in TOOLKIT_KEYS.items():
        for scorer in set(live_scorers.split(",")) & set(TOOLKIT_LABELS):
            expected = golden["average_scores"][key][TOOLKIT_LABELS[scorer]]
            assert found["scores"][f"{variant}/{scorer}"] == pytest.approx(expected, rel=0, abs=1e-12)
    paper = run(tmp_path, mode="paper", clock="prediction", gamma="aggregate", **files)
    check_curves(paper, golden["derived_paper_equations_2_to_7"]["curves"], PAPER_LABELS, live_scorers)


@pytest.mark.parametrize("which", ["grid150", "sample"])
def test_live_score_of_the_toolkits_files(shared: Path, tmp_path: Path, live_scorers: str, which: str) -> None:
    folder = shared / "golden/live_score"
    annotated = folder if which == "grid150" else shared / "data/activitynet_captions"
    found = run(
        tmp_path,
        metric="live_score",
        mode="reference",
        scorers=live_scorers,
        predictions=folder / f"pred_{which}.json",
        references=f"{annotated / 'val_1.json'},{annotated / 'val_2.json'}",
    )
    check_curves(found, read(folder / f"official_{which}.json"), TOOLKIT_LABELS, live_scorers)


def test_gamma_of_every_slot(shared: Path, tmp_path: Path, live_scorers: str) -> None:
    """With a history of one slot hLS is γ itself; the golden values are recovered from the toolkit's curves."""
    folder = shared / "golden/live_score"
    found = run(
        tmp_path,
        "--history=min(K,w)",
        metric="live_score",
        clock="prediction",
        gamma="aggregate",
        window=1,
        scorers=live_scorers,
        predictions=folder / "pred_grid150.json",
        references=f"{folder / 'val_1.json'},{folder / 'val_2.json'}",
    )
    labels = {"BLEU-1": "Bleu_4(=BLEU-1)", "METEOR": "METEOR", "ROUGE-L": "ROUGE_L"}
    golden = read(folder / "gamma_grid150.json")
    assert set(found["per_video"]) == set(golden)
    for video, own in golden.items():
        assert found["per_video"][video]["false_positives"] == [not met for met in own["overlaps_gt"]]
        for scorer in set(live_scorers.split(",")) & set(labels):
            values = own["gamma_recovered"][labels[scorer]]
            np.testing.assert_allclose(found["per_video"][video][f"hLS/{scorer}"], values, rtol=0, atol=1e-12)


def test_synthetic_aggregation(shared: Path, tmp_path: Path) -> None:
    """Captions whose BLEU-1 is the wanted γ: right words out of many; the guard of BLEU weighs little."""
    words = 10_000
    for case in read(shared / "golden/live_score/synthetic_aggregation.json"):
        said: dict[str, list] = {}
        meant: dict[str, dict] = {}
        for column in range(3):
            items, events = said.setdefault(f"c{column}", []), {"timestamps": [], "sentences": []}
            for slot, (row, overlaps) in enumerate(zip(case["gamma"], case["overlaps_gt"], strict=True)):
                right = round(words * row[column])
                items.append({"timestamp": [slot, slot + 1], "sentence": "a " * right + "b " * (words - right)})
                if overlaps:
                    events["timestamps"].append([slot, slot + 1])
                    events["sentences"].append("a " * words)
            meant[f"c{column}"] = {"duration": len(case["gamma"]), **events}
        found = run(
            tmp_path,
            metric="live_score",
            mode="reference",
            scorers="BLEU-1",
            window=case["window"],
            predictions=write(tmp_path / "p.json", {"results": said}),
            references=write(tmp_path / "r.json", meant),
        )
        for column in range(3):
            for variant in VARIANTS:
                expected = [row[column] for row in case[variant]]
                actual = found["per_video"][f"c{column}"][f"{variant}/BLEU-1"]
                np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-12)
