"""Tables 2 to 6 of the paper: every cell against a computation of its own, the files, and what is refused."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lvc_jax import score, tables
from lvc_jax.data import annotations, segments
from lvc_jax.errors import InputError
from lvc_jax.evaluation.paper_tables import files, layout
from lvc_jax.evaluation.paper_tables.measure import READINGS, Meter
from lvc_jax.evaluation.scoring import captions
from lvc_jax.evaluation.scoring.options import Options
from lvc_jax.metrics.text.scorers import meteor_available
from tests.commands import given

THRESHOLDS = (0.3, 0.5, 0.7, 0.9)
REFERENCES = {
    "v": {"duration": 10.0, "timestamps": [[0, 4], [5, 10]], "sentences": ["red circle enters", "blue square leaves"]},
    "w": {"duration": 4.0, "timestamps": [[0, 4]], "sentences": ["green star spins"]},
}
# At Δt = 60 (2 s). One word of the first caption differs; slots 2 and 3 of v and slot 1 of w are missed.
SAID = {
    "v": [
        {"timestamp": [0, 2], "sentence": "red circle leaves", "segment": 0},
        {"timestamp": [2, 4], "sentence": "red circle enters", "segment": 1},
        {"timestamp": [8, 10], "sentence": "blue square leaves", "segment": 4},
    ],
    "w": [{"timestamp": [0, 2], "sentence": "green star spins", "segment": 0}],
}


def write(path: Path, content: object) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def predictions(path: Path, said: dict, frames: object = None) -> str:
    header = {} if frames is None else {"segment_frames": frames}
    return write(path, {"version": "VERSION 1.0", "results": said, "header": header})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write(tmp_path / "references.json", REFERENCES)
    predictions(tmp_path / "run" / "predictions_60.json", SAID, 60)
    longer = {video: [{**item, "segment": item["segment"] // 2} for item in own] for video, own in SAID.items()}
    predictions(tmp_path / "run" / "predictions_120.json", longer, 120)
    whole = {"v": [{"timestamp": [0, 4], "sentence": "red circle enters"}], "w": []}
    predictions(tmp_path / "whole.json", whole)
    return tmp_path


def tiou(first: tuple[float, float], second: tuple[float, float], guard: float) -> float:
    inter = max(0.0, min(first[1], second[1]) - max(first[0], second[0]))
    return inter / (max(first[1], second[1]) - min(first[0], second[0]) + guard)


def meets(item: dict, event: tuple[float, float, str], limit: float, reading: str) -> bool:
    """An exact ratio is below its threshold in `reference`, whose union has a guard, and reaches it in `paper`."""
    guard, tolerance = (1e-8, 0.0) if reading == "reference" else (0.0, 1e-9)
    return tiou(tuple(item["timestamp"]), event[:2], guard) >= limit - tolerance


def bleu_1(said: list[str], meant: list[str]) -> float:
    """Unigram precision of summed counts; here captions are as long as their references."""
    right = sum(min(a.split().count(w), b.split().count(w)) for a, b in zip(said, meant) for w in set(a.split()))
    return right / sum(len(a.split()) for a in said)


def localisation(events: dict, limit: float, reading: str) -> tuple[float, float]:
    """Recall and precision, mean over videos."""
    recall, precision = [], []
    for video, own in events.items():
        hit = np.array([[meets(item, event, limit, reading) for event in own] for item in SAID[video]])
        recall.append(hit.any(0).mean())
        precision.append(hit.any(1).mean())
    return float(np.mean(recall)), float(np.mean(precision))


def words(events: dict, reading: str) -> float:
    """BLEU-1 of the offline evaluators: a caption beside each event it meets, or beside garbage; mean over τ."""
    values = []
    for limit in THRESHOLDS:
        for video, own in events.items():
            said, meant = [], []
            for item in SAID[video]:
                # The garbage is shorter than any caption, so there is no brevity penalty.
                met = [event[2] for event in own if meets(item, event, limit, reading)] or ["garbage"]
                said += [item["sentence"]] * len(met)
                meant += met
            values.append(bleu_1(said, meant))
    return float(np.mean(values))


ORIGINAL = {
    video: [(s, e, text) for (s, e), text in zip(own["timestamps"], own["sentences"])]
    for video, own in REFERENCES.items()
}
CUT = {
    "v": [
        *((a, a + 2, "red circle enters") for a in (0, 2)),
        (5, 6, "blue square leaves"),
        *((a, a + 2, "blue square leaves") for a in (6, 8)),
    ],
    "w": [(a, a + 2, "green star spins") for a in (0, 2)],
}


def test_every_table_against_a_computation_of_its_own(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = place / "out"
    with given(
        tables,
        predictions=[str(place / "run")],
        references=[str(place / "references.json")],
        output=str(output),
        scorers=["BLEU-1"],
    ):
        tables.main()
    content = json.loads((output / "tables.json").read_text())
    assert list(content["tables"]) == ["2", "3", "4", "5", "6"]
    rows = {number: table["rows"] for number, table in content["tables"].items()}
    assert [row["Δt"] for row in rows["2"]] == ["60", "120"]
    assert rows["2"][0]["live"] == "yes"
    cut = {
        number: next(r for r in rows[number] if (r["annotations"], r["Δt"]) == ("annotations cut at Δt", "60"))
        for number in ("4", "5")
    }
    for reading in READINGS:
        for own, events in ((rows["2"][0], ORIGINAL), (rows["5"][0], ORIGINAL), (cut["5"], CUT)):
            assert own["cells"]["BLEU-1"][reading] == pytest.approx(words(events, reading), abs=1e-7)
        for own, events in ((rows["3"][0], ORIGINAL), (rows["4"][0], ORIGINAL), (cut["4"], CUT)):
            values = np.array([localisation(events, limit, reading) for limit in THRESHOLDS])
            for part, name in enumerate(("recall", "precision")):
                found = [own["cells"][f"{name}@{limit:g}"][reading] for limit in THRESHOLDS]
                assert found == pytest.approx(values[:, part].tolist(), abs=1e-9)
                assert own["cells"][f"{name} avg"][reading] == pytest.approx(values[:, part].mean(), abs=1e-9)
    printed = capsys.readouterr().out
    assert printed.startswith((output / "tables.md").read_text())
    assert "| :--- | :--- | :--- | ---: |" in printed


def test_live_scores_in_both_readings(place: Path) -> None:
    """Slots of v, paper: 2/3, 1, 0 (missed), 0 (missed), 1; of w: 1, 0. The toolkit's have no misses."""
    meter = Meter([str(place / "references.json")], ["BLEU-1"])
    (row,) = [row for row in files.find([str(place / "run")]) if row.segment_frames == 60]
    table = layout.all_tables([meter.measure(row)], ["BLEU-1"])[-1]
    assert table.columns == ("Δt = 60",)
    assert [line.labels for line in table.lines] == [("run", "LS", "BLEU-1"), ("run", "wLS", "BLEU-1")]

    def mean_of_curve(gamma: list[float]) -> float:
        return float(np.mean(np.cumsum(gamma) / np.arange(1, len(gamma) + 1)))

    def recursion(gamma: list[float]) -> float:
        past: list[float] = []
        for number, value in enumerate(gamma, 1):
            past.append((sum(past) + value) / number)
        return float(np.mean(past))

    paper = (mean_of_curve([2 / 3, 1, 0, 0, 1]) + mean_of_curve([1, 0])) / 2
    reference = (recursion([2 / 3, 1, 1]) + recursion([1])) / 2
    for line in table.lines:  # nothing false was said
        assert line.cells[0] == pytest.approx({"reference": reference, "paper": paper}, abs=1e-7)
    assert table.signatures["paper"][0].startswith("livescore|mode:paper|clock:dt60|")
    assert table.signatures["reference"][0].startswith("livescore|mode:reference|clock:prediction|")


