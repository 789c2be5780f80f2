"""The Live Video Captioning paper's model and losses on YouCook2.

    python -m lvc_jax.train --config=configs/yc2.py

Data: `youcook2`, prepared with any feature set (its dimension is read from the data). Machine: any; the batch is split
over all devices. Time and result: not measured.
"""

from ml_collections import ConfigDict

from lvc_jax.training.run_config import default_config


def get_config(arg: str | None = None) -> ConfigDict:
    """Paper weights; takes no argument."""
    if arg:
        raise ValueError(f"yc2.py takes no argument, got {arg!r}")
    config = default_config()
    config.dataset = "youcook2"
    config.train_split = "train"
    config.segment_frames = (24, 48, 72, 96, 120, 150)
    config.batch_size = 16
    config.silent_share = 0.3
    config.num_train_steps = config.optimizer.decay_steps = 6_000
    config.optimizer.warmup_steps = 300
    config.checkpoint_every = 500
    config.eval.every = 1_000
    config.eval.segment_frames = 150
    config.streaming.segment_frames = 150
    return config
