"""Your own videos: a folder of video files and timed captions, features by a backbone or from a store.

Input: annotations.json, an object {id: {"file", "duration", "timestamps", "sentences", and, where a second annotator
wrote too, "timestamps_2", "sentences_2"}}, or a folder with annotations_<split>.json files; "file" is relative to the
annotation file. A single file is divided by a digest of the video's id: four fifths train, one fifth val, so that a
video stays where it is when others are added.

Without a feature store the features are extracted here, video by video; each finished video is kept, so that a killed
run goes on where it was.
"""

import hashlib
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
from jaxtyping import Float

from lvc_jax import backbones
from lvc_jax.backbones.weights import load_fingerprint
from lvc_jax.data import annotations
from lvc_jax.data.annotations import Annotations, Video
from lvc_jax.data.caption_kinds import CAPTION_KINDS
from lvc_jax.data.datasets import annotated
from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source, Split, VideoRecord
from lvc_jax.data.datasets.writing import digest, feature_set_name, stat_digest, store_digest
from lvc_jax.data.extraction import extract, feature_info
from lvc_jax.data.feature_store import FeatureInfo, open_store, save_info
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

VAL_SHARE = 0.2

Reader = Callable[[Video, Path], Float[np.ndarray, "L C"]]


class Clips(CaptionBuilder):
    """Video files with timed captions."""

    DESCRIPTION = "Video files with timed captions."
    CAPTION_KIND = CAPTION_KINDS["clips"]


def source(
    annotation_path: str,
    data_dir: Path,
    *,
    features: str | None = None,
    backbone: str = "colour_moments",
    weights: str | None = None,
    dtype: str = "float32",
) -> Source:
    """Reads the captions and chooses where features come from.

    Args:
        annotation_path: a file, or a folder with annotations.json or annotations_<split>.json.
        data_dir: extracted features are kept in <data_dir>/clips/extracted.
        features: a feature store; None extracts with `backbone`.
        backbone: name of an extractor.
        weights: the folder of its weights, where it needs any.
        dtype: of the features on disk.

    Raises:
        InputError: for a missing or damaged file.
    """
    files = _annotation_files(Path(annotation_path))
    loaded = {name: annotations.load(path, fmt="clips") for name, path in files.items()}
    inputs: dict = {"annotations": {path.name: digest(path) for path in files.values()}}
    if features is None:
        info, read_features = _extraction(backbone, data_dir, weights)
        if weights is not None:
            inputs["weights"] = load_fingerprint(weights)
        clip_files = {
            _file_name(clip): files[name].parent / _file_name(clip)
            for name, part in loaded.items()
            for clip in part.videos.values()
        }
        inputs["video_files"] = stat_digest(clip_files)
    else:
        store = open_store(features)
        info, inputs["feature_files"] = store.info, store_digest(store)

        def read_features(video: Video, path: Path) -> Float[np.ndarray, "L C"]:
            return store[annotated.stored_id(store, video.id)]

    splits: dict[str, Split] = {}
    for name, path in files.items():
        split = make_split(loaded[name], info, read_features, path.parent)
        if name:
            splits[name] = split
        else:
            splits = _divided(split, loaded[name].video_repairs)
    return Source(info, splits, inputs, dtype)


def make_split(
    loaded: Annotations, info: FeatureInfo, read_features: Reader, folder: Path, written: Path | None = None
) -> Split:
    """The videos of an annotation file whose "file" names are relative to `folder`.

    Args:
        loaded: the captions.
        info: the feature set.
        read_features: features of a video.
        folder: where the annotation file lies.
        written: the same folder as a prepared record should name it; None: its absolute path.
    """

    def read(video_id: str) -> VideoRecord:
        clip = loaded.videos[video_id]
        path = folder / _file_name(clip)
        if not path.is_file():
            raise InputError(f"video {video_id}: no file {path}; put it there or mend 'file' in the annotations")
        features = read_features(clip, path)
        name = (written or folder.absolute()) / _file_name(clip)
        return VideoRecord(video_id, clip.duration, clip.references, features, info, os.fspath(name))

    return Split(list(loaded.videos), read, loaded.repairs)


def _extraction(backbone: str, data_dir: Path, weights: str | None) -> tuple[FeatureInfo, Reader]:
    extractor = backbones.get(backbone, weights)
    info = feature_info(extractor)
    kept = Path(data_dir) / Clips.name / "extracted" / feature_set_name(info.backbone)
    if weights is not None:  # those of other weights are other features
        kept /= load_fingerprint(weights)[:16]
    save_info(kept, info)

    def read_features(clip: Video, path: Path) -> Float[np.ndarray, "L C"]:
        # The state of the file is part of the name: a replaced video, even by an older file, is extracted anew.
        target = kept / f"{stat_digest({clip.id: path})[:16]}.npy"
        if target.exists():
            return np.load(target)
        rows = extract(path, extractor)
        with atomic_write(target, "wb") as file:
            np.save(file, rows)
        return rows

    return info, read_features


def _file_name(clip: Video) -> str:
    return clip.file or f"{clip.id}.mp4"


def _annotation_files(path: Path) -> dict[str, Path]:
    """Split name -> file; the name is "" for a single file that is still to be divided."""
    if path.is_dir():
        found = sorted(path.glob("annotations_*.json"))
        if found:
            return {file.stem.removeprefix("annotations_"): file for file in found}
        path = path / "annotations.json"
    if not path.is_file():
        raise InputError(f"{path}: not found; --annotations must be an annotation file or the folder that holds it")
    return {"": path}


def _divided(split: Split, video_repairs: dict[str, Counter[str]]) -> dict[str, Split]:
    """The train and val parts that hold a video, each with the repairs of its own videos."""
    parts: dict[str, list[str]] = {"train": [], "val": []}
    for video_id in split.ids:
        parts["val" if _in_val(video_id) else "train"].append(video_id)
    return {
        name: Split(ids, split.read, sum((video_repairs[video_id] for video_id in ids), Counter[str]()))
        for name, ids in parts.items()
        if ids
    }


def _in_val(video_id: str) -> bool:
    number = int.from_bytes(hashlib.sha256(video_id.encode()).digest()[:8])
    return number < VAL_SHARE * 2**64
