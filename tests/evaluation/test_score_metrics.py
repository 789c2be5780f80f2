"""The score command by metric: the file's form, defaults, notes, pictures, METEOR beside the original program."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lvc_jax import score
from lvc_jax.errors import InputError
from lvc_jax.evaluation import suite
from lvc_jax.evaluation.scoring import actions, captions, everything, options, show
from lvc_jax.evaluation.scoring.options import Options
from lvc_jax.evaluation.scoring.scored import Scored
from lvc_jax.metrics.text import meteor
from lvc_jax.metrics.text.meteor import sources
from tests.evaluation.score_runs import CAPTIONS, METRICS, PREDICTIONS, caption_files, given, run, write
from tests.extras import needs_java, needs_meteor


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    return caption_files(tmp_path)


FORM = ("metric", "mode", "signature", "scores", "per_video", "coverage", "notes")
MORE = {
    "dense_captioning": ("version",),
    "instantaneous_accuracy": ("baselines",),
    "average_precision": ("baselines", "implementation"),
}
SCORERS = ("BLEU-4", "ROUGE-L", "CIDEr")
NAMES = {
    "text": {*SCORERS},
    "dense_captioning": {
        f"{name}{end}" for name in (*SCORERS, "precision", "recall") for end in ("", "@0.3", "@0.5", "@0.7", "@0.9")
    },
    "soda": {f"SODA_c_ROUGE-L{part}" for part in ("", "/precision", "/recall")},
    "live_score": {f"{variant}/{name}" for variant in ("LS", "wLS", "hLS", "whLS") for name in SCORERS},
    "instantaneous_accuracy": {"maIA", "weighted_maIA"},
    "average_precision": {"mAP", "cmAP", "AP/A", "cAP/A"},
}


def reversed_videos(content: dict) -> dict:
    """The same file with its videos in the opposite order."""
    for field in ("results", "database"):
        if field in content:
            return {**content, field: reversed_videos(content[field])}
    return dict(reversed(content.items()))


@pytest.mark.parametrize("mode", ["reference", "paper"])
@pytest.mark.parametrize("metric", METRICS)
def test_form_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], metric: str, mode: str
) -> None:
    found = run(tmp_path, metric=metric, mode=mode, **given(tmp_path, metric, files))
    assert (found["metric"], found["mode"]) == (metric, mode)
    assert set(found) - {"toolkit_labels"} == {*FORM, *MORE.get(metric, ())}
    assert set(found["scores"]) >= NAMES[metric]
    assert all(0 <= value <= (10 if "CIDEr" in name else 1) for name, value in found["scores"].items())
    assert found["signature"].count("\n") == 0 and found["signature"].endswith("|v:0.1.0")
    what = "captions" if metric == "text" else "videos"
    assert {f"{what}_scored", f"{what}_missing", f"{what}_extra"} <= set(found["coverage"])
    assert found["scores"] and all(isinstance(value, float) for value in found["scores"].values())
    assert all(isinstance(own, dict) for own in found["per_video"].values())
    printed = capsys.readouterr().out
    assert printed.splitlines()[-1] == found["signature"]
    assert f"{what} missing: " in printed
    own = given(tmp_path, metric, files)
    for path in (own["predictions"], *own["references"].split(",")):
        turned = reversed_videos(json.loads(Path(path).read_text(encoding="utf-8")))
        write(Path(path), turned)
    again = run(tmp_path, metric=metric, mode=mode, **own)
    assert list(again["per_video"]) == list(found["per_video"])[::-1]
    assert again == found | {"scores": pytest.approx(found["scores"], rel=1e-12)}


def test_numbers_by_hand(tmp_path: Path, files: dict[str, str]) -> None:
    own = given(tmp_path, "text", files)
    found = run(tmp_path, metric="text", **own)
    assert found["coverage"] == {
        "captions_scored": 1,
        "captions_missing": 1,
        "captions_extra": 1,
        "predictions": 2,
        "predictions_without_match": 1,
    }
    assert found["scores"]["ROUGE-L"] == found["per_video"]["1"]["ROUGE-L"] == 1
    assert run(tmp_path, metric="text", mode="paper", **own)["scores"]["ROUGE-L"] == 0.5
    live = run(tmp_path, metric="live_score", mode="reference", **given(tmp_path, "live_score", files))
    assert live["per_video"]["v"]["false_positives"] == [0, 1, 0]
    assert live["per_video"]["v"]["LS/ROUGE-L"] == pytest.approx([1, 1 / 2, (1 + 1 / 2 + 1) / 3])
    assert live["toolkit_labels"] == {"ROUGE-L": "ROUGE_L"}


def test_predictions_that_match_nothing_are_counted(tmp_path: Path, files: dict[str, str]) -> None:
    alone = {**files, "references": files["references"].partition(",")[0]}
    for metric, name in ((None, ""), ("soda", ""), ("dense_captioning", "@0.9")):
        own = {**alone, "metric": metric, "scorers": "ROUGE-L"} if metric else {**alone, "segment_frames": 60}
        assert run(tmp_path, **own)["coverage"][f"predictions_without_match{name}"] == (2 if name else 1)
    own = given(tmp_path, "instantaneous_accuracy", files)
    said = [{"label": label, "segment": span} for label, span in (("A", [0, 1]), ("A", [0, 2]), ("B", [1, 3]))]
    own["predictions"] = str(write(tmp_path / "e.json", {"results": {"u": said, "x": said}}))
    for metric in ("instantaneous_accuracy", "average_precision"):
        assert run(tmp_path, metric=metric, **own)["coverage"]["predictions_without_match"] == 2


def test_the_live_score_equals_evaluates(tmp_path: Path, files: dict[str, str]) -> None:
    everything = run(tmp_path, segment_frames=60, **files)
    live = run(
        tmp_path, metric="live_score", segment_frames=60, scorers="BLEU-1,BLEU-2,BLEU-3,BLEU-4,ROUGE-L,CIDEr", **files
    )
    assert live["scores"] == {name: everything["scores"][name] for name in live["scores"]}
    assert live["per_video"] == everything["per_video"]
    assert live["signature"] == everything["signature"].split("; ")[0] == suite.signatures(60)[0]


def test_defaults_are_said(tmp_path: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "meteor_available", lambda: False)
    found = run(tmp_path, metric="live_score", **files)
    assert found["mode"] == "paper" and "|clock:dt150|" in found["signature"]
    assert any("Δt is 150 frames" in note for note in found["notes"])
    assert any("METEOR is left out" in note and "lvc-jax[meteor]" in note for note in found["notes"])
    assert "METEOR" not in "".join(found["scores"])
    accuracy = given(tmp_path, "instantaneous_accuracy", files)
    found = run(tmp_path, "--window=3", "--version=2021", metric="instantaneous_accuracy", **accuracy)
    assert found["notes"][0] == "Not used by instantaneous_accuracy: --version, --window."
    assert list(found["per_video"]) == ["u"]
    assert "'Test', the default" in found["notes"][1]
    assert list(run(tmp_path, metric="average_precision", subset="Train", mode="paper", **accuracy)["per_video"]) == [
        "t"
    ]


def test_evaluators_by_name(tmp_path: Path, files: dict[str, str]) -> None:
    own = given(tmp_path, "dense_captioning", files)
    for version, mode in (
        ("2018", "reference"),
        ("2021", "reference"),
        ("vidchapters", "reference"),
        ("strict", "paper"),
    ):
        found = run(tmp_path, metric="dense_captioning", version=version, **own)
        assert (found["version"], found["mode"]) == (version, mode)
    assert run(tmp_path, metric="dense_captioning", mode="paper", **own)["version"] == "strict"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--metric=dense_captioning", "--version=strict", "--mode=reference"), "belongs to --mode=paper"),
        (("--metric=average_precision", "--implementation=lstr", "--mode=paper"), "belongs to --mode=reference"),
        (("--metric=text", "--scorers=BLEU"), "--scorers: 'BLEU'"),
        (("--metric=text", "--scorers=CIDEr,CIDEr"), "none twice"),
        (("--metric=soda", "--scorers=CIDEr,ROUGE-L"), "one scorer"),
        (("--metric=soda", "--variants=e", "--scorers=ROUGE-L"), "variant 'e'"),
        (("--metric=dense_captioning", "--tiou=a"), "--tiou=a"),
        (("--metric=dense_captioning", "--tiou=0.5,2", "--scorers=ROUGE-L"), "tIoU thresholds"),
        (("--metric=live_score", "--scorers=ROUGE-L", "--segment_frames=24,48"), "one Δt"),
        (("--metric=live_score", "--scorers=ROUGE-L", "--mode=reference", "--clock=dt"), "clock"),
        (("--mode=reference",), "needs --metric"),
        (("--metric=text", "--scorers=ROUGE-L", "--verify-with-java"), "must be among the scorers"),
    ],
)
def test_choices_that_do_not_fit(tmp_path: Path, files: dict[str, str], flags: tuple[str, ...], message: str) -> None:
    metric = flags[0].partition("=")[2]
    own = given(tmp_path, metric if metric in METRICS else "dense_captioning", files)
    own = {name: value for name, value in own.items() if name != "scorers"}
    with pytest.raises(InputError, match=message):
        run(tmp_path, *flags, **own)


def test_files_of_lines_have_as_many(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("a man\na dog\n")
    (tmp_path / "r.txt").write_text("a man\na dog\na cat\n")
    files = {"predictions": tmp_path / "p.txt", "references": tmp_path / "r.txt", "scorers": "BLEU-1"}
    with pytest.raises(InputError, match=r"r\.txt: 3 lines, .*p\.txt has 2"):
        run(tmp_path, metric="text", **files)
    (tmp_path / "r.txt").write_text("a man\na cat\n")
    assert run(tmp_path, metric="text", **files)["scores"]["BLEU-1"] == pytest.approx(0.75)


def test_blank_lines_at_the_end_count_and_are_noted(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("a man\na dog\n\n")
    (tmp_path / "r.txt").write_text("a man\na dog\n")
    files = {"predictions": tmp_path / "p.txt", "references": tmp_path / "r.txt", "scorers": "BLEU-1"}
    with pytest.raises(InputError, match=r"r\.txt: 2 lines, .*p\.txt has 3 \(the last 1 blank\): lines are paired"):
        run(tmp_path, metric="text", **files)
    (tmp_path / "r.txt").write_text("a man\na dog\na cat\n")
    found = run(tmp_path, metric="text", **files)
    assert found["notes"] == [f"{tmp_path / 'p.txt'}: blank lines at its end: 1; each counts."]
    assert len(found["per_video"]) == 3
    (tmp_path / "p.txt").write_text("a man\n\na cat\n")
    assert run(tmp_path, metric="text", **files)["notes"] == []


def test_predictions_without_any_annotated_video(tmp_path: Path, files: dict[str, str]) -> None:
    stranger = write(tmp_path / "q.json", {"results": {"zz": []}})
    for metric in CAPTIONS:
        own = given(tmp_path, metric, files) | {"metric": metric, "predictions": stranger}
        if metric == "dense_captioning":  # the original prints zeros
            result = run(tmp_path, **own)
            assert result["coverage"]["videos_extra"] == 1
            assert any("name videos alike" in note for note in result["notes"])
            own["mode"] = "paper"
        with pytest.raises(InputError, match=r"q\.json"):
            run(tmp_path, **own)


@pytest.mark.parametrize("metric", METRICS)
def test_pictures(tmp_path: Path, files: dict[str, str], metric: str) -> None:
    folder = tmp_path / "plots"
    run(tmp_path, metric=metric, plot=folder, **given(tmp_path, metric, files))
    pictures = sorted(folder.iterdir())
    assert pictures and all(path.read_bytes().startswith(b"\x89PNG") for path in pictures)
    if metric == "live_score":
        assert [path.stem for path in pictures] == ["live_score_best", "live_score_median", "live_score_worst"]


@pytest.mark.parametrize("mode", ["reference", "paper"])
def test_pictures_say_rank_and_mode(tmp_path: Path, files: dict[str, str], mode: str) -> None:
    said = {"v": PREDICTIONS["v"], "w": [{"timestamp": [3, 4], "sentence": "a man runs"}]}
    own = {"predictions": str(write(tmp_path / "q.json", {"results": said})), "references": [str(tmp_path / "r.json")]}

    def titles(score: Callable, **more: object) -> list[str]:
        found = score(Options(**own | more, mode=mode, scorers=["ROUGE-L"]))
        figures = (found[0] if isinstance(found, tuple) else found).figures.values()
        return [drawn.get_suptitle() or drawn.axes[0].get_title() for drawn in (draw() for draw in figures)]

    best, median, worst = titles(captions.live)
    first, last = ("v", "w") if mode == "paper" else ("w", "v")
    assert best == f"Video {first}, best of 2 by mean LS, mode {mode}"
    assert median == worst == f"Video {last}, median and worst of 2 by mean LS, mode {mode}"
    evaluator = "strict" if mode == "paper" else "2018"
    assert titles(captions.dense) == [f"Dense captioning, {evaluator}"]
    assert titles(captions.soda) == [f"SODA, mode {mode}"]
    text = given(tmp_path, "text", files)
    paths = {"predictions": text["predictions"], "references": [text["references"]]}
    assert titles(captions.text, **paths) == [f"Captions, mode {mode}"]
    segments = given(tmp_path, "average_precision", files)
    paths = {"predictions": segments["predictions"], "references": [segments["references"]]}
    assert titles(actions.instantaneous_accuracy, **paths) == [f"Video u, median of 1 by weighted aIA, mode {mode}"]
    rules = "standard" if mode == "paper" else "lstr"
    assert titles(actions.average_precision, **paths) == [f"Average precision, {rules}"]
    if mode == "paper":
        assert titles(everything.score, segment_frames="60") == ["ROUGE-L, mean of 2 videos, mode paper"]


def test_places_that_cannot_be_written(tmp_path: Path, files: dict[str, str]) -> None:
    own = given(tmp_path, "text", files)
    (tmp_path / "scores.json").mkdir()
    with pytest.raises(InputError, match=r"cannot be written"):
        run(tmp_path, metric="text", **own)
    (tmp_path / "scores.json").rmdir()
    with pytest.raises(InputError, match=r"--plot=.*p\.json is a file; give a folder"):
        run(tmp_path, metric="text", plot=tmp_path / "p.json", **own)


def test_the_pictures_of_the_suite(tmp_path: Path, files: dict[str, str]) -> None:
    run(tmp_path, segment_frames=60, plot=tmp_path / "plots", **files)
    assert [path.name for path in (tmp_path / "plots").iterdir()] == ["live_score.png"]


@needs_meteor
@needs_java
def test_meteor_beside_the_original_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"1": "a man runs", "2": "the dogs were barking", "3": "a person starts to cook", "4": ""}
    meant = {
        "1": ["A man runs.", "He runs."],
        "2": ["A dog barks loudly."],
        "3": ["Someone begins baking."],
        "4": ["X."],
    }
    own = {"predictions": write(tmp_path / "c.json", said), "references": write(tmp_path / "d.json", meant)}
    own |= {"metric": "text", "scorers": "METEOR"}
    found = run(tmp_path, "--verify-with-java", **own)
    assert found["java"] == {"items": 4, "differing": 0, "largest": pytest.approx(0, abs=1e-12)}
    assert "METEOR beside the original program: 4 pairs, 0 with other statistics" in capsys.readouterr().out
    # A difference is seen: here ours has one chunk more in every pair, which costs score where words match.
    ours = meteor.statistics
    monkeypatch.setattr(
        "lvc_jax.metrics.text.meteor.java.statistics", lambda *pairs: ours(*pairs) + (np.arange(23) == 20)
    )
    found = run(tmp_path, "--verify_with_java", **own)
    assert found["java"]["differing"] == 4
    assert found["java"]["largest"] > 1e-3


def test_meteor_without_its_extra(tmp_path: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lvc_jax.metrics.text.meteor.sources.find", lambda: None)
    for metric in CAPTIONS:
        with pytest.raises(InputError, match=r"lvc-jax\[meteor\]"):
            run(tmp_path, **given(tmp_path, metric, files) | {"metric": metric, "scorers": "METEOR"})


@pytest.mark.parametrize("scorers", [{}, {"scorers": "METEOR,CIDEr"}])
def test_the_check_says_what_it_lacks(
    tmp_path: Path, files: dict[str, str], monkeypatch: pytest.MonkeyPatch, scorers: dict[str, str]
) -> None:
    own = {**given(tmp_path, "text", files), "metric": "text"}
    del own["scorers"]
    monkeypatch.setattr("lvc_jax.metrics.text.meteor.sources.find", lambda: None)
    with pytest.raises(InputError, match=r"--verify-with-java: .*pycocoevalcap.*pip install 'lvc-jax\[meteor\]'"):
        run(tmp_path, "--verify-with-java", **own, **scorers)
    place = tmp_path / "meteor"
    monkeypatch.setattr("lvc_jax.metrics.text.meteor.sources.find", lambda: sources.Files(place, place))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"--verify-with-java: METEOR: java: not found.*install a Java runtime"):
        run(tmp_path, "--verify-with-java", **own, **scorers)


def test_flags_last_for_one_run() -> None:
    assert not any(score.FLAGS[name].present for name in ("metric", "mode", "predictions"))


def test_tables() -> None:
    def heads(metric: str, *names: str, **more: dict) -> tuple[list[str], list[str]]:
        columns, rows = show.grid(Scored(metric, "paper", "s", dict.fromkeys(names, 0.5), {}, {}, **more))
        return columns, list(rows)

    assert heads("dense_captioning", "METEOR@0.3", "METEOR", "recall@0.3", "recall") == (
        ["@0.3", "mean"],
        ["METEOR", "recall"],
    )
    assert heads("live_score", "LS/CIDEr", "wLS/CIDEr") == (["LS", "wLS"], ["CIDEr"])
    assert heads("soda", "SODA_c/precision", "SODA_c") == (["precision", "F"], ["SODA_c"])
    baselines = {"perfect_model": {"maIA": 1.0}}
    assert heads("instantaneous_accuracy", "maIA", baselines=baselines) == (["score", "perfect model"], ["maIA"])
    nothing = Scored(
        "text", "reference", "s", {"METEOR": float("nan"), "CIDEr": None}, {"v": {"a": [float("inf")]}}, {}
    )
    assert nothing.content()["scores"] == {"METEOR": None, "CIDEr": None}
    assert nothing.content()["per_video"] == {"v": {"a": [None]}}
    assert nothing.content()["notes"] == ["null stands for NaN, which the original prints."]
