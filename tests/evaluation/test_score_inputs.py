"""What every command that scores files shares: the Δt of a file, who is named in an error, what is covered."""

from pathlib import Path

import numpy as np
import pytest

from lvc_jax.errors import InputError
from lvc_jax.evaluation.paper_tables import files as table_files
from lvc_jax.evaluation.scoring import coverage, everything, inputs
from lvc_jax.evaluation.scoring.inputs import Predicted
from lvc_jax.evaluation.scoring.options import Options
from tests.evaluation.score_runs import ANNOTATIONS, DETECTED, PREDICTIONS, caption_files, given, run, write


@pytest.mark.parametrize(
    ("header", "asked", "expected"),
    [(60, None, 60), ("60", None, 60), ("video", None, "video"), (60, "24", 24), (60, "video", "video")],
)
def test_the_flag_goes_before_the_header(header: object, asked: str | None, expected: object) -> None:
    assert Predicted("p.json", {"segment_frames": header}, {}).segment_frames(asked) == expected
    assert Predicted("p.json", {}, {}).segment_frames() is None


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("24,48", r"p\.json: header: segment_frames=24,48: a predictions file has one Δt"),
        ("0", r"p\.json: header: segment_frames=0: '0' is neither"),
        ([24, 48], r"p\.json: header: segment_frames=\[24, 48\]: '\[24' is neither"),
    ],
)
def test_a_header_that_names_no_single_segment_is_refused_everywhere(
    tmp_path: Path, header: object, message: str
) -> None:
    content = {"results": {"v": PREDICTIONS["v"]}, "header": {"segment_frames": header}}
    predictions = str(write(tmp_path / "p.json", content))
    references = str(write(tmp_path / "r.json", ANNOTATIONS))
    for metric in ((), ("--metric=live_score", "--scorers=ROUGE-L")):
        with pytest.raises(InputError, match=message):
            run(tmp_path, *metric, predictions=predictions, references=references)
    (row,) = table_files.find([predictions])
    with pytest.raises(InputError, match=message):
        table_files.read(row, ANNOTATIONS)


def test_an_error_of_a_metric_gets_the_names_of_the_files() -> None:
    for said, expected in (
        ("video v: no words", "p.json against r.json,s.json: video v: no words"),
        ("p.json: broken", "p.json: broken"),
        ("s.json: video v", "s.json: video v"),
        ("--tiou=2: too large", "--tiou=2: too large"),
    ):
        with pytest.raises(InputError) as caught, inputs.naming("p.json", ["r.json", "s.json"]):
            raise InputError(said)
        assert str(caught.value) == expected


def test_a_video_is_missing_if_the_file_has_no_entry_for_it(tmp_path: Path) -> None:
    references, predictions = {"u": 0, "v": 0, "w": 0}, {"v": [], "w": ["a", "b"], "x": ["c"]}
    assert coverage.count(references, predictions, scored=2, without_match=1, slots=4) == {
        "videos_scored": 2,
        "videos_missing": 1,
        "videos_extra": 1,
        "predictions": 3,
        "predictions_without_match": 1,
        "slots": 4,
    }
    files = caption_files(tmp_path)
    own = {"results": {"v": [], "x": PREDICTIONS["v"]}}
    for metric in ("", "dense_captioning", "soda", "live_score"):
        more = {**given(tmp_path, metric, files), "metric": metric} if metric else {**files, "segment_frames": 60}
        found = run(tmp_path, **more | {"predictions": write(tmp_path / "q.json", own)})
        assert (found["coverage"]["videos_missing"], found["coverage"]["videos_extra"]) == (1, 1), metric


EARLY = {"v": {"duration": 10, "timestamps": [[-4, 4]], "sentences": ["a man runs"]}}
LASTING = {"v": {"duration": 10, "timestamps": [[0, 4]], "sentences": ["a man runs"]}}
TIMELESS = {"v": {"timestamps": [[0, 4]], "sentences": ["a man runs"]}}


