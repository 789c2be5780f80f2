"""Features of whole video files: the live extractor, fed from a file."""

import dataclasses
import os

import numpy as np
from jaxtyping import Float

from lvc_jax.backbones import FeatureExtractor
from lvc_jax.data import video
from lvc_jax.data.feature_store import FeatureInfo

_LONGEST_LAST_FRAME_S = 1.0  # a file may claim to last longer than its frames do


def feature_info(extractor: FeatureExtractor) -> FeatureInfo:
    """The features.json of an extractor's rows."""
    return FeatureInfo(**dataclasses.asdict(extractor.info))


def extract(path: str | os.PathLike, extractor: FeatureExtractor) -> Float[np.ndarray, "l c"]:
    """All feature rows of a video file, at least one; the same rows that pushing its frames live gives.

    Raises:
        InputError: the file is missing, damaged or no video.
    """
    state, rows, time = extractor.init(), [], 0.0
    for time, frame in video.frames(path):
        state, new = extractor.push(state, time, frame)
        rows.extend(new)
    end = max(time, min(video.duration(path), time + _LONGEST_LAST_FRAME_S))
    rows.extend(extractor.finish(state, end))
    return np.stack(rows)