def test_every_number_is_that_of_score(place: Path) -> None:
    row = files.find([str(place / "run")])[0]
    references, scorers = [str(place / "references.json")], ["BLEU-4", "CIDEr"]
    found = Meter(references, scorers).measure(row).values
    for reading in READINGS:
        options = Options(row.path, references, mode=reading, scorers=scorers)
        for part, scored in (("original", captions.dense), ("live", captions.live)):
            wanted, _ = scored(options)
            assert found[part, reading].scores == wanted.scores
            assert found[part, reading].signature == wanted.signature
            assert found[part, reading].coverage == wanted.coverage


def test_offline_files_are_in_tables_2_and_3_only(place: Path) -> None:
    meter = Meter([str(place / "references.json")], ["ROUGE-L"])
    rows = files.find([f"ours={place / 'run'}", f"theirs={place / 'whole.json'}"])
    made = layout.all_tables([meter.measure(row) for row in rows], ["ROUGE-L"])
    assert [line.labels for line in made[0].lines] == [
        ("ours", "yes", "60"),
        ("ours", "yes", "120"),
        ("theirs", "no", ""),
    ]
    assert {line.labels[0] for table in made[2:] for line in table.lines} == {"ours"}
    # The whole first event of v is met; w has no prediction.
    assert made[1].lines[2].cells[0] == pytest.approx({"reference": 0.25, "paper": 0.25})


