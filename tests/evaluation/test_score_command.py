"""The score command: numbers, coverage, and one clear line for bad input."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ANNOTATIONS = {
    "v": {"duration": 10.0, "timestamps": [[0, 4], [6, 10]], "sentences": ["A man runs.", "A dog barks."]},
    "w": {"duration": 4.0, "timestamps": [[0, 4]], "sentences": ["A man runs."]},
}
PREDICTIONS = {
    "version": "VERSION 1.0",
    "external_data": {"used": False, "details": ""},
    "results": {"v": [{"timestamp": [0, 2], "sentence": "a man runs"}], "x": []},
    "header": {"segment_frames": 60},
}


def write(path: Path, content: object) -> str:
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path)


def score(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "lvc_jax.score", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_scores_and_coverage(tmp_path: Path) -> None:
    done = score(
        "--predictions=" + write(tmp_path / "p.json", PREDICTIONS),
        "--references=" + write(tmp_path / "r.json", ANNOTATIONS),
        f"--output={tmp_path / 'o.json'}",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "livescore|mode:paper|clock:dt60|" in done.stdout
    content = json.loads((tmp_path / "o.json").read_text())
    assert content["coverage"] == {
        "videos_scored": 2,
        "videos_missing": 1,
        "videos_extra": 1,
        "predictions": 1,
        "predictions_without_match": 0,
    }
    curves = content["per_video"]["v"]
    assert curves["time_s"] == [2, 4, 8, 10]
    assert curves["LS/ROUGE-L"] == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4])
    assert content["scores"]["LS/ROUGE-L"] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4 / 2)


@pytest.mark.parametrize(
    ("predictions", "references", "more", "message"),
    [
        (None, ANNOTATIONS, (), "no such predictions file"),
        ("{", ANNOTATIONS, (), "not valid JSON"),
        ({"results": {"v": [{"timestamp": [0], "sentence": "a"}]}}, ANNOTATIONS, ("--segment_frames=60",), "video v"),
        ({"results": {"v": []}}, ANNOTATIONS, (), "--segment_frames is missing"),
        ({"results": {"zzz": []}}, ANNOTATIONS, ("--segment_frames=60",), "none of its videos"),
        (PREDICTIONS, ANNOTATIONS, ("--segment_frames=24,48",), "one Δt"),
        (PREDICTIONS, {"v": {"duration": 1}}, (), "video 'v'"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, predictions, references, more: tuple[str, ...], message: str) -> None:
    path = str(tmp_path / "p.json") if predictions is None else write(tmp_path / "p.json", predictions)
    done = score(f"--predictions={path}", "--references=" + write(tmp_path / "r.json", references), *more)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
