"""A small model that compiles in a moment, shared by the tests of this folder."""

import dataclasses
import functools
import zlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lvc_jax.models import LiveCaptioner, ModelConfig, init_params

SMALL = ModelConfig(
    feature_dim=6,
    vocab_size=11,
    hidden_dim=16,
    num_frames=12,
    num_levels=3,
    num_heads=2,
    num_points=2,
    ff_dim=8,
    num_queries=4,
    max_events=3,
    embed_dim=8,
    rnn_dim=12,
    attention_dim=6,
    max_caption_len=7,
)


def random_leaf(path, shape):
    """Normal numbers around 0 (gains: 1), seeded by the parameter's name; words differ widely."""
    name = jax.tree_util.keystr(path)
    numbers = np.random.default_rng(zlib.crc32(name.encode())).standard_normal(shape.shape).astype(np.float32)
    scale = 1.0 if "logit" in name or "embedding" in name else 0.3
    return jnp.asarray(scale * numbers + ("scale" in name))


class Small:
    """A configuration, random variables that give varied captions, and compiled methods."""

    def __init__(self, **changes):
        self.config = dataclasses.replace(SMALL, **changes)
        self.model = LiveCaptioner(self.config)
        shapes = jax.eval_shape(functools.partial(init_params, self.config), jax.random.key(0))
        self.variables = jax.tree_util.tree_map_with_path(random_leaf, shapes)
        self.forward = jax.jit(self.model.apply)
        self.decode = jax.jit(functools.partial(self.model.apply, method="decode"))
        self.token_log_probs = jax.jit(functools.partial(self.model.apply, method="token_log_probs"))

    def inputs(self, batch=3, seed=0):
        """Features and durations."""
        rng = np.random.default_rng(seed)
        shape = (batch, self.config.num_frames, self.config.feature_dim)
        return rng.standard_normal(shape).astype(np.float32), rng.uniform(0.5, 9, batch).astype(np.float32)

    def caption_inputs(self, outputs):
        """What the caption head takes of the last layer."""
        return outputs["hidden"][-1], outputs["references"][-1], outputs["memory"]


@functools.cache
def small_model(**changes):
    """One instance a variant for the whole session."""
    return Small(**changes)


VARIANTS = {
    "paper": {},
    "lstm_dsa": {"caption_head": "lstm_dsa"},
    "plain": {"transformer": "plain"},
    "border": {"padding": "border"},
    "no_refinement": {"box_refine": False},
    "no_counter_one_level": {"use_counter": False, "num_levels": 1},
}


@pytest.fixture
def small():
    return small_model()


@pytest.fixture(params=list(VARIANTS))
def variant(request):
    return small_model(**VARIANTS[request.param])
