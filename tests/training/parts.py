"""A complete run around the tiny model: config, data that is a function of the step, vocabulary."""

import jax
import numpy as np

from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.models import ModelConfig
from lvc_jax.training.loop import Parts
from lvc_jax.training.run_config import default_config
from tests.training.conftest import make_batch
from tests.training.stub_model import StubCaptioner

VOCABULARY = WordVocabulary([f"w{i}" for i in range(11)] + ["UNK"])
INFO = FeatureInfo("toy", 6, 1.0, 1.0)


def tiny_config(**changes):
    """Eight steps, every one logged, a checkpoint at each fourth."""
    config = default_config()
    config.update({"num_train_steps": 8, "checkpoint_every": 4, "log_every": 1, "batch_size": 4, "seed": 3})
    config.optimizer.update({"learning_rate": 1e-2, "warmup_steps": 2, "decay_steps": 20})
    config.update(changes)
    return config


def batches(start, hook=None):
    """Batch s is a function of s; `hook(s, batch)` may change it or stop everything."""
    step = start
    while True:
        rng = np.random.default_rng(step)
        batch = make_batch(rng, rng.integers(0, 4, 4))
        yield batch if hook is None else hook(step + 1, batch)
        step += 1


def tiny_parts(hook=None, evaluate=None, vocabulary=VOCABULARY):
    """Parts whose batches pass through `hook`."""
    model = StubCaptioner()
    first = next(batches(0))

    def init_params(key):
        return model.init(key, first["features"], first["duration"])

    return Parts(
        model=model,
        model_config=ModelConfig(feature_dim=6, vocab_size=12, hidden_dim=8, num_heads=2),
        init_params=init_params,
        batches=lambda start: batches(start, hook),
        vocabulary=vocabulary,
        feature_info=INFO,
        evaluate=evaluate,
    )


def no_clock(record):
    """A record without the one number that depends on the machine's speed."""
    return {name: value for name, value in record.items() if name != "videos_per_s"}


def one_device():
    """The first CPU device alone."""
    return jax.devices()[:1]
