"""Your own videos: files and annotations in the clips format.

    python -m lvc_jax.prepare --dataset=clips --annotations=FILE --features=FOLDER --data_dir=data
    python -m lvc_jax.train --config=configs/clips.py

A middle-sized model for a few hundred videos. Machine: any. Time and result: not measured.
"""

from ml_collections import ConfigDict

from lvc_jax.training.run_config import default_config


def get_config(arg: str | None = None) -> ConfigDict:
    """Paper weights on a smaller model; takes no argument."""
    if arg:
        raise ValueError(f"clips.py takes no argument, got {arg!r}")
    config = default_config()
    config.dataset = "clips"
    config.train_split = "train"
    config.segment_frames = (48, 96, 150)
    config.memory = 3
    config.silent_share = 0.3
    config.batch_size = 16
    config.max_events = 6
    config.model.update(
        {
            "hidden_dim": 256,
            "ff_dim": 512,
            "num_frames": 48,
            "num_queries": 8,
            "max_events": 6,
            "embed_dim": 256,
            "rnn_dim": 256,
            "caption_dropout": 0.3,
        }
    )
    config.num_train_steps = config.optimizer.decay_steps = 3_000
    config.optimizer.learning_rate = 3e-4
    config.optimizer.warmup_steps = 150
    config.checkpoint_every = 250
    config.eval.every = 500
    config.eval.segment_frames = 96
    config.streaming.segment_frames = 96
    config.streaming.memory = 3
    return config
