"""R(2+1)D weights of TSP and torchvision to backbone folders, and back."""

import os
import re

import numpy as np

from lvc_jax.backbones.r2plus1d import R2Plus1DConfig
from lvc_jax.backbones.r2plus1d_names import from_state_dict, ignorable, names, to_state_dict
from lvc_jax.backbones.weights import load_weights, save_weights
from lvc_jax.conversion.entries import collect, vote
from lvc_jax.conversion.weight_files import WeightFile, read, write

_PREFIX = "features."  # TSP keeps the network beside its classifiers
_CLASSIFIER = re.compile(r"fc\d?\.(weight|bias)")
_TSP_EPS, _TORCHVISION_EPS = 1e-3, 1e-5


def convert(path: str | os.PathLike, folder: str | os.PathLike) -> tuple[R2Plus1DConfig, list[str]]:
    """Writes the backbone folder of a TSP or torchvision checkpoint; returns the network and what was not used.

    The depth is told by the names of the blocks, and batch norm's epsilon by the depth: 1e-3 for 34, 1e-5 for 18.

    Raises:
        InputError: the file is damaged or holds another network.
    """
    file = read(path)
    prefixed = any(name.startswith(_PREFIX) for name in file.entries)
    unused = [name for name in file.entries if _CLASSIFIER.fullmatch(name)]
    entries = {name.removeprefix(_PREFIX): entry for name, entry in file.entries.items() if name not in unused}
    depth = 34 if any(re.match(r"layer[1-4]\.[2-5]\.", name) for name in entries) else 18
    width = vote(
        (
            entries[name].shape[0]
            for name in ("stem.3.weight", "stem.4.weight", "stem.4.bias")
            if name in entries and entries[name].shape
        ),
        64,
    )
    config = R2Plus1DConfig(depth, _TSP_EPS if depth == 34 else _TORCHVISION_EPS, width=width)
    counters = ignorable(config)
    wanted = WeightFile(file.path, {name: entry for name, entry in entries.items() if name not in counters})
    kind = "TSP" if prefixed else "torchvision"
    state = collect(wanted, names(config), {}, f"the R(2+1)D-{depth} network of {kind}")
    save_weights(folder, config, from_state_dict(state, config))
    return config, unused


def export(folder: str | os.PathLike, path: str | os.PathLike) -> R2Plus1DConfig:
    """Writes a backbone folder under the official names: TSP's for depth 34, torchvision's for 18; no classifier.

    Raises:
        InputError: the folder is damaged.
    """
    config, variables = load_weights(folder)
    state = to_state_dict(variables, config)
    state |= {name: np.zeros((), np.int64) for name in sorted(ignorable(config))}
    if config.depth == 34:
        write(path, {f"{_PREFIX}{name}": array for name, array in state.items()})
    else:
        write(path, state, bare=True)
    return config
