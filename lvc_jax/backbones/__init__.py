"""Pixels to features. A backbone is found by its name, which `features.json` and every checkpoint carry."""

from collections.abc import Callable

from lvc_jax.backbones.colour_moments import ColourMoments
from lvc_jax.backbones.protocol import FeatureExtractor, RowClock
from lvc_jax.errors import InputError

__all__ = ["BACKBONES", "FeatureExtractor", "RowClock", "get"]

BACKBONES: dict[str, Callable[[], FeatureExtractor]] = {"colour_moments": ColourMoments}


def get(name: str) -> FeatureExtractor:
    """The extractor of that name.

    Raises:
        InputError: there is none.
    """
    if name not in BACKBONES:
        raise InputError(f"backbone {name!r}: unknown; choose one of {', '.join(sorted(BACKBONES))}")
    return BACKBONES[name]()
