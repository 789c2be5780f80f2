"""How long does one step of the full-size live captioner take, and how many streams does a machine carry?

    python -m benchmarks.streaming [--segment_frames=24,150] [--head=lstm,lstm_dsa] [--streams=1,8,64] [--threads=1]
        [--steps=64] [--json=FILE]

Random parameters with ActivityNet's vocabulary, TSP-sized features of unit variance; head `lstm` is TSP-light,
`lstm_dsa` TSP-standard. `10 x 30 words`: the counter says 10 events and no caption ever ends, the most that a step can
cost. `silent`: the counter says 0, so nothing is decoded. Both are made by biases of the counter and of the end token,
and checked on what comes out. Several streams advance together in one vmapped step; `streams` is how many of them the
machine keeps up with in real time at that rate.
"""

import itertools
import time

import jax
import jax.numpy as jnp
import numpy as np
from absl import flags
from rich.console import Console
from rich.table import Table

from benchmarks import common
from lvc_jax import cli
from lvc_jax.errors import InputError
from lvc_jax.models import init_params, prepare
from lvc_jax.models.config import ModelConfig
from lvc_jax.streaming import StreamConfig, batched_step, init, init_batch, step

FLAGS = flags.FlagValues()
SEGMENT_FRAMES = flags.DEFINE_list("segment_frames", ["24", "150"], "Δt in frames at 30 per second.", flag_values=FLAGS)
HEADS = flags.DEFINE_list("head", ["lstm", "lstm_dsa"], "Caption heads.", flag_values=FLAGS)
STREAMS = flags.DEFINE_list("streams", ["1", "8", "64"], "Streams that advance together.", flag_values=FLAGS)
STEPS = flags.DEFINE_integer("steps", 64, "Timed stream-steps, at least 3 calls.", lower_bound=1, flag_values=FLAGS)
BEAM_SIZE = flags.DEFINE_integer("beam_size", 1, "Hypotheses of a beam search.", lower_bound=1, flag_values=FLAGS)
THREADS = flags.DEFINE_integer(
    "threads", 0, "Pin to so many cores, with as many threads; 0: as it comes.", lower_bound=0, flag_values=FLAGS
)
JSON = flags.DEFINE_string("json", None, "Also write the figures to this file.", flag_values=FLAGS)

NEVER = -1e9
CASES = {"10 x 30 words": 10, "silent": 0}
NAMES = {"lstm": "tsp_light", "lstm_dsa": "tsp_standard"}
OFFICIAL_S = 0.416  # whole forward of official TSP-light (70 + 346 ms) on one thread; quoted, not measured here


def biased(variables: dict, events: int) -> dict:
    """Parameters whose counter always says `events` and whose captions never end."""
    heads, caption = dict(variables["params"]["heads"]), dict(variables["params"]["caption"])
    heads["count_bias"] = jnp.full_like(heads["count_bias"], NEVER).at[:, events].set(0.0)
    caption["logit_bias"] = caption["logit_bias"].at[0].set(NEVER)
    return {"params": {**variables["params"], "heads": heads, "caption": caption}}


def latencies(config: StreamConfig, params: dict, streams: int, calls: int, words: int, seed: int = 0) -> np.ndarray:
    """Seconds of each of `calls` steps of all streams after a warm-up; every one sees new rows and says `words`."""
    state, generator, seconds = init(config, params), np.random.default_rng(seed), []
    if streams > 1:
        state = init_batch(state, streams)
    shape = (config.max_rows, config.model.feature_dim)
    for index in range(calls + 2):
        if streams == 1:
            rows = generator.standard_normal(shape).astype(np.float32)
            begun = time.perf_counter()
            state, captions = step(params, state, rows, config.max_rows)
        else:
            rows = generator.standard_normal((streams, *shape)).astype(np.float32)
            begun = time.perf_counter()
            whole = np.ones(streams, np.float32)
            state, captions = batched_step(params, state, rows, np.full(streams, config.max_rows), whole)
        jax.block_until_ready(captions)
        if index >= 2:
            seconds.append(time.perf_counter() - begun)
        assert int((captions["tokens"] > 0).sum()) == words * streams
    return np.array(seconds)


def main() -> None:
    common.pin(THREADS.value)
    streams, frames = ([int(number) for number in flag.value] for flag in (STREAMS, SEGMENT_FRAMES))
    if any(number < 1 for number in streams + frames) or not set(HEADS.value) <= set(NAMES):
        raise InputError("--streams and --segment_frames take positive numbers, --head lstm and lstm_dsa")
    table = Table("head", "Δt (frames)", "case", "together", "p50 (ms)", "p95 (ms)", "steps/s", "streams")
    figures: dict[str, float] = {}
    for head in HEADS.value:
        model = ModelConfig(caption_head=head)
        variables = init_params(model, jax.random.key(0))
        for (case, events), delta, together in itertools.product(CASES.items(), frames, streams):
            config = StreamConfig(
                model,
                segment_frames=delta,
                max_rows=max(1, round(delta / 16)),
                consolidation="rerank",
                beam_size=BEAM_SIZE.value,
            )
            params = prepare(model, biased(variables, events))
            calls, words = max(3, STEPS.value // together), events * model.max_caption_len
            p50, p95 = map(float, np.percentile(latencies(config, params, together, calls, words), [50, 95]))
            name = f"step/{NAMES[head]}/{delta}/{case.replace(' ', '_')}/{together}"
            rate = together / p50
            figures |= {f"{name}/p50_s": p50, f"{name}/p95_s": p95, f"{name}/steps_per_s": rate}
            figures[f"{name}/real_time_streams"] = rate * config.segment_seconds
            shown = f"{p50 * 1e3:.1f}", f"{p95 * 1e3:.1f}", f"{rate:.1f}", f"{rate * config.segment_seconds:.0f}"
            table.add_row(NAMES[head], str(delta), case, str(together), *shown)
            if THREADS.value == 1 and (head, events, together, BEAM_SIZE.value) == ("lstm", 10, 1, 1):
                figures[f"step/{NAMES[head]}/{delta}/official_torch_as_quoted"] = OFFICIAL_S / p50
    console = Console()
    console.print(common.machine())
    console.print(table)
    if any(name.endswith("as_quoted") for name in figures):
        console.print(f"Quoted: {OFFICIAL_S * 1e3:.0f} ms for the official PyTorch code's whole forward of TSP-light.")
    common.write_json(JSON.value, figures)


if __name__ == "__main__":
    cli.run(main, FLAGS)
