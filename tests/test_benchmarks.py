"""The work of benchmarks/metrics.py on a small file, by both tools: what is timed is what is scored."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.extras import needs_java, needs_meteor

ANNOTATIONS = {
    "v": {"duration": 10.0, "timestamps": [[0, 4], [5, 10]], "sentences": ["a man runs fast", "a dog barks at him"]},
    "w": {"duration": 4.0, "timestamps": [[0, 4]], "sentences": ["a woman sings a song"]},
}
SAID = {"results": {"v": [{"timestamp": [0, 5], "sentence": "a man runs away"}], "w": []}}


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / "r.json").write_text(json.dumps(ANNOTATIONS))
    (tmp_path / "p.json").write_text(json.dumps(SAID))
    return tmp_path


def result(folder: Path, work: str, tool: str) -> dict[str, Any]:
    """Of a process of its own, as the benchmark has it."""
    task = {"work": work, "tool": tool, "references": [str(folder / "r.json")], "predictions": str(folder / "p.json")}
    (folder / "task.json").write_text(json.dumps({**task, "videos": 0, "delta_t": 2.0, "slots": 3}))
    command = [sys.executable, "-m", "benchmarks.metrics_work", str(folder / "task.json")]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@needs_meteor
@needs_java
def test_both_tools_score_the_same_captions(task: Path) -> None:
    ours, theirs = (result(task, "dense", tool) for tool in ("ours", "original"))
    assert ours["items"] == theirs["items"] == 1
    assert 0 < ours["scores"]["METEOR"] < 1
    assert ours["scores"] == pytest.approx(theirs["scores"], abs=1e-12)


@needs_meteor
@needs_java
def test_the_live_score_has_a_slot_for_every_two_seconds(task: Path) -> None:
    assert result(task, "live", "ours")["items"] == 5 + 2
    assert result(task, "live", "original")["items"] == 3
