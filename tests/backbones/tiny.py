"""Networks of a few channels, with weights on which every layer leaves its mark."""

import functools

import jax
import numpy as np

from lvc_jax.backbones.r2plus1d import R2Plus1DConfig
from lvc_jax.backbones.r2plus1d_names import from_state_dict, names


def config(depth, **changes):
    return R2Plus1DConfig(depth, **{"width": 4, **changes})


@functools.cache
def state_dict(depth):
    """Kernels that keep the size of what goes through them, other entries near their neutral values."""
    random, state = np.random.default_rng(depth), {}
    for name, shape in names(config(depth)).items():
        value = random.standard_normal(shape).astype(np.float32)
        if len(shape) == 5:
            value *= np.prod(shape[1:]) ** -0.5
        elif name.endswith(("weight", "running_var")):
            value = np.exp(0.1 * value)
        else:
            value *= 0.1
        state[name] = value
    return state


def variables(depth):
    return jax.tree.map(np.array, from_state_dict(state_dict(depth), config(depth)))