def test_ids_that_hardly_meet_are_noted(place: Path) -> None:
    said = predictions(place / "odd.json", {"v": SAID["v"], "v_a": [], "v_b": []})
    meter = Meter([str(place / "references.json")], ["ROUGE-L"])
    (row,) = files.find([said])
    (note,) = meter.measure(row).notes
    assert note.startswith(f"{said}: 2 of 3 predicted videos are not annotated ('v_a', 'v_b'), and 1 of 2 ")
    with given(
        tables,
        predictions=[said],
        references=[str(place / "references.json")],
        output=str(place / "out"),
        scorers=["ROUGE-L"],
    ):
        tables.main()
    assert note in json.loads((place / "out" / "tables.json").read_text())["notes"]


def test_empty_tables_say_why(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(*rows: str) -> tuple[list[str], dict[str, str | None]]:
        with given(
            tables,
            predictions=list(rows),
            references=[str(place / "references.json")],
            output=str(place / "out"),
            scorers=["ROUGE-L"],
        ):
            tables.main()
        content = json.loads((place / "out" / "tables.json").read_text())
        parts = capsys.readouterr().out.split("### ")[1:6]
        return parts, {number: table.get("note") for number, table in content["tables"].items()}

    parts, notes = printed(str(place / "whole.json"))
    assert (notes["2"], notes["3"]) == (None, None)
    for part, number, why in zip(parts[2:], "456", ("cutting the", "cutting the", "a Live Score")):
        assert part.startswith(f"Table {number}: ")
        assert notes[number] in part
        assert notes[number].startswith(f"Empty: {why}") and "whole videos" in notes[number]
    parts, notes = printed(str(place / "whole.json"), str(place / "run"))
    assert not any(notes.values()) and "Empty: " not in "".join(parts)


def test_the_command_reports_coverage_signatures_and_a_missing_extra(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("lvc_jax.evaluation.scoring.options.meteor_available", lambda: False)
    predictions(place / "run" / "predictions_60.json", {**SAID, "extra": []}, 60)
    with given(
        tables,
        predictions=[f"a|b={place / 'run'}"],
        references=[str(place / "references.json")],
        output=str(place / "out"),
    ):
        tables.main()
    text = capsys.readouterr().out
    assert "not installed" in text
    assert "METEOR is left out" in text
    assert r"| a\|b | 60 | original | reference | 2 | 0 | 1 | 4 |" in text
    assert "|events:cut@dt60|v:" in text
    content = json.loads((place / "out" / "tables.json").read_text())
    assert content["tables"]["2"]["rows"][0]["cells"]["METEOR"] is None
    assert content["files"][0]["live"]["paper"]["coverage"]["slots"] == 7
    assert all(len(table["signatures"][reading]) >= 1 for table in content["tables"].values() for reading in READINGS)


def test_a_single_file_says_its_segments_in_its_name_or_its_header(place: Path) -> None:
    named = predictions(place / "predictions_60.json", SAID)
    headed = predictions(place / "any.json", SAID, 120)
    rows = [files.read(row, REFERENCES)[0] for row in files.find([named, headed, str(place / "whole.json")])]
    assert [(row.model, row.segment_frames, row.live) for row in rows] == [
        ("predictions_60", 60, True),
        ("any", 120, True),
        ("whole", "video", False),
    ]


def test_a_folder_with_an_equals_sign_needs_no_name(place: Path) -> None:
    predictions(place / "fold=1" / "predictions_60.json", SAID)
    assert files.find([str(place / "fold=1")])[0].model == "fold=1"
    assert files.find([f"x={place / 'fold=1'}"])[0].model == "x"


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ([], "--predictions is missing"),
        (["nowhere"], "no such folder or file"),
        (["."], "no predictions file there"),
        (["run", "run"], "two rows are called 'run'"),
        (["a=run", "a=whole.json"], "two rows are called 'a'"),
        (["run", ""], "an entry without a path"),
        (["run", "a="], "an entry without a path"),
    ],
)
def test_refused_entries(place: Path, monkeypatch: pytest.MonkeyPatch, entries: list[str], message: str) -> None:
    monkeypatch.chdir(place)
    with pytest.raises(InputError, match=message):
        files.find(entries)


