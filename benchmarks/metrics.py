"""How fast are the caption metrics, beside the original tools on the same sentences in the same run?

    python -m benchmarks.metrics --references=val_1.json,val_2.json --predictions=predictions.json
        [--work=meteor,dense,live] [--pairs=5000] [--videos=0] [--slots=4] [--repeats=3] [--json=FILE]

- `meteor`: that many (caption, reference) pairs of the two annotation files. `warm` leaves the start of the tool out.
- `dense`: the evaluator 2018 on the predictions file (its first `videos`; 0: all): four tIoU, every scorer.
- `live`: Live Score in the toolkit's reading of a caption in every 5 s of every video of the first annotation file, all
  scorers and curves. The original is timed on the first `slots` slots of one of its four curves and extrapolated.

The original is pycocoevalcap (extra `[meteor]`, needs Java), called as the evaluation programs call it. Every piece of
work is a process of its own, ours and the original's in turn; printed are medians, their ratio, and the peak of the
memory of all processes of ours (shared pages counted once).
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from absl import flags
from rich.console import Console
from rich.table import Table

from lvc_jax import cli
from lvc_jax.data import annotations_formats
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write
from lvc_jax.metrics.text.tokenizer import tokenize_all

FLAGS = flags.FlagValues()
REFERENCES = flags.DEFINE_list("references", None, "Two annotation files.", flag_values=FLAGS)
PREDICTIONS = flags.DEFINE_string("predictions", None, "Predictions file, for `dense`.", flag_values=FLAGS)
WORK = flags.DEFINE_list("work", ["meteor", "dense", "live"], "What to time.", flag_values=FLAGS)
PAIRS = flags.DEFINE_integer("pairs", 5000, "Pairs of `meteor`.", lower_bound=2, flag_values=FLAGS)
VIDEOS = flags.DEFINE_integer("videos", 0, "Videos of `dense`; 0: all.", lower_bound=0, flag_values=FLAGS)
SLOTS = flags.DEFINE_integer("slots", 4, "Slots of `live` for the original.", lower_bound=1, flag_values=FLAGS)
REPEATS = flags.DEFINE_integer("repeats", 3, "Runs of each tool.", lower_bound=1, flag_values=FLAGS)
ORIGINAL = flags.DEFINE_bool("original", True, "Also time the original.", flag_values=FLAGS)
JSON = flags.DEFINE_string("json", None, "Also write the figures to this file.", flag_values=FLAGS)

_CURVES = 4


class Peak(threading.Thread):
    """The most memory that a process and its descendants held together, in MB; 0 where /proc does not tell."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self._pid, self.value, self.ended = pid, 0.0, False

    def run(self) -> None:
        while not self.ended:
            self.value = max(self.value, sum(map(self._held, self._tree())))
            time.sleep(0.5)

    def _tree(self) -> list[int]:
        known, fresh = [], [self._pid]
        while fresh:
            known += fresh
            fresh = [int(word) for pid in fresh for word in self._children(pid).split()]
        return known

    @staticmethod
    def _children(pid: int) -> str:
        try:
            return " ".join(path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children"))
        except OSError:
            return ""

    @staticmethod
    def _held(pid: int) -> float:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            return 0.0
        return next((float(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


def timed(task: dict[str, Any], folder: str) -> dict[str, Any]:
    """Does the work in a new process; adds its whole time `seconds` and its peak memory `peak_mb`."""
    path = Path(folder) / "task.json"
    path.write_text(json.dumps(task), encoding="utf-8")
    begun = time.perf_counter()
    command = [sys.executable, "-m", "benchmarks.metrics_work", str(path)]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "JAX_PLATFORMS": "cpu"}
    )
    peak = Peak(child.pid)
    peak.start()
    output, messages = child.communicate()
    seconds = time.perf_counter() - begun
    peak.ended = True
    if child.returncode:
        last = messages.strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"{task['work']} by {task['tool']}: ended with {child.returncode}: {last[0]}")
    return {**json.loads(output.splitlines()[-1]), "seconds": seconds, "peak_mb": peak.value}


def draw_pairs(number: int) -> list[tuple[str, str]]:
    """Tokenised captions of the second annotator beside those of the first for the same video."""
    first, second = (annotations_formats.read(path, "auto") for path in REFERENCES.value[:2])
    sentences = [
        (said.sentence, meant.sentence)
        for video in first
        if video in second
        for said in second[video].references[0]
        for meant in first[video].references[0]
    ]
    drawn = np.random.default_rng(0).permutation(len(sentences))[: 2 * number].tolist()
    columns = [tokenize_all([sentences[index][side] for index in drawn]) for side in (0, 1)]
    pairs = [(" ".join(said), " ".join(meant)) for said, meant in zip(*columns)]
    # Our tool tokenises what it gets: only sentences that this leaves alone are the same work for both.
    kept = [
        pair for pair in pairs if [" ".join(words) for words in tokenize_all(list(pair))] == list(pair) and all(pair)
    ]
    return kept[:number]


def compare(work: str, folder: str) -> dict[str, Any]:
    """Medians of both tools and what follows from them."""
    task: dict[str, Any] = {"work": work, "references": REFERENCES.value, "predictions": PREDICTIONS.value}
    task |= {"videos": VIDEOS.value, "slots": SLOTS.value, "delta_t": 5.0, "pairs": str(Path(folder) / "pairs.json")}
    runs: dict[str, list[dict[str, Any]]] = {"ours": [], "original": []}
    for _ in range(REPEATS.value):
        for tool, own in runs.items():
            if tool == "ours" or ORIGINAL.value:
                own.append(timed({**task, "tool": tool}, folder))
    row: dict[str, Any] = {"work": work, "items": runs["ours"][0]["items"]}
    for tool, own in runs.items():
        if own:
            row |= {f"{tool}_{key}": statistics.median(run[key] for run in own) for key in ("seconds", "warm")}
            row[f"{tool}_peak_mb"] = max(run["peak_mb"] for run in own)
    if "pairs" in runs["ours"][0]:
        row["distinct_pairs"] = runs["ours"][0]["pairs"]
    if runs["original"]:
        share = row["items"] / runs["original"][0]["items"] * (_CURVES if work == "live" else 1)
        row["ratio_with_start"] = row["original_seconds"] / row["ours_seconds"] if work != "live" else None
        row["ratio_warm"] = row["original_warm"] * share / row["ours_warm"]
        both = runs["ours"][0]["scores"].keys() & runs["original"][0]["scores"].keys()
        row["largest_difference"] = max(
            (abs(runs["ours"][0]["scores"][name] - runs["original"][0]["scores"][name]) for name in both), default=None
        )
    return row


def _cell(value: Any) -> str:
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) and value < 100 else f"{value:,.0f}"


def main() -> None:
    if not REFERENCES.value or len(REFERENCES.value) != 2:
        raise InputError("--references: give two annotation files, separated by a comma")
    if "dense" in WORK.value and not PREDICTIONS.value:
        raise InputError("--predictions is missing, which --work=dense needs")
    unknown = [work for work in WORK.value if work not in ("meteor", "dense", "live")]
    if unknown:
        raise InputError(f"--work={unknown[0]}: choose from meteor, dense, live")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        if "meteor" in WORK.value:
            (Path(folder) / "pairs.json").write_text(json.dumps(draw_pairs(PAIRS.value)), encoding="utf-8")
        for work in WORK.value:
            rows.append(compare(work, folder))
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(title=f"{os.cpu_count()} cores, median of {REPEATS.value}", title_justify="left", box=None)
    table.add_column("")
    for row in rows:
        table.add_column(row["work"], justify="right")
    for name in names[1:]:
        table.add_row(name.replace("_", " "), *(_cell(row.get(name)) for row in rows))
    Console().print(table)
    if JSON.value:
        with atomic_write(JSON.value) as file:
            json.dump(rows, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    cli.run(main, FLAGS)
