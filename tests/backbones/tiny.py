"""Networks of a few channels, with weights on which every layer leaves its mark."""

import functools

import jax
import numpy as np

from benchmarks.backbones import weights
from lvc_jax.backbones.r2plus1d import R2Plus1DConfig
from lvc_jax.backbones.r2plus1d_names import from_state_dict


def config(depth, **changes):
    return R2Plus1DConfig(depth, **{"width": 4, **changes})


@functools.cache
def state_dict(depth):
    return weights(config(depth))


def variables(depth):
    return jax.tree.map(np.array, from_state_dict(state_dict(depth), config(depth)))
