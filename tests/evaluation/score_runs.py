"""The score command in this process: flags as on the command line, the content of its output file back; small files."""

import json
import math
from pathlib import Path
from typing import Any

from lvc_jax import score


def run(folder: Path, *arguments: str, **options: object) -> dict[str, Any]:
    """Runs the command; the content of its file is strict JSON.

    Args:
        folder: for the output file.
        arguments: flags as they are typed.
        options: further flags.
    """
    output = folder / "scores.json"
    flags = [*arguments, *(f"--{name}={value}" for name, value in options.items()), f"--output={output}"]
    try:
        score.FLAGS(["score", *flags])
        score.main()
    finally:
        score.FLAGS.unparse_flags()
    return read(output)


def read(path: Path) -> dict[str, Any]:
    """Strict JSON."""
    return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse)


def _refuse(constant: str) -> float:
    raise AssertionError(f"{constant} is no JSON")


def write(path: Path, content: object) -> Path:
    """Writes JSON, or text or bytes as they are."""
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def number(value: float | str) -> float | None:
    """A golden number as the output file spells it; NaN is null there."""
    return None if math.isnan(float(value)) else float(value)


ANNOTATIONS = {
    "v": {"duration": 10.0, "timestamps": [[0, 4], [6, 10]], "sentences": ["A man runs.", "A dog barks."]},
    "w": {"duration": 4.0, "timestamps": [[0, 4]], "sentences": ["A man runs."]},
}
SECOND = {"v": {"duration": 10.0, "timestamps": [[5, 9]], "sentences": ["A dog is barking loudly."]}}
PREDICTIONS = {
    "v": [
        {"timestamp": [0, 2], "sentence": "a man runs"},
        {"timestamp": [4.5, 6], "sentence": "a dog barks"},
        {"timestamp": [6, 10], "sentence": "a dog barks"},
    ],
    "x": [],
}
DATABASE = {
    "u": {"duration": 5.0, "subset": "Test", "annotations": [{"label": "A", "segment": [1, 3]}]},
    "t": {"duration": 4.0, "subset": "Train", "annotations": [{"label": "B", "segment": [0, 2]}]},
}
DETECTED = {"u": [{"label": "A", "segment": [1, 2], "score": 0.5}]}
CAPTIONS = ("text", "dense_captioning", "soda", "live_score")
METRICS = (*CAPTIONS, "instantaneous_accuracy", "average_precision")


def caption_files(folder: Path) -> dict[str, str]:
    """Predictions and the annotations of two annotators."""
    first, second = write(folder / "r.json", ANNOTATIONS), write(folder / "s.json", SECOND)
    return {
        "predictions": str(write(folder / "p.json", {"results": PREDICTIONS})),
        "references": f"{first},{second}",
    }


def given(folder: Path, metric: str, files: dict[str, str]) -> dict[str, str]:
    """Files and fast scorers for a metric."""
    if metric == "text":
        said = write(folder / "c.json", {"1": "a man runs", "2": "a dog"})
        meant = write(folder / "d.json", {"1": ["A man runs.", "He runs."], "3": ["A cat."]})
        return {"predictions": str(said), "references": str(meant), "scorers": "BLEU-4,ROUGE-L,CIDEr"}
    if metric not in CAPTIONS:
        return {
            "predictions": str(write(folder / "e.json", {"results": DETECTED})),
            "references": str(write(folder / "f.json", {"database": DATABASE})),
        }
    return files | {"scorers": "ROUGE-L" if metric == "soda" else "BLEU-4,ROUGE-L,CIDEr"}
