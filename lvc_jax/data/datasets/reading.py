"""Random access to prepared datasets, without TensorFlow."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow_datasets as tfds

from lvc_jax.data.datasets.builder import decode_references
from lvc_jax.data.datasets.records import References, VideoRecord
from lvc_jax.data.datasets.writing import PREPARED, feature_set_name
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError

CACHE_BYTES = 512 * 2**20
"""A dataset whose features take less memory than this is kept there once read."""


class Span(NamedTuple):
    """What is known of a video without its features: duration in seconds, reference sets, number of feature rows."""

    duration: float
    references: References
    n_rows: int


class Dataset(Sequence[VideoRecord]):
    """The videos of one or more splits. Picklable: a copy in a worker process opens its own files.

    Args:
        folder: the prepared dataset's folder.
        splits: split names, read one after the other.
        cache: keep decoded features in memory; None: if all of them take less than `CACHE_BYTES`.

    Attributes:
        info: the feature set.
        name: dataset name.
        caption_kind: "human captions", "verbalised labels", "synthetic" or "captions of the annotation file".
        ids: video ids in the order of the records.
    """

    def __init__(self, folder: str | os.PathLike, splits: Sequence[str], cache: bool | None = None):
        self._folder = Path(folder)
        self._splits = tuple(splits)
        with _checked(self._folder):
            self._read_description()
        self._keep = self._bytes() < CACHE_BYTES if cache is None else cache
        self._cached: dict[int, np.ndarray] = {}
        self._sources: list[Any] | None = None

    def _read_description(self) -> None:
        """Everything but the features."""
        summary = _read_json(self._folder / PREPARED)
        self.name: str = summary["dataset"]
        self.caption_kind: str = summary["caption_kind"]
        self.info = FeatureInfo(**summary["feature_info"])
        indices = [_read_json(self._folder / f"index_{name}.json") for name in self._splits]
        self._places = [(part, row) for part, index in enumerate(indices) for row in range(len(index))]
        rows = [row for index in indices for row in index]
        self.ids: tuple[str, ...] = tuple(row["id"] for row in rows)
        self._videos = [row["video"] for row in rows]
        self._spans = [Span(row["duration"], decode_references(row), row["n_rows"]) for row in rows]
        self._itemsize = np.dtype(summary["inputs"]["dtype"]).itemsize

    def _bytes(self) -> int:
        return sum(span.n_rows for span in self._spans) * self.info.dim * self._itemsize

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, i):  # type: ignore[override]
        """The record of video `i`."""
        i = range(len(self))[i]
        span = self._spans[i]
        features = self.features(i).astype(np.float32, copy=False)
        return VideoRecord(self.ids[i], span.duration, span.references, features, self.info, self.video_path(i))

    def features(self, i: int) -> np.ndarray:
        """Feature rows [L, C] of video `i` as they are stored (float32 or float16)."""
        if i in self._cached:
            return self._cached[i]
        if self._sources is None:
            builder = tfds.builder_from_directory(self._folder)
            self._sources = [builder.as_data_source(name) for name in self._splits]
        part, row = self._places[i]
        record = self._sources[part][row]
        if record["id"].decode() != self.ids[i]:
            raise InputError(
                f"{self._folder}: record {row} of {self._splits[part]} is not {self.ids[i]}: prepare again"
            )
        if self._keep:
            self._cached[i] = record["features"]
        return record["features"]

    def spans(self, i: int) -> Span:
        """Duration, reference sets and number of rows of video `i`; reads no features."""
        return self._spans[i]

    def video_path(self, i: int) -> str | None:
        """The video file of video `i`, where there is one; relative ones are meant from the dataset's own folder."""
        video = self._videos[i]
        return None if video is None else os.path.normpath(self._folder / video)

    def sentences(self) -> list[str]:
        """Every sentence of every reference set, in order."""
        return [event.sentence for span in self._spans for events in span.references for event in events]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cached": {}, "_sources": None}

    def __repr__(self) -> str:
        return f"Dataset({self.name}, {'+'.join(self._splits)}, {len(self)} videos)"


def open_dataset(data_dir: str | os.PathLike, name: str, split: str, *, cache: bool | None = None) -> Dataset:
    """Opens a prepared dataset.

    Args:
        data_dir: the folder given to `prepare`.
        name: dataset, as "activitynet_captions", or "activitynet_captions/oracle_action_labels" where it was prepared
            with several feature sets.
        split: a split; several joined by "+"; or "not_X" for all but X (50Salads: "not_fold_1" trains for "fold_1").
        cache: see `Dataset`.

    Raises:
        InputError: naming the prepare command if the dataset is not there, or the splits that are.
    """
    folder = find(data_dir, name)
    with _checked(folder):
        available = list(_read_json(folder / PREPARED)["splits"])
    chosen: list[str] = []
    for part in split.split("+"):
        wanted = [s for s in available if s != part[4:]] if part.startswith("not_") else [part]
        if (part[4:] if part.startswith("not_") else part) not in available:
            raise InputError(
                f"{name}: no split {part!r}; there are {', '.join(available)}; 'a+b' joins two, 'not_a' is all but a"
            )
        chosen += [s for s in wanted if s not in chosen]
    return Dataset(folder, chosen, cache)


def find(data_dir: str | os.PathLike, name: str) -> Path:
    """The folder of a prepared dataset; see `open_dataset` for `name`."""
    dataset, _, features = name.partition("/")
    root = Path(data_dir) / dataset
    found = sorted(path.parent for path in root.glob(f"[!.]*/[!.]*/{PREPARED}"))
    if features:
        found = [path for path in found if path.parent.name == feature_set_name(features)]
    if not found:
        raise InputError(
            f"dataset {name!r} is not prepared in {data_dir}: run python -m lvc_jax.prepare --dataset={dataset} "
            f"--data_dir={data_dir} (with --annotations and --features where it needs them)"
        )
    sets = sorted({path.parent.name for path in found})
    if len(sets) > 1:
        raise InputError(f"dataset {name!r} has several feature sets: name one, as {dataset}/{sets[0]} ({sets})")
    return found[-1]


@contextlib.contextmanager
def _checked(folder: Path) -> Iterator[None]:
    """Makes one line of what goes wrong where a description of a dataset is JSON, but not what `prepare` writes."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, IndexError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InputError(
            f"{folder}: {PREPARED} or an index_*.json is not what prepare wrote ({reason}): "
            "prepare the dataset again with --overwrite"
        ) from None


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}: prepare the dataset again with --overwrite") from error