@pytest.mark.parametrize(
    ("files", "metrics", "refused"),
    [
        ([EARLY], ("dense_captioning", "soda", "live_score"), "negative time -4.0"),
        ([TIMELESS], ("dense_captioning", "soda"), "field 'duration' is missing"),
        ([TIMELESS, LASTING], ("dense_captioning", "soda"), "field 'duration' is missing"),
        ([LASTING, {}], ("dense_captioning", "soda", "live_score"), "no videos"),
        ([{}, LASTING], ("dense_captioning", "soda", "live_score"), "no videos"),
    ],
)
def test_the_originals_readings_take_files_as_they_are_written(
    tmp_path: Path, files: list, metrics: tuple[str, ...], refused: str
) -> None:
    said = write(tmp_path / "p.json", {"results": {"v": [{"timestamp": [0, 4], "sentence": "a man runs"}]}})
    paths = [str(write(tmp_path / f"{index}.json", content)) for index, content in enumerate(files)]
    for metric in metrics:
        flags = {"metric": metric, "predictions": said, "references": ",".join(paths), "scorers": "ROUGE-L"}
        scores = run(tmp_path, **flags)["scores"] if metric != "live_score" else {}
        scores |= run(tmp_path, **flags, mode="reference")["scores"]
        half = files == [EARLY]
        for name, whole, part in (
            ("recall@0.3", 1, 1),
            ("recall@0.5", 1, 0),
            ("SODA_c_ROUGE-L", 1, 0.5),
            ("LS/ROUGE-L", 1, 1),
        ):
            if name in scores:
                assert scores[name] == pytest.approx(part if half else whole, abs=1e-8), name
        with pytest.raises(InputError, match=refused):
            run(tmp_path, **flags, mode="paper")


def test_files_without_any_video_and_a_toolkits_file_without_durations_are_refused(tmp_path: Path) -> None:
    said = write(tmp_path / "p.json", {"results": {"v": [{"timestamp": [0, 4], "sentence": "a man runs"}]}})
    flags = {"predictions": said, "scorers": "ROUGE-L", "mode": "reference"}
    nothing, timeless = write(tmp_path / "n.json", {}), write(tmp_path / "t.json", TIMELESS)
    for metric in ("dense_captioning", "soda", "live_score"):
        with pytest.raises(InputError, match=r"n\.json.*: no videos: nothing to score against"):
            run(tmp_path, **flags, metric=metric, references=f"{nothing},{nothing}")
    with pytest.raises(InputError, match="field 'duration' is missing"):
        run(tmp_path, **flags, metric="live_score", references=timeless)


@pytest.mark.parametrize("metric", ["dense_captioning", "soda", "live_score"])
@pytest.mark.parametrize("mode", ["reference", "paper"])
def test_every_annotated_video_is_in_one_of_the_counts(tmp_path: Path, metric: str, mode: str) -> None:
    references = write(tmp_path / "r.json", dict.fromkeys("vwx", LASTING["v"]))
    said = write(tmp_path / "p.json", {"results": {"v": [{"timestamp": [0, 4], "sentence": "a man runs"}], "w": []}})
    flags = {"metric": metric, "mode": mode, "scorers": "ROUGE-L"}
    covered = run(tmp_path, **flags, predictions=said, references=references)["coverage"]
    originals = mode == "reference" and metric != "dense_captioning"
    assert covered["videos_missing"] == 1
    assert covered.get("videos_left_out") == (1 if originals else None)
    assert covered["videos_scored"] == (1 if originals else 3)


SILENT = {"duration": 10, "timestamps": [], "sentences": []}


