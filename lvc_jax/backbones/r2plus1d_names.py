"""The names of torchvision's video networks and the variables of `R2Plus1D`, one for one in both directions.

Names are without a prefix: stem.*, layer1.* to layer4.* (TSP puts "features." before each). The classifier (fc*) is no
part of the network here, and `num_batches_tracked` counts training batches, which inference has no use for.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from lvc_jax.backbones.r2plus1d import R2Plus1DConfig, block_shapes
from lvc_jax.errors import InputError

_NORM = {"weight": ("params", "scale"), "bias": ("params", "bias")}
_NORM |= {"running_mean": ("batch_stats", "mean"), "running_var": ("batch_stats", "var")}
_LISTED = 8


class Entry(NamedTuple):
    """One array: where it is in the variables, its shapes in both worlds, and the axes that turn theirs into ours."""

    path: tuple[str, ...]
    shape: tuple[int, ...]
    kind: str  # "spatial", "temporal", "shortcut" or "norm"


def names(config: R2Plus1DConfig) -> dict[str, tuple[int, ...]]:
    """Every entry that the network needs of a state dict, with its shape."""
    return {name: entry.shape for name, entry in _entries(config)}


def ignorable(config: R2Plus1DConfig) -> frozenset[str]:
    """Entries that a state dict of this network may hold and that are left aside."""
    norms = (name.removesuffix("running_mean") for name in names(config) if name.endswith("running_mean"))
    return frozenset(f"{name}num_batches_tracked" for name in norms)


def from_state_dict(state: Mapping[str, np.ndarray], config: R2Plus1DConfig) -> dict[str, Any]:
    """The variables {"params", "batch_stats"}, float32, of a state dict without prefix and classifier.

    Raises:
        InputError: entries are missing, unexpected, of another shape, no floating point numbers or not finite; all of
            them are listed in one message.
    """
    entries = dict(_entries(config))
    faults = [f"{name} is missing" for name in entries if name not in state]
    unknown = set(state) - set(entries) - ignorable(config)
    faults += [f"{name} is unexpected" for name in sorted(unknown)]
    variables: dict[str, Any] = {}
    for name, entry in entries.items():
        if name not in state:
            continue
        array = np.asarray(state[name])
        if array.shape != entry.shape:
            faults.append(f"{name} has shape {list(array.shape)}, not {list(entry.shape)}")
        elif not np.issubdtype(array.dtype, np.floating):
            faults.append(f"{name} is {array.dtype}, not floating point")
        elif not np.isfinite(array).all():
            faults.append(f"{name} holds numbers that are not finite")
        else:
            _place(variables, entry.path, _ours(array.astype(np.float32), entry.kind))
    if faults:
        more = f" and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        raise InputError(
            f"R(2+1)D-{config.depth} weights: {'; '.join(faults[:_LISTED])}{more}; "
            "give the whole state dict of this depth"
        )
    return variables


def to_state_dict(variables: Mapping[str, Any], config: R2Plus1DConfig) -> dict[str, np.ndarray]:
    """The inverse of `from_state_dict`; without the entries of `ignorable`.

    Raises:
        InputError: the variables are not those of this network.
    """
    state = {}
    for name, entry in _entries(config):
        value: Any = variables
        try:
            for key in entry.path:
                value = value[key]
        except (KeyError, TypeError):
            raise InputError(f"R(2+1)D-{config.depth} variables: {'/'.join(entry.path)} is missing") from None
        array = _theirs(np.asarray(value, np.float32), entry.kind)
        if array.shape != entry.shape:
            raise InputError(
                f"R(2+1)D-{config.depth} variables: {'/'.join(entry.path)} gives shape {list(array.shape)} of {name}, "
                f"not {list(entry.shape)}"
            )
        state[name] = array
    return state


def _entries(config: R2Plus1DConfig) -> Iterator[tuple[str, Entry]]:
    stem = ("stem.0", "stem.1", "stem.3", "stem.4")
    yield from _factored(stem, ("stem",), 3, config.stem_middle, config.width, 7)
    for shape in block_shapes(config):
        block = f"layer{shape.stage}.{shape.index}"
        inputs = shape.inputs
        for number, middle in enumerate(shape.middles, start=1):
            conv = f"{block}.conv{number}"
            theirs = (f"{conv}.0.0", f"{conv}.0.1", f"{conv}.0.3", f"{conv}.1")
            yield from _factored(theirs, (shape.name, f"conv{number}"), inputs, middle, shape.outputs, 3)
            inputs = shape.outputs
        if shape.projected:
            kernel = (shape.outputs, shape.inputs, 1, 1, 1)
            yield f"{block}.downsample.0.weight", Entry(("params", shape.name, "shortcut"), kernel, "shortcut")
            yield from _norm(f"{block}.downsample.1", (shape.name, "shortcut_norm"), shape.outputs)


def _factored(
    theirs: tuple[str, ...], ours: tuple[str, ...], inputs: int, middle: int, outputs: int, size: int
) -> Iterator[tuple[str, Entry]]:
    spatial, spatial_norm, temporal, temporal_norm = theirs
    kernel = (middle, inputs, 1, size, size)
    yield f"{spatial}.weight", Entry(("params", *ours, "spatial"), kernel, "spatial")
    yield from _norm(spatial_norm, (*ours, "spatial_norm"), middle)
    yield f"{temporal}.weight", Entry(("params", *ours, "temporal"), (outputs, middle, 3, 1, 1), "temporal")
    yield from _norm(temporal_norm, (*ours, "temporal_norm"), outputs)


def _norm(theirs: str, ours: tuple[str, ...], channels: int) -> Iterator[tuple[str, Entry]]:
    for name, (collection, key) in _NORM.items():
        yield f"{theirs}.{name}", Entry((collection, *ours, key), (channels,), "norm")


def _ours(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == "spatial":
        array = array[:, :, 0].transpose(2, 3, 1, 0)
    elif kind == "temporal":
        array = array[:, :, :, 0, 0].transpose(2, 1, 0)
    elif kind == "shortcut":
        array = array[:, :, 0, 0, 0].T
    return np.ascontiguousarray(array)


def _theirs(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == "spatial":
        array = array.transpose(3, 2, 0, 1)[:, :, None]
    elif kind == "temporal":
        array = array.transpose(2, 1, 0)[..., None, None]
    elif kind == "shortcut":
        array = array.T[..., None, None, None]
    return np.ascontiguousarray(array)


def _place(tree: dict[str, Any], path: tuple[str, ...], value: np.ndarray) -> None:
    for key in path[:-1]:
        tree = tree.setdefault(key, {})
    tree[path[-1]] = value
