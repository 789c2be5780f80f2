"""A small captioner whose captions vary with its input and with its memory."""

import jax
import numpy as np
import pytest

from lvc_jax.models import ModelConfig, init_params
from lvc_jax.streaming import StreamConfig, init, pad_rows, step

MODEL = ModelConfig(
    feature_dim=6,
    vocab_size=12,
    hidden_dim=32,
    num_frames=8,
    num_levels=2,
    num_heads=2,
    num_points=2,
    encoder_layers=1,
    decoder_layers=2,
    ff_dim=16,
    dropout=0.0,
    num_queries=4,
    max_events=4,
    embed_dim=16,
    rnn_dim=16,
    max_caption_len=5,
)
CONFIG = StreamConfig(MODEL, segment_frames=24, memory=3, max_rows=4, min_events=2)


def enlarge(variables):
    """Random parameters of larger scale: fresh ones would say the same whatever they see."""
    return jax.tree.map(lambda leaf: 3 * leaf, variables)


@pytest.fixture(scope="session")
def params():
    return enlarge(init_params(MODEL, jax.random.key(1)))


def random_stream(seed, counts):
    """Feature rows [n, 6] of each segment."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(n, MODEL.feature_dim)).astype(np.float32) for n in counts]


def play(params, segments, config=CONFIG, last_fraction=1.0):
    """Steps through a stream: the captions of every segment, copied to the host, and the final state."""
    state, outputs = init(config, params), []
    for k, rows in enumerate(segments):
        fraction = last_fraction if k == len(segments) - 1 else 1.0
        state, captions = step(params, state, *pad_rows(config, rows), fraction)
        outputs.append(jax.tree.map(np.array, captions))
    return outputs, state


def assert_same(first, second):
    """Bit for bit."""
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)


def assert_close(first, second):
    """Tokens and choices exact, numbers to 1e-5."""
    for name in first:
        if np.asarray(first[name]).dtype == np.float32:
            np.testing.assert_allclose(first[name], second[name], atol=1e-5, rtol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(first[name], second[name], err_msg=name)
