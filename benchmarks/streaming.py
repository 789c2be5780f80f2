"""How long does one step of the full-size live captioner take?

    python -m benchmarks.streaming [--segment_frames=24,150] [--head=lstm,lstm_dsa] [--steps=100] [--json=FILE]

One stream, random parameters, features of unit variance. Random parameters seldom say 0, so captions run to their 30
words: this is the most that a step can cost. `silent` is the same step where the counter says 0. The real-time factor
is the step's median over Δt: below 1 the captioner keeps up.
"""

import json
import time

import jax
import numpy as np
from absl import flags
from rich.console import Console
from rich.table import Table

from lvc_jax import cli
from lvc_jax.files import atomic_write
from lvc_jax.models import init_params
from lvc_jax.models.config import ModelConfig
from lvc_jax.streaming import StreamConfig, init, step

FLAGS = flags.FlagValues()
SEGMENT_FRAMES = flags.DEFINE_list("segment_frames", ["24", "150"], "Δt in frames at 30 per second.", flag_values=FLAGS)
HEADS = flags.DEFINE_list("head", ["lstm", "lstm_dsa"], "Caption heads.", flag_values=FLAGS)
STEPS = flags.DEFINE_integer("steps", 100, "Timed steps.", lower_bound=2, flag_values=FLAGS)
JSON = flags.DEFINE_string("json", None, "Also write the figures to this file.", flag_values=FLAGS)


def latencies(config: StreamConfig, params: dict, steps: int, seed: int = 0) -> np.ndarray:
    """Seconds of each of `steps` steps after a warm-up; rows are drawn anew for every step."""
    state, generator, seconds = init(config), np.random.default_rng(seed), []
    for index in range(steps + 3):
        rows = generator.standard_normal((config.max_rows, config.model.feature_dim)).astype(np.float32)
        begun = time.perf_counter()
        state, captions = step(params, state, rows, config.max_rows)
        jax.block_until_ready(captions)
        if index >= 3:
            seconds.append(time.perf_counter() - begun)
    return np.array(seconds)


def main() -> None:
    table = Table("Δt (frames)", "caption head", "case", "p50 (ms)", "p95 (ms)", "real-time factor")
    figures = {}
    for head in HEADS.value:
        model = ModelConfig(caption_head=head)
        params = init_params(model, jax.random.PRNGKey(0))
        for frames in map(int, SEGMENT_FRAMES.value):
            rows = max(1, round(frames / 16))
            for case, least in (("10 captions", model.num_queries), ("silent", 0)):
                config = StreamConfig(model, segment_frames=frames, memory=1, max_rows=rows, min_events=least)
                p50, p95 = np.percentile(latencies(config, params, STEPS.value), [50, 95])
                factor = p50 / config.segment_seconds
                table.add_row(str(frames), head, case, f"{p50 * 1e3:.1f}", f"{p95 * 1e3:.1f}", f"{factor:.3f}")
                figures[f"{head}/{frames}/{case.replace(' ', '_')}"] = {
                    "p50_s": float(p50),
                    "p95_s": float(p95),
                    "real_time_factor": float(factor),
                }
    Console().print(table)
    if JSON.value:
        with atomic_write(JSON.value) as file:
            json.dump(figures, file, indent=1)


if __name__ == "__main__":
    cli.run(main, FLAGS)
