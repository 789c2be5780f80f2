"""What a dataset is made of, before and after it is prepared."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lvc_jax.data.annotations import Event
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError

References = tuple[tuple[Event, ...], ...]


@dataclasses.dataclass(frozen=True)
class VideoRecord:
    """One video of a prepared dataset.

    Attributes:
        id: unique within the split.
        duration: seconds.
        references: one or more reference sets of timed sentences; training uses the first.
        features: row i covers [i * stride_s, i * stride_s + window_s) of the video.
        info: what the rows are and which clock they keep.
        video_path: the video file, where there is one.
    """

    id: str
    duration: float
    references: References
    features: Float[np.ndarray, "L C"]
    info: FeatureInfo
    video_path: str | None = None

    @property
    def events(self) -> tuple[Event, ...]:
        """The first reference set."""
        return self.references[0]


@dataclasses.dataclass(frozen=True)
class Split:
    """The videos of one split that are about to be prepared.

    Attributes:
        ids: video ids in the order of the records.
        read: id -> the video's record; raises InputError for features that are missing or unusable.
        repairs: what the annotation reader mended, by kind.
    """

    ids: Sequence[str]
    read: Callable[[str], VideoRecord]
    repairs: Counter[str] = dataclasses.field(default_factory=Counter)


@dataclasses.dataclass(frozen=True)
class Source:
    """Everything that a builder writes.

    Attributes:
        info: the feature set.
        splits: by name.
        inputs: JSON-able values that identify the input; a second run with other inputs is refused.
        dtype: "float32" or "float16", the features' type on disk.
    """

    info: FeatureInfo
    splits: dict[str, Split]
    inputs: dict[str, Any]
    dtype: str = "float32"

    def __post_init__(self) -> None:
        if self.dtype not in ("float32", "float16"):
            raise InputError(f"feature_dtype={self.dtype!r}: choose float32 or float16")
