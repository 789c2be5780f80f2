"""Features of whole video files: the live extractor, fed from a file."""

import dataclasses
import os

import numpy as np
from jaxtyping import Float

from lvc_jax.backbones import FeatureExtractor
from lvc_jax.data import video
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError

_LONGEST_LAST_FRAME_S = 1.0
_MISSING_SHARE = 0.05  # what headers may be wrong by


def feature_info(extractor: FeatureExtractor) -> FeatureInfo:
    """The features.json of an extractor's rows."""
    return FeatureInfo(**dataclasses.asdict(extractor.info))


def extract(path: str | os.PathLike, extractor: FeatureExtractor) -> Float[np.ndarray, "l c"]:
    """All feature rows of a video file, at least one; the same rows that pushing its frames live gives.

    Raises:
        InputError: the file is missing, damaged or no video, or its frames stop well before its declared end.
    """
    state, rows, time = extractor.init(), [], 0.0
    for time, frame in video.frames(path):
        state, new = extractor.push(state, time, frame)
        rows.extend(new)
    declared = video.duration(path)
    if declared - time > _LONGEST_LAST_FRAME_S + _MISSING_SHARE * declared:
        raise InputError(f"{path}: its frames stop at {time:.1f} s of {declared:.1f} s; it is cut short, repair it")
    end = max(time, min(declared, time + _LONGEST_LAST_FRAME_S))
    rows.extend(extractor.finish(state, end))
    return np.stack(rows)
