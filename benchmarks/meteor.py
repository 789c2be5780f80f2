"""How many pairs of captions a second does METEOR score, beside the original program once its JVM is warm?

    python -m benchmarks.meteor --references=val_1.json,val_2.json [--pairs=5000] [--json=FILE]

Pairs are the i-th captions of a video in both annotation files and as many captions of different videos. Both programs
score the same pairs one after the other, after 500 others; one process each, the JVM with all its threads. `With start`
counts the JVM's start, or ours: opening the compiled tables. Statistics are compared as well. Needs the extra
[meteor] and Java.
"""

import contextlib
import json
import random
import subprocess
import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
from absl import flags
from rich.console import Console
from rich.table import Table

from lvc_jax import cli
from lvc_jax.data import annotations
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write
from lvc_jax.metrics.text import meteor
from lvc_jax.metrics.text.meteor import java
from lvc_jax.metrics.text.tokenizer import tokenize

FLAGS = flags.FlagValues()
REFERENCES = flags.DEFINE_list(
    "references", None, "Two annotation files of the same videos.", required=True, flag_values=FLAGS
)
PAIRS = flags.DEFINE_integer("pairs", 5000, "Timed pairs.", lower_bound=1, flag_values=FLAGS)
JSON = flags.DEFINE_string("json", None, "Also write the figures to this file.", flag_values=FLAGS)

WARM_UP = 500
Pair = tuple[str, list[str]]
Score = Callable[[Sequence[Pair]], np.ndarray]


def caption_pairs(paths: Sequence[str], number: int) -> list[Pair]:
    """`number` different pairs of tokenised captions, half of them about the same events."""
    videos = [video.references for video in annotations.load(paths[0], second=paths[1]).videos.values()]
    same = [(a.sentence, b.sentence) for sets in videos if len(sets) > 1 for a, b in zip(*sets[:2])]
    draw = random.Random(0)
    draw.shuffle(same)
    sentences = [event.sentence for sets in videos for event in sets[0]]
    pairs = dict.fromkeys(same[: number // 2])
    while len(pairs) < number:
        pairs[draw.choice(sentences), draw.choice(sentences)] = None
    return [(" ".join(tokenize(a)), [" ".join(tokenize(b))]) for a, b in pairs]


class WarmProgram:
    """The original, kept running."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(java.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin and self._process.stdout
        self._input, self._output = self._process.stdin, self._process.stdout

    def _send(self, pairs: Sequence[Pair]) -> None:
        # A program that died answers nothing, which `statistics` reports.
        with contextlib.suppress(BrokenPipeError):
            self._input.write("".join(java.request(*pair) for pair in pairs).encode())
            self._input.flush()

    def statistics(self, pairs: Sequence[Pair]) -> np.ndarray:
        sender = threading.Thread(target=self._send, args=(pairs,))
        sender.start()
        rows = [[float(value) for value in self._output.readline().split()] for _ in pairs]
        sender.join()
        if not all(rows):
            raise InputError(
                f"the original program ended early with status {self._process.wait()}: see its message above"
            )
        return np.array(rows)

    def close(self) -> None:
        self._process.communicate()


def timed(start: Callable[[], Score], pairs: Sequence[Pair]) -> tuple[np.ndarray, float, float]:
    """Statistics of the pairs after the warm-up, pairs a second after it, and pairs a second with start and warm-up."""
    begun = time.perf_counter()
    score = start()
    score(pairs[:WARM_UP])
    warm = time.perf_counter()
    stats = score(pairs[WARM_UP:])
    end = time.perf_counter()
    return stats, len(stats) / (end - warm), len(pairs) / (end - begun)


def start_ours() -> Score:
    meteor.statistics([], [])
    return lambda pairs: meteor.statistics(*zip(*pairs))


def main() -> None:
    if len(REFERENCES.value) != 2:
        raise InputError("--references: needs two annotation files of the same videos")
    pairs = caption_pairs(REFERENCES.value, PAIRS.value + WARM_UP)
    with contextlib.ExitStack() as stack:

        def start_original() -> Score:
            return stack.enter_context(contextlib.closing(WarmProgram())).statistics

        theirs, their_speed, their_speed_with_start = timed(start_original, pairs)
    ours, our_speed, our_speed_with_start = timed(start_ours, pairs)
    figures = {
        "pairs": len(ours),
        "ours_pairs_per_s": our_speed,
        "original_pairs_per_s": their_speed,
        "ratio": our_speed / their_speed,
        "ours_with_start_pairs_per_s": our_speed_with_start,
        "original_with_start_pairs_per_s": their_speed_with_start,
        "ratio_with_start": our_speed_with_start / their_speed_with_start,
        "differing": int((ours != theirs).any(axis=1).sum()),
    }
    table = Table("", "lvc_jax (pairs/s)", "original (pairs/s)", "ratio")
    for name, ours_, theirs_ in (
        ("warm", our_speed, their_speed),
        ("with start and warm-up", our_speed_with_start, their_speed_with_start),
    ):
        table.add_row(name, f"{ours_:.0f}", f"{theirs_:.0f}", f"{ours_ / theirs_:.2f}")
    Console().print(table)
    Console().print(f"{figures['pairs']} warm pairs, {figures['differing']} with other statistics")
    if JSON.value:
        with atomic_write(JSON.value) as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    cli.run(main, FLAGS)