@pytest.mark.parametrize(
    ("said", "frames", "message"),
    [
        (SAID, 48, "its header says Δt = 48, its name 60"),
        ({"other": SAID["v"]}, 60, "none of its videos is annotated"),
        ({"v": [{"timestamp": [0], "sentence": "a"}]}, 60, "video v: item 0"),
        ({"v": [{"timestamp": [2, 1], "sentence": "a"}]}, 60, "ends before it starts"),
    ],
)
def test_refused_files_are_named_in_one_line(place: Path, said: dict, frames: int, message: str) -> None:
    path = predictions(place / "run" / "predictions_60.json", said, frames)
    options = [
        f"--references={place / 'references.json'}",
        f"--output={place / 'out'}",
        f"--predictions={place / 'run'}",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "lvc_jax.tables", *options], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert path in done.stderr
    assert not (place / "out").exists()


@pytest.mark.parametrize("output", ["out", "out/deeper"])
def test_a_place_that_cannot_be_written_to_is_known_before_anything_is_read(place: Path, output: str) -> None:
    (place / "out").write_text("a file")
    for module, options in (
        ("tables", ["--predictions=none", "--references=none"]),
        ("evaluate", ["--checkpoint=none"]),
        ("ablation", ["--dataset=moving_shapes"]),
        ("score", ["--predictions=none", "--references=none", "--plot=" + str(place / output)]),
    ):
        command = [sys.executable, "-m", f"lvc_jax.{module}", *options, f"--output={place / output}/x"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "is a file; give a folder" in done.stderr


def test_a_file_called_nearly_as_a_predictions_file_is_noted(place: Path) -> None:
    for name in ("predictions_0150.json", "predictions_0.json", "other.json"):
        (place / "run" / name).write_text("{}")
    entries = [f"ours={place / 'run'}", str(place / "whole.json")]
    assert {row.segment_frames for row in files.find(entries)} == {60, 120, "video"}
    (note,) = files.overlooked(entries)
    assert "predictions_0.json, predictions_0150.json: left out; expected predictions_<Δt>.json" in note
    own = {"predictions": entries, "references": [str(place / "references.json")], "scorers": ["BLEU-1"]}
    with given(tables, **own, output=str(place / "out")):
        tables.main()
    assert note in json.loads((place / "out" / "tables.json").read_text())["notes"]


@pytest.mark.parametrize("name", ["tables.md", "tables.json"])
def test_a_folder_with_the_name_of_a_table_is_known_before_anything_is_read(place: Path, name: str) -> None:
    (place / "out" / name).mkdir(parents=True)
    own = {"predictions": ["none"], "references": ["none"]}
    with given(tables, **own, output=str(place / "out")), pytest.raises(InputError, match=f"out: {name} cannot be"):
        tables.main()
    with given(score, **own, output=str(place / "out" / name)), pytest.raises(InputError, match=f"{name} cannot be"):
        score.main()


def test_a_place_that_takes_no_file_is_known_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(dir: Path) -> None:
        raise FileNotFoundError(2, "No such file or directory", str(dir))

    monkeypatch.setattr("lvc_jax.files.tempfile.TemporaryFile", refused)
    own = {"predictions": ["none"], "references": ["none"], "output": "/deeper/out"}
    with given(tables, **own), pytest.raises(InputError, match="--output=/deeper/out: / cannot be written to"):
        tables.main()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "whole_slots", "recall", "precision"),
    [
        ("original", True, (43.21, 22.39, 9.18, 2.11), (23.67, 10.58, 4.77, 1.25)),
        ("split", False, (95.82, 91.45, 87.42, 82.84), (98.85, 98.02, 94.90, 91.05)),
    ],
)
def test_table_4_of_a_predictor_that_speaks_in_every_slot(
    shared: Path, tmp_path: Path, part: str, whole_slots: bool, recall: tuple[float, ...], precision: tuple[float, ...]
) -> None:
    """Δt = 150 on both validation files; the figures are those of tests/data/test_segments_table.py."""
    paths = [str(shared / "data" / "activitynet_captions" / f"val_{k}.json") for k in (1, 2)]
    said = {}
    for video, own in annotations.load(paths[0], second=paths[1]).videos.items():
        number = max(1, int(own.duration // 5)) if whole_slots else segments.num_segments(own.duration, 150)
        spans = [segments.segment_span(k, 150, own.duration) for k in range(number)]
        said[video] = [{"timestamp": list(span), "sentence": "a man", "segment": k} for k, span in enumerate(spans)]
    predictions(tmp_path / "predictions_150.json", said, 150)
    (row,) = files.find([str(tmp_path)])
    found = Meter(paths, ["BLEU-1"]).measure(row).values[part, "reference"].scores
    for name, values in (("recall", recall), ("precision", precision)):
        assert [100 * found[f"{name}@{limit:g}"] for limit in THRESHOLDS] == pytest.approx(values, abs=0.015)


@pytest.mark.slow
def test_table_2_of_published_predictions(shared: Path) -> None:
    """MDVC on val_1: the original evaluator's scores; with the extra also its published METEOR, 9.9407."""
    golden = json.loads((shared / "golden" / "dense_captioning" / "published_predictions.json").read_text())
    wanted = golden["mdvc_val1_2018"]["per_tiou"]
    (row,) = files.find([str(shared / "data" / "predictions" / "mdvc_results_val_1_e30.json")])
    scorers = [name for name in layout.SCORERS if name != "METEOR" or meteor_available()]
    meter = Meter([str(shared / "data" / "activitynet_captions" / "val_1.json")], scorers)
    found = meter.measure(row).values["original", "reference"].scores
    labels = {"BLEU-1": "Bleu_1", "BLEU-4": "Bleu_4", "METEOR": "METEOR", "ROUGE-L": "ROUGE_L"}
    for name in scorers:
        values = [found[f"{name}@{limit:g}"] for limit in THRESHOLDS]
        assert values == pytest.approx(wanted[labels[name]], abs=1e-9)
    assert [found[f"recall@{limit:g}"] for limit in THRESHOLDS] == pytest.approx(wanted["Recall"], abs=1e-9)
