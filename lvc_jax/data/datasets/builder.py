"""The TFDS builder that every dataset shares: array_record files, written and read without TensorFlow.

A record is {id, annotation, features}. The annotation is JSON text because TFDS keeps floating-point lists in 32 bits
and needs TensorFlow for ragged lists; the features are raw bytes of float16 or float32 rows.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import tensorflow_datasets as tfds

from lvc_jax.data.annotations import Event
from lvc_jax.data.datasets.records import References, Source, Split, VideoRecord
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError


class CaptionBuilder(tfds.core.GeneratorBasedBuilder, skip_registration=True):  # type: ignore[call-arg]
    """Writes timed captions with the features of their videos.

    Subclasses set `DESCRIPTION`, `CAPTION_KIND` and `CITATION`; everything else comes from the source.

    Args:
        source: the videos to write.
        skip_missing: a video without usable features is skipped and reported, not an error.
        progress: called with the number of videos done.
        **kwargs: of `tfds.core.DatasetBuilder`.
    """

    VERSION = tfds.core.Version("1.0.0")
    RELEASE_NOTES: ClassVar = {"1.0.0": "First version."}
    DESCRIPTION = ""
    CITATION = ""
    CAPTION_KIND = "human captions"
    # TFDS looks for download checksums beside the class, through a package that it does not depend on.
    code_path = None

    def __init__(
        self,
        *,
        source: Source,
        skip_missing: bool = False,
        progress: Callable[[int], None] = lambda count: None,
        **kwargs: Any,
    ):
        self.source = source
        self.skipped: dict[str, dict[str, str]] = {name: {} for name in source.splits}
        self.index: dict[str, list[dict]] = {name: [] for name in source.splits}
        self._skip_missing = skip_missing
        self._progress = progress
        super().__init__(**kwargs)

    def _info(self) -> tfds.core.DatasetInfo:
        features = tfds.features.FeaturesDict(
            {
                "id": tfds.features.Text(),
                "annotation": tfds.features.Text(),
                "features": tfds.features.Tensor(
                    shape=(None, self.source.info.dim),
                    dtype=np.dtype(self.source.dtype),
                    encoding=tfds.features.Encoding.BYTES,
                ),
            }
        )
        return tfds.core.DatasetInfo(
            builder=self,
            description=self.DESCRIPTION,
            citation=self.CITATION,
            features=features,
            disable_shuffling=True,
        )

    def _split_generators(self, dl_manager: Any) -> dict[str, Iterator]:
        return {name: self._generate_examples(name, split) for name, split in self.source.splits.items()}

    def _generate_examples(self, name: str, split: Split) -> Iterator[tuple[int, dict]]:
        for number, video_id in enumerate(split.ids):
            try:
                record = _checked(split.read(video_id), self.source.info, self.source.dtype)
            except InputError as error:
                if not self._skip_missing:
                    raise
                self.skipped[name][video_id] = str(error)
                self._progress(1)
                continue
            annotation = encode_annotation(record)
            self.index[name].append({"id": record.id, "n_rows": len(record.features), **annotation})
            yield number, {"id": record.id, "annotation": json.dumps(annotation), "features": record.features}
            self._progress(1)
        if not self.index[name]:
            raise InputError(f"split {name}: none of its {len(split.ids)} videos is usable: check --features")


def _checked(record: VideoRecord, info: FeatureInfo, dtype: str) -> VideoRecord:
    """The record with its features as they go to disk; InputError unless they are usable."""
    rows = np.asarray(record.features)
    if rows.ndim != 2 or rows.shape[1] != info.dim or not len(rows):
        raise InputError(f"features of video {record.id}: shape {rows.shape}, expected [at least 1, {info.dim}]")
    with np.errstate(over="ignore"):
        rows = rows.astype(dtype)
    if not np.isfinite(rows).all():
        raise InputError(f"features of video {record.id}: not finite in {dtype}; re-extract them")
    return VideoRecord(record.id, record.duration, record.references, rows, info, record.video_path)


def encode_annotation(record: VideoRecord) -> dict[str, Any]:
    """What is JSON about a record: {duration, references [set][event][start, end, sentence], video}."""
    references = [[[event.start, event.end, event.sentence] for event in events] for events in record.references]
    return {"duration": record.duration, "references": references, "video": record.video_path}


def decode_references(annotation: dict[str, Any]) -> References:
    """The inverse of `encode_annotation` for the reference sets."""
    return tuple(tuple(Event(*event) for event in events) for events in annotation["references"])
