"""Every golden file of online action detection through the score command."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.evaluation.score_runs import number, run, write
from tests.metrics.live_cases import read


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
    names = ("maIA", "weighted_maIA")
    assert found["scores"] == {name: golden["c3d"][name] for name in names}
    for baseline, own in (("all_background", "all_bg"), ("perfect_model", "perfect_model")):
        assert found["baselines"][baseline] == {name: golden[own][name] for name in names}
    assert set(found["per_video"]) == set(golden["c3d"]["per_video"])
    example = golden["curve_example"]
    for name in ("IA", "weighted_IA"):
        assert found["per_video"][example["video"]][name] == example[name]


PROGRAMS = {
    "sklearn.average_precision_score": ("trn", "AP/A"),
    "LSTR.calibrated_average_precision_score": ("lstr", "cAP/A"),
    "OadTR.frame_level_map_n_cap AP": ("oadtr", "AP/A"),
    "OadTR.frame_level_map_n_cap cAP": ("oadtr", "cAP/A"),
}


def run_frames(
    folder: Path, classes: list[str], truth: list, scores: list, *flags: str, **options: object
) -> dict[str, Any]:
    return run(
        folder,
        *flags,
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


def test_average_precision_of_stages(shared: Path, tmp_path: Path) -> None:
    for case in read(shared / "golden/average_precision/cases.json")["per_stage_selection"]:
        truth = [[1 - value, value] for value in case["gt"]]
        scores = [[0, value] for value in case["pred"]]
        found = run_frames(tmp_path, ["Background", "A"], truth, scores, "--per_stage", implementation="lstr")
        ranked = [right for _, right in sorted(zip(case["stage_pred"], case["stage_gt"], strict=True), reverse=True)]
        hits = np.flatnonzero(ranked)
        expected = np.mean((np.arange(len(hits)) + 1) / (hits + 1))
        stage = round(10 * case["perc_s"])
        assert found["scores"][f"mAP/stage_{stage}"] == pytest.approx(expected, rel=0, abs=1e-12), case["name"]
