"""The Python example of docs/metrics.md runs and says what is written beside it."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def example() -> str:
    """The indented blocks of the section."""
    text = DOCS.read_text(encoding="utf-8")
    section = text.partition("### From Python, and while a stream runs")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("    ") or not line]
    return textwrap.dedent("\n".join(lines))


def test_the_example_of_the_live_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {}
    exec(compile(example(), str(DOCS), "exec"), found)
    video, scores = found["video"], found["scores"]
    assert scores["LS/ROUGE-L"] == pytest.approx(0.753, abs=5e-4)
    assert scores["LS/BLEU-1"] == pytest.approx(0.753, abs=5e-4)
    np.testing.assert_array_equal(video.time, [5, 10, 15, 20, 25])
    np.testing.assert_allclose(video.gamma, np.repeat([[1.0], [1.0], [0.0], [0.0], [1.0]], 2, axis=1), atol=1e-7)
    np.testing.assert_array_equal(video.false_positives, [0, 0, 1, 0, 0])
    assert (tmp_path / "v.png").read_bytes().startswith(b"\x89PNG")
