"""Every family of golden values through the score command."""

import json
from pathlib import Path

import numpy as np
import pytest

from lvc_jax.metrics.live_score import TOOLKIT_LABELS, VARIANTS
from lvc_jax.metrics.text import meteor
from tests.evaluation.score_runs import number, run, write

TEXT = {
    "Bleu_1": "BLEU-1",
    "Bleu_2": "BLEU-2",
    "Bleu_3": "BLEU-3",
    "Bleu_4": "BLEU-4",
    "ROUGE_L": "ROUGE-L",
    "Rouge-L": "ROUGE-L",
    "CIDEr": "CIDEr",
    "CIDEr_corpus_df": "CIDEr",
    "METEOR": "METEOR",
    "Precision": "precision",
    "Recall": "recall",
}
PLAIN = "BLEU-1,BLEU-2,BLEU-3,BLEU-4,ROUGE-L,CIDEr"


@pytest.fixture(params=[PLAIN, "METEOR"], ids=["without_meteor", "meteor"])
def scorers(request: pytest.FixtureRequest) -> str:
    if request.param == "METEOR" and not meteor.available():
        pytest.skip("METEOR needs the extra [meteor]")
    return request.param


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


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
    assert close(found["scores"], golden["corpus"], TEXT, 1e-9) == wanted
    for index, pair in enumerate(golden["pairs"]):
        if "sentence" in pair:
            assert close(found["per_video"][f"p{index}"], pair["sentence"], TEXT, 1e-12) == wanted
    assert found["coverage"]["videos_scored"] == len(golden["pairs"]) == 231


DENSE = ("edge_2018", "max1000_2018", "real50_bmt_2018", "real50_bmt_2021", "real50_bmt_vidchapters")


@pytest.mark.parametrize("name", DENSE)
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
        assert close(found["scores"], expected, TEXT, 1e-9, f"@{limit}") == wanted + 2
        for video, own in golden["per_video"][limit].items():
            assert close(found["per_video"][video], own, TEXT, 1e-9, f"@{limit}") == wanted
    close(found["scores"], golden.get("mean_over_tious", {}), TEXT, 1e-9)


