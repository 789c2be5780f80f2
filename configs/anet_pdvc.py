"""The PDVC reference's dense captioning of whole videos: its losses, its optimiser, its schedule.

    python -m lvc_jax.train --config=configs/anet_pdvc.py              # "light": LSTM captions
    python -m lvc_jax.train --config=configs/anet_pdvc.py:standard     # LSTM-DSA captions

Weights 4, 2, 0.5, 2 and the frequency-weighted count loss; Adam with coupled weight decay 1e-4, learning rate 5e-5
halved at epochs 8, 11, ..., 26 of 30, one video a step, gradient norm clipped at 100. The paper's count loss instead of
the weighted one: --config.loss.count_loss=cross_entropy. The reference's own word list instead of one made from the
training captions: --config.vocabulary.path=vocabulary.json

Data: `activitynet_captions` with TSP features. Machine: any. Time and result: not measured.
"""

import dataclasses

from ml_collections import ConfigDict

from lvc_jax.training.loss_weights import PDVC
from lvc_jax.training.run_config import default_config

VIDEOS = 10_009  # steps of one epoch at one video a step
EPOCHS = 30


def get_config(arg: str | None = None) -> ConfigDict:
    """PDVC hyper-parameters; `arg`: "light" (default) or "standard"."""
    if arg not in (None, "", "light", "standard"):
        raise ValueError(f"anet_pdvc.py takes light or standard, got {arg!r}")
    config = default_config()
    if arg == "standard":
        config.model.caption_head = "lstm_dsa"
        config.streaming.ec_alpha = 1.0
    config.dataset = "activitynet_captions"
    config.mode = "video"
    config.max_events = 30
    config.batch_size = 1
    config.num_train_steps = EPOCHS * VIDEOS
    config.checkpoint_every = VIDEOS
    config.log_every = 100
    config.loss.update(dataclasses.asdict(PDVC))
    config.optimizer.name = "adam"
    config.optimizer.learning_rate = 5e-5
    config.optimizer.weight_decay = 1e-4
    config.optimizer.clip_norm = 100.0
    config.optimizer.schedule = "piecewise"
    config.optimizer.boundaries = tuple(epoch * VIDEOS for epoch in range(8, EPOCHS - 1, 3))
    config.optimizer.decay_factor = 0.5
    config.streaming.consolidation = "rerank"
    config.streaming.min_events = 1
    config.streaming.mode = "reference"
    return config
