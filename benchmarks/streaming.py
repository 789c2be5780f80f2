"""How long does one step of the full-size live captioner take?

    python -m benchmarks.streaming [--segment_frames=24,150] [--head=lstm,lstm_dsa] [--steps=100] [--json=FILE]

One stream, random parameters, features of unit variance. `10 x 30 words`: the counter says 10 events and no caption
ever ends, the most that a step can cost. `silent`: the counter says 0, so nothing is decoded. Both are made by biases
of the counter and of the end token, and checked on what comes out. The real-time factor is the step's median over Δt:
below 1 the captioner keeps up.
"""

import json
import time

import jax
import jax.numpy as jnp
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


NEVER = -1e9
CASES = {"10 x 30 words": 10, "silent": 0}


def biased(variables: dict, events: int) -> dict:
    """Parameters whose counter always says `events` and whose captions never end."""
    heads, caption = dict(variables["params"]["heads"]), dict(variables["params"]["caption"])
    heads["count_bias"] = jnp.full_like(heads["count_bias"], NEVER).at[:, events].set(0.0)
    caption["logit_bias"] = caption["logit_bias"].at[0].set(NEVER)
    return {"params": {**variables["params"], "heads": heads, "caption": caption}}


def latencies(config: StreamConfig, params: dict, steps: int, words: int, seed: int = 0) -> np.ndarray:
    """Seconds of each of `steps` steps after a warm-up; every step sees new rows and emits `words` words."""
    state, generator, seconds = init(config, params), np.random.default_rng(seed), []
    for index in range(steps + 3):
        rows = generator.standard_normal((config.max_rows, config.model.feature_dim)).astype(np.float32)
        begun = time.perf_counter()
        state, captions = step(params, state, rows, config.max_rows)
        jax.block_until_ready(captions)
        if index >= 3:
            seconds.append(time.perf_counter() - begun)
        assert int((captions["tokens"] > 0).sum()) == words
    return np.array(seconds)


def main() -> None:
    table = Table("Δt (frames)", "caption head", "case", "p50 (ms)", "p95 (ms)", "real-time factor")
    figures = {}
    for head in HEADS.value:
        model = ModelConfig(caption_head=head)
        params = init_params(model, jax.random.PRNGKey(0))
        for frames in map(int, SEGMENT_FRAMES.value):
            rows = max(1, round(frames / 16))
            config = StreamConfig(model, segment_frames=frames, max_rows=rows, consolidation="rerank")
            for case, events in CASES.items():
                words = events * model.max_caption_len
                seconds = latencies(config, biased(params, events), STEPS.value, words)
                p50, p95 = np.percentile(seconds, [50, 95])
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