PUBLISHED = {
    "mdvc_val1_2018": ("mdvc_results_val_1_e30", "val_1", "2018"),
    "mdvc_val1_2021": ("mdvc_results_val_1_e30", "val_1", "2021"),
    "bmt_val1nm_2018": ("bmt_captioning_results_val_1_e26", "val_1_no_missings", "2018"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PUBLISHED)
def test_published_predictions(shared: Path, tmp_path: Path, name: str) -> None:
    if not meteor.available():
        pytest.skip("METEOR needs the extra [meteor]")
    file, annotated, version = PUBLISHED[name]
    golden = read(shared / "golden/dense_captioning/published_predictions.json")[name]
    found = run(
        tmp_path,
        metric="dense_captioning",
        version=version,
        predictions=shared / f"data/predictions/{file}.json",
        references=shared / f"data/activitynet_captions/{annotated}.json",
    )
    assert close(found["scores"], golden["mean"], TEXT, 1e-9) == len(golden["mean"])
    for name, values in golden["per_tiou"].items():
        for limit, value in zip(golden["tious"], values):
            assert found["scores"][f"{TEXT[name]}@{limit:g}"] == pytest.approx(value, rel=0, abs=1e-9)


SODA = {"multi_reference_best_f1": "best", "merged_refs_mr_false": "merged", "ref1_only": 0, "ref2_only": 1}


@pytest.mark.parametrize(("name", "variants"), [("edge", "c"), ("real50_bmt", "abcd")])
@pytest.mark.parametrize("which", SODA)
def test_soda(shared: Path, tmp_path: Path, name: str, variants: str, which: str) -> None:
    if not meteor.available():
        pytest.skip("METEOR needs the extra [meteor]")
    golden = read(shared / f"golden/soda/{name}.json")
    folder = shared / "golden/dense_captioning"
    paths = [str(folder / path) for path in golden["inputs"]["gt"]]
    sets = SODA[which]
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


def test_soda_as_pdvc_prints_it(shared: Path, tmp_path: Path) -> None:
    if not meteor.available():
        pytest.skip("METEOR needs the extra [meteor]")
    golden = read(shared / "golden/soda/edge.json")
    folder = shared / "golden/dense_captioning"
    found = run(
        tmp_path,
        metric="soda",
        predictions=folder / golden["inputs"]["pred"],
        references=",".join(str(folder / path) for path in golden["inputs"]["gt"]),
    )
    expected = golden["results"]["c"]["pdvc_eval_soda_mean_f1"]
    assert found["scores"]["SODA_c"] == pytest.approx(expected, rel=0, abs=1e-9)


KEYS = dict(zip(VARIANTS, ("results", "results_w", "results_h_no_w", "results_h")))
LIVE = {"BLEU-1,BLEU-4,ROUGE-L": False, "METEOR": True}


@pytest.fixture(params=LIVE, ids=["without_meteor", "meteor"])
def live_scorers(request: pytest.FixtureRequest) -> str:
    if LIVE[request.param] and not meteor.available():
        pytest.skip("METEOR needs the extra [meteor]")
    return request.param


def check_curves(found: dict, expected: dict, labels: dict[str, str], scorers: str) -> None:
    assert set(found["per_video"]) == {video for video, entry in expected.items() if entry}
    for video, own in found["per_video"].items():
        for variant, key in KEYS.items():
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
    for variant, key in KEYS.items():
        for scorer in set(live_scorers.split(",")) & set(TOOLKIT_LABELS):
            expected = golden["average_scores"][key][TOOLKIT_LABELS[scorer]]
            assert found["scores"][f"{variant}/{scorer}"] == pytest.approx(expected, rel=0, abs=1e-12)
    paper = run(tmp_path, mode="paper", clock="prediction", gamma="aggregate", **files)
    labels = {"BLEU-1": "Bleu_1", "BLEU-4": "Bleu_4", "METEOR": "METEOR", "ROUGE-L": "ROUGE_L"}
    check_curves(paper, golden["derived_paper_equations_2_to_7"]["curves"], labels, live_scorers)


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


def test_instantaneous_accuracy_cases(shared: Path, tmp_path: Path) -> None:
    for case in read(shared / "golden/instantaneous_accuracy/cases.json")["cases"]:
        given, expected = case["input"], case["output"]
        record = {"duration": given["duration"], "annotations": given["gt"]["annotations"]}
        found = run(
            tmp_path,
            metric="instantaneous_accuracy",
            slot=given["slot"],
            predictions=write(tmp_path / "p.json", {"results": {"v": given["pred"]}}),
            references=write(tmp_path / "r.json", {"database": {"v": record}}),
        )
        own = found["per_video"]["v"]
        assert own["IA"] == [number(value) for value in expected["IA"]], case["name"]
        assert own["weighted_IA"] == [number(value) for value in expected["weighted_IA"]], case["name"]
        assert own["aIA"] == number(expected["aIA"])
        assert found["scores"]["weighted_maIA"] == number(expected["weighted_aIA"])
        assert any("NaN" in note for note in found["notes"]) == (own["aIA"] is None)


def test_instantaneous_accuracy_data_sets(shared: Path, tmp_path: Path) -> None:
    content = read(shared / "golden/instantaneous_accuracy/dataset_small.json")
    predicted = write(tmp_path / "p.json", content["pred"])
    annotated = write(tmp_path / "r.json", content["gt"])
    for row in content["results"]:
        found = run(
            tmp_path,
            metric="instantaneous_accuracy",
            subset=row["subset"],
            predictions=predicted,
            references=annotated,
        )
        assert list(found["per_video"]) == row["videos"]
        assert found["scores"] == {"maIA": number(row["maIA"]), "weighted_maIA": number(row["maIA_weighted"])}
    golden = read(shared / "golden/instantaneous_accuracy/thumos14.json")["results"]["thumos14"]
    found = run(
        tmp_path,
        metric="instantaneous_accuracy",
        predictions=shared / "data/oad/thumos14_c3d_predictions.json",
        references=shared / "data/oad/thumos14_ground_truth.json",
    )
    assert "subset:Test" in found["signature"]
    assert found["scores"] == {name: golden["c3d"][name] for name in ("maIA", "weighted_maIA")}
    assert found["baselines"]["perfect_model"] == {"maIA": 1.0, "weighted_maIA": 1.0}


PROGRAMS = {
    "sklearn.average_precision_score": ("trn", "AP/A"),
    "LSTR.calibrated_average_precision_score": ("lstr", "cAP/A"),
    "OadTR.frame_level_map_n_cap AP": ("oadtr", "AP/A"),
    "OadTR.frame_level_map_n_cap cAP": ("oadtr", "cAP/A"),
}


def run_frames(folder: Path, classes: list[str], truth: list, scores: list, **options: object) -> dict:
    return run(
        folder,
        metric="average_precision",
        predictions=write(folder / "p.json", {"classes": classes, "frames": {"v": scores}}),
        references=write(folder / "r.json", {"classes": classes, "frames": {"v": truth}}),
        **options,
    )


def test_average_precision(shared: Path, tmp_path: Path) -> None:
    golden = read(shared / "golden/average_precision/cases.json")
    for case in golden["single_class"]:
        truth = [[0, value] for value in case["y_true"]]
        scores = [[0, value] for value in case["y_score"]]
        for program, (implementation, name) in PROGRAMS.items():
            expected = number(case["out"][program])
            if case["name"] == "no_pos" and implementation == "lstr":
                # Such a class is in no mean there, so that it has no figure.
                expected = None
            found = run_frames(tmp_path, ["Background", "A"], truth, scores, implementation=implementation)
            actual = found["scores"].get(name)
            if expected is not None:
                expected = pytest.approx(expected, rel=0, abs=1e-15)
            assert actual == expected, (case["name"], program)
    for case in golden["multi_class"]:
        names = case["class_names"]
        ignore = names[case["ignore_index"]] if case["ignore_index"] >= 0 else ""
        found = run_frames(tmp_path, names, case["ground_truth"], case["prediction"], ignore=ignore)
        assert found["scores"]["mAP"] == pytest.approx(case["out"]["mean_AP"], rel=0, abs=1e-15)
        for name, value in case["out"]["per_class_AP"].items():
            assert found["scores"][f"AP/{name}"] == pytest.approx(value, rel=0, abs=1e-15)
