"""Pixels to features. A backbone is found by its name, which `features.json` and every checkpoint carry."""

import os
from collections.abc import Callable

from lvc_jax.backbones.colour_moments import ColourMoments
from lvc_jax.backbones.protocol import FeatureExtractor, RowClock
from lvc_jax.errors import InputError

__all__ = ["BACKBONES", "NAMES", "NETWORKS", "FeatureExtractor", "RowClock", "get"]

BACKBONES: dict[str, Callable[[], FeatureExtractor]] = {"colour_moments": ColourMoments}
NETWORKS = {"tsp": 34, "r2plus1d_18": 18}  # those that need weights: depth of the R(2+1)D network
NAMES = tuple(sorted((*BACKBONES, *NETWORKS)))


def get(name: str, weights: str | os.PathLike | None = None, *, batch_clips: int = 1) -> FeatureExtractor:
    """The extractor of that name.

    Args:
        name: one of `NAMES`.
        weights: the folder of weights, for one of `NETWORKS`.
        batch_clips: clips that a network describes at once; more than one is for files only.

    Raises:
        InputError: there is none of that name, its weights are missing, damaged or of another network, or weights are
            given to one that has none.
    """
    if name in BACKBONES:
        if weights is not None:
            raise InputError(f"--backbone_weights={weights}: {name} has no weights; leave the flag out")
        return BACKBONES[name]()
    if name not in NETWORKS:
        raise InputError(f"backbone {name!r}: unknown; choose one of {', '.join(NAMES)}")
    if weights is None:
        raise InputError(
            f"backbone {name}: needs weights; give --backbone_weights=DIR, which "
            "python -m lvc_jax.convert --format=tsp makes of a checkpoint file"
        )
    # Here, so that whoever reads pixels without a network does not wait for JAX.
    from lvc_jax.backbones.tsp import ClipExtractor
    from lvc_jax.backbones.weights import load_weights

    config, variables = load_weights(weights)
    if config.depth != NETWORKS[name]:
        fitting = next(other for other, depth in NETWORKS.items() if depth == config.depth)
        raise InputError(
            f"--backbone_weights={weights}: an R(2+1)D-{config.depth}, but {name} is an R(2+1)D-{NETWORKS[name]}; "
            f"give other weights or the backbone {fitting}"
        )
    return ClipExtractor(name, config, variables, batch_clips)