@pytest.mark.parametrize("more", [{}, {"missed": "skip"}, {"clock": "prediction"}, {"silent": "one"}])
def test_the_suite_covers_what_the_live_score_covers(tmp_path: Path, more: dict[str, str]) -> None:
    references = write(tmp_path / "r.json", {**dict.fromkeys("vwx", LASTING["v"]), "s": SILENT})
    said = write(tmp_path / "p.json", {"results": {"v": PREDICTIONS["v"], "w": [], "s": []}})
    flags = {"predictions": said, "references": references, "segment_frames": 60, **more}
    suite, live = (run(tmp_path, **flags, **own)["coverage"] for own in ({}, {"metric": "live_score"}))
    counts = ("videos_scored", "videos_missing", "videos_extra", "videos_left_out", "predictions")
    assert {name: suite.get(name) for name in counts} == {name: live.get(name) for name in counts}
    whole = run(tmp_path, **flags | {"segment_frames": "video"})["coverage"]
    assert (whole["videos_scored"], whole["videos_left_out"]) == (3, 1)


HALF = "4 of 5 predicted videos are not annotated ('v_a', 'v_b'), and 1 of 2 annotated videos are not predicted ('w')"


@pytest.mark.parametrize("metric", ["", "dense_captioning", "soda", "live_score"])
@pytest.mark.parametrize("mode", ["reference", "paper"])
def test_ids_of_which_few_meet_are_noted(tmp_path: Path, metric: str, mode: str) -> None:
    files = caption_files(tmp_path)
    own = {"results": dict.fromkeys(("v", "v_a", "v_b", "v_c", "v_d"), PREDICTIONS["v"])}
    own_files = {**files, "predictions": write(tmp_path / "q.json", own)}
    more = {**own_files, "metric": metric, "mode": mode, "scorers": "ROUGE-L"} if metric else own_files
    found = run(tmp_path, **more, segment_frames=60)
    assert f"{HALF}: do both files name videos alike?" in found["notes"]
    found = run(tmp_path, **more | {"predictions": files["predictions"]}, segment_frames=60)
    assert not any("alike" in note for note in found["notes"])


def test_ids_that_do_not_meet_by_metric(tmp_path: Path) -> None:
    own = given(tmp_path, "text", {})
    said = write(tmp_path / "q.json", {"results": {"1": "a man", "a": "a dog", "b": "a cat"}})
    text = run(tmp_path, metric="text", **own | {"predictions": said})["notes"]
    assert (
        "2 of 3 predicted ids are not annotated ('a', 'b'), and 1 of 2 annotated ids are not predicted ('3'): "
        "do both files name ids alike?"
    ) in text
    own = given(tmp_path, "average_precision", {})
    for strange, noted in ((["x", "y"], True), (["t"], False)):  # t is of another subset
        said = write(tmp_path / "q.json", {"results": {"u": DETECTED["u"], **{video: [] for video in strange}}})
        for metric in ("instantaneous_accuracy", "average_precision"):
            notes = run(tmp_path, metric=metric, **own | {"predictions": said})["notes"]
            assert ("2 of 3 predicted videos are not annotated ('x', 'y')" in "".join(notes)) == noted, metric
    labels, scores = {"a": [[1, 0], [0, 1]], "b": [[1, 0]], "c": [[1, 0]]}, {"a": [[0, 1], [1, 0]]}
    files = {
        name: write(tmp_path / f"{name}.json", {"classes": ["Background", "A"], "frames": frames})
        for name, frames in (("references", labels), ("predictions", scores))
    }
    notes = run(tmp_path, metric="average_precision", **files)["notes"]
    assert "2 of 3 annotated videos are not predicted ('b', 'c'): do both files name videos alike?" in notes


@pytest.mark.parametrize("metric", ["instantaneous_accuracy", "average_precision"])
@pytest.mark.parametrize("mode", ["reference", "paper"])
def test_a_misspelt_subset_is_answered_with_those_there_are(tmp_path: Path, metric: str, mode: str) -> None:
    own = {**given(tmp_path, metric, {}), "metric": metric, "mode": mode, "subset": "test"}
    there = "subsets there: 'Test' (1 videos), 'Train' (1 videos)"
    if (metric, mode) == ("instantaneous_accuracy", "reference"):  # the original prints NaN
        found = run(tmp_path, **own)
        assert found["scores"] == {"maIA": None, "weighted_maIA": None}
        assert any("No video of subset 'test'" in note and there in note for note in found["notes"])
        return
    with pytest.raises(InputError) as caught:
        run(tmp_path, **own)
    assert there in str(caught.value)


