"""How many videos a second does training take in, and what does a larger batch bring?

    python -m benchmarks.training [--batch_size=1,2,4,8,16] [--rounds=5] [--threads=1] [--json=FILE]

The real training step (forward, backward, clipping, Adam) of `configs/anet_pdvc.py` at its full size: T = 100 rows,
ActivityNet's vocabulary, 30 event slots of 30 tokens as the pipeline pads them, random features. Every batch size
learns from the same 16 videos a round, which hold 3 or 4 events each (3.7 on average, as ActivityNet has them) of 13
words. Medians over the rounds.
"""

import itertools
from typing import Any

import jax
import numpy as np
from absl import flags
from rich.console import Console
from rich.table import Table

from benchmarks import common
from configs.anet_pdvc import get_config
from lvc_jax import cli
from lvc_jax.errors import InputError
from lvc_jax.models import LiveCaptioner, ModelConfig, init_params
from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.optimizer import make_optimizer
from lvc_jax.training.step import make_train_step
from lvc_jax.training.train_state import create, make_mesh, place_batch

VIDEOS = 16
EVENTS = (4, 3, 4, 4, 3, 4, 4, 3, 4, 4, 3, 4, 4, 3, 4, 4)
WORDS = 13
OFFICIAL_S = 1.365  # a training step of one video, official PyTorch code on one thread; quoted, not measured here

FLAGS = flags.FlagValues()
BATCH_SIZE = flags.DEFINE_list("batch_size", ["1", "2", "4", "8", "16"], "Divisors of 16.", flag_values=FLAGS)
HEADS = flags.DEFINE_list("head", ["lstm"], "Caption heads: lstm (light), lstm_dsa (standard).", flag_values=FLAGS)
ROUNDS = flags.DEFINE_integer("rounds", 5, "Timed rounds of 16 videos.", lower_bound=1, flag_values=FLAGS)
THREADS = flags.DEFINE_integer(
    "threads", 0, "Pin to so many cores, with as many threads; 0: as it comes.", lower_bound=0, flag_values=FLAGS
)
JSON = flags.DEFINE_string("json", None, "Also write the figures to this file.", flag_values=FLAGS)


def videos(model: ModelConfig, slots: int, seed: int = 0) -> dict[str, Any]:
    """A batch of all 16 videos, as the pipeline would make it."""
    rng = np.random.default_rng(seed)
    count = np.array(EVENTS, np.int32)
    tokens = np.zeros((VIDEOS, slots, model.max_caption_len), np.int32)
    tokens[:, :, 1 : WORDS + 1] = rng.integers(1, model.vocab_size + 1, (VIDEOS, slots, WORDS))
    mask = np.arange(slots) < count[:, None]
    center, length = rng.uniform(0.3, 0.7, (VIDEOS, slots)), rng.uniform(0.05, 0.6, (VIDEOS, slots))
    boxes = np.stack([center, length], axis=-1).astype(np.float32)
    return {
        "features": rng.standard_normal((VIDEOS, model.num_frames, model.feature_dim)).astype(np.float32),
        "duration": rng.uniform(30, 200, VIDEOS).astype(np.float32),
        "events": {"boxes": boxes * mask[..., None], "tokens": tokens * mask[..., None], "mask": mask},
        "count": count,
    }


def seconds_per_round(head: str, batch_size: int, rounds: int) -> np.ndarray:
    """Of learning from the 16 videos, `batch_size` at a time."""
    config = get_config()
    model_config = ModelConfig(caption_head=head)
    mesh = make_mesh(jax.devices()[:1])
    tx, _ = make_optimizer(config.optimizer)
    weights = LossWeights.from_dict(config.loss.to_dict())
    learn = make_train_step(LiveCaptioner(model_config), tx, weights, mesh, seed=config.seed)
    everything = videos(model_config, config.max_events)
    batches = [
        place_batch(jax.tree.map(lambda x, start=start: x[start : start + batch_size], everything), mesh)
        for start in range(0, VIDEOS, batch_size)
    ]
    state = create(init_params(model_config, jax.random.key(config.seed)), tx)

    def one_round() -> Any:
        nonlocal state
        for batch in batches:
            state, metrics = learn(state, batch)
        return metrics

    return common.seconds(one_round, rounds)


def main() -> None:
    common.pin(THREADS.value)
    sizes = [int(size) for size in BATCH_SIZE.value]
    if not sizes or any(size < 1 or VIDEOS % size for size in sizes):
        raise InputError(f"--batch_size={','.join(BATCH_SIZE.value)}: every size must divide {VIDEOS}")
    table = Table("head", "batch size", "ms a video", "videos/s", "against batch 1")
    figures: dict[str, float] = {}
    for head, size in itertools.product(HEADS.value, sizes):
        rate = VIDEOS / float(np.median(seconds_per_round(head, size, ROUNDS.value)))
        name = "training" if head == "lstm" else f"training/{head}"
        figures[f"{name}/batch_{size}/videos_per_s"] = rate
        first = figures.get(f"{name}/batch_1/videos_per_s")
        if first and size > 1:
            figures[f"{name}/batch_{size}_vs_1"] = rate / first
        if size == 1 and head == "lstm" and THREADS.value == 1:
            figures[f"{name}/official_torch_as_quoted"] = OFFICIAL_S * rate
        table.add_row(head, str(size), f"{1e3 / rate:.0f}", f"{rate:.2f}", f"{rate / first:.2f}x" if first else "-")
    console = Console()
    console.print(common.machine())
    console.print(table)
    quoted = figures.get("training/official_torch_as_quoted")
    if quoted:
        console.print(f"Quoted: {OFFICIAL_S * 1e3:.0f} ms for the official PyTorch code, {quoted:.1f} times ours.")
    common.write_json(JSON.value, figures)


if __name__ == "__main__":
    cli.run(main, FLAGS)
