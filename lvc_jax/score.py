"""Scores a predictions file against annotations: the suite of `evaluate` without a model.

    python -m lvc_jax.score --predictions=predictions_150.json --references=val_1.json,val_2.json --output=scores.json

Δt comes from the file's header unless --segment_frames is given. Prints a table and the signatures.
"""

import json
from typing import Any

from absl import flags

from lvc_jax import cli
from lvc_jax.data import annotations
from lvc_jax.errors import InputError
from lvc_jax.evaluation import suite, table
from lvc_jax.files import atomic_write
from lvc_jax.metrics.live_score import Reading
from lvc_jax.outputs import predictions

FLAGS = flags.FlagValues()
PREDICTIONS = flags.DEFINE_string("predictions", None, "Predictions file (JSON).", flag_values=FLAGS)
REFERENCES = flags.DEFINE_list(
    "references", None, "Annotation file, or the two files of two annotators.", flag_values=FLAGS
)
SEGMENT_FRAMES = flags.DEFINE_string(
    "segment_frames", None, "Δt in frames at 30 per second, or 'video'.", flag_values=FLAGS
)
OUTPUT = flags.DEFINE_string("output", None, "JSON file for the scores.", flag_values=FLAGS)
CLOCK = flags.DEFINE_enum(
    "clock", None, ["dt", "prediction"], "Live Score: a slot is Δt of time, or a prediction.", flag_values=FLAGS
)
GAMMA = flags.DEFINE_enum(
    "gamma", None, ["mean", "aggregate"], "Live Score: how a slot's pairs make one number.", flag_values=FLAGS
)
HISTORY = flags.DEFINE_enum(
    "history", None, ["min(K,w)", "K"], "Live Score: denominator of the windowed forms.", flag_values=FLAGS
)
SILENT = flags.DEFINE_enum(
    "silent", None, ["skip", "one", "zero"], "Live Score: slots that are rightly silent.", flag_values=FLAGS
)
MISSED = flags.DEFINE_enum(
    "missed", None, ["zero", "skip"], "Live Score: slots with events and no caption.", flag_values=FLAGS
)
USED = flags.DEFINE_enum(
    "reference_sets", None, ["both", "first"], "Live Score: annotation sets that count.", flag_values=FLAGS
)
WINDOW = flags.DEFINE_integer("window", 5, "Live Score: slots of the history.", lower_bound=1, flag_values=FLAGS)


def _load_references(paths: list[str]) -> dict[str, dict]:
    if len(paths) > 2:
        raise InputError(f"--references: {len(paths)} files; expected one, or two separated by a comma")
    first, second = paths[0], paths[1] if len(paths) > 1 else None
    return suite.plain_references(annotations.load(first, second=second).videos)


def _frames(header: dict) -> suite.SegmentFrames:
    given = SEGMENT_FRAMES.value or header.get("segment_frames")
    if given is None:
        raise InputError(f"--segment_frames is missing, and the header of {PREDICTIONS.value} does not name one")
    frames = suite.parse_segment_frames(str(given))
    if len(frames) != 1:
        raise InputError(f"--segment_frames={given}: a predictions file has one Δt")
    return frames[0]


def main() -> None:
    if not PREDICTIONS.value or not REFERENCES.value:
        raise InputError("--predictions and --references are both needed; see --help")
    header, items = predictions.read(PREDICTIONS.value)
    references = _load_references(REFERENCES.value)
    frames = _frames(header)
    unworded = next((video for video, own in items.items() if any("sentence" not in item for item in own)), None)
    if unworded is not None:
        raise InputError(f"{PREDICTIONS.value}: video {unworded}: a prediction without a sentence cannot be scored")
    if not set(items) & set(references):
        raise InputError(f"{PREDICTIONS.value}: none of its videos is in {', '.join(REFERENCES.value)}")
    choices: dict[str, Any] = {
        "clock": CLOCK.value,
        "gamma": GAMMA.value,
        "history": HISTORY.value,
        "silent": SILENT.value,
        "missed": MISSED.value,
        "references": USED.value,
        "window": WINDOW.value,
    }
    reading = Reading(**choices)
    result = suite.score(references, items, frames, reading)
    signatures = suite.signatures(frames, reading)
    coverage = {
        "videos_scored": len(set(items) & set(references)),
        "videos_missing": len(set(references) - set(items)),
        "videos_extra": len(set(items) - set(references)),
        "predictions": sum(len(own) for own in items.values()),
    }
    table.show(PREDICTIONS.value, {str(frames): {"predictions": result.metrics}})
    print("; ".join(f"{name.replace('_', ' ')}: {number}" for name, number in coverage.items()))
    print("\n".join(signatures))
    if OUTPUT.value:
        content = {
            "metric": "suite",
            "mode": "paper",
            "signature": signatures,
            "coverage": coverage,
            "scores": result.metrics,
            "per_video": {video: score.data() for video, score in result.videos.items()},
        }
        with atomic_write(OUTPUT.value) as file:
            json.dump(content, file, ensure_ascii=False, allow_nan=False)
            file.write("\n")


if __name__ == "__main__":
    cli.run(main, FLAGS)