@pytest.mark.parametrize("mode", ["reference", "paper"])
def test_reversed_predictions_are_noted_by_every_metric_that_takes_them(tmp_path: Path, mode: str) -> None:
    files = caption_files(tmp_path)
    backwards = [*PREDICTIONS["v"], {"timestamp": [4, 0.5], "sentence": "a man runs"}]
    own = {
        **files,
        "mode": mode,
        "predictions": write(tmp_path / "q.json", {"results": {"v": backwards, "x": backwards}}),
    }
    own["scorers"] = "ROUGE-L"
    note = (
        "Predictions that end before they start: 1 (first: video 'v', item 3: 4 to 0.5 s): "
        "their tIoU with every event is 0."
    )
    for metric, more in (("dense_captioning", {}), ("soda", {}), ("live_score", {"clock": "prediction"})):
        found = run(tmp_path, metric=metric, **own, **more)
        assert note in found["notes"], metric
        forwards = run(tmp_path, metric=metric, **own | more | {"predictions": files["predictions"]})
        assert not any("end before" in text for text in forwards["notes"]), metric
    for more in ({"metric": "live_score", "mode": "paper"}, {"mode": "paper", "segment_frames": 60}):
        with pytest.raises(InputError, match=r"q\.json: video v: item 3: timestamp \[4, 0\.5\]: ends before it starts"):
            run(tmp_path, **own | more)
    actions = given(tmp_path, "instantaneous_accuracy", {})
    said = [*DETECTED["u"], {"label": "A", "segment": [3, 2.5]}]
    meaning = "they label no slot" + (", unless they end below 0." if mode == "reference" else ".")
    for metric in ("instantaneous_accuracy", "average_precision"):
        scores = run(tmp_path, metric=metric, mode=mode, **actions)["scores"]
        odd = actions | {"predictions": write(tmp_path / "q.json", {"results": {"t": said, "u": said}})}
        found = run(tmp_path, metric=metric, mode=mode, **odd)
        note = f"Predictions that end before they start: 1 (first: video 'u', item 1: 3 to 2.5 s): {meaning}"
        assert note in found["notes"], metric
        assert found["scores"] == scores


def test_the_suites_picture_has_the_chosen_clock(tmp_path: Path) -> None:
    said = {"v": PREDICTIONS["v"], "w": [{"timestamp": [3, 4], "sentence": "a man runs"}]}
    predictions = str(write(tmp_path / "p.json", {"results": said}))
    references = [str(write(tmp_path / "r.json", ANNOTATIONS))]
    chosen = Options(predictions, references, segment_frames="60", clock="prediction", scorers=["ROUGE-L"])
    scored, _ = everything.score(chosen)
    figure = scored.figures["live_score"]()
    axes = next(axes for axes in figure.axes if axes.get_lines())
    assert axes.get_xlabel() == "prediction"
    curves = [video["LS/ROUGE-L"] for video in scored.per_video.values()]
    assert sorted(map(len, curves)) == [1, 3]
    line = next(line for line in axes.get_lines() if line.get_label() == "LS")
    assert line.get_xdata().tolist() == [1, 2, 3]
    first = np.mean([curve[0] for curve in curves])
    longest = max(curves, key=len)
    np.testing.assert_allclose(line.get_ydata(), 100 * np.array([first, *longest[1:]]))
    timed, _ = everything.score(Options(predictions, references, segment_frames="60", scorers=["ROUGE-L"]))
    axes = next(axes for axes in timed.figures["live_score"]().axes if axes.get_lines())
    assert axes.get_xlabel() == "time (s)"
    assert axes.get_lines()[-1].get_xdata().tolist() == [2, 4, 6, 8, 10]
