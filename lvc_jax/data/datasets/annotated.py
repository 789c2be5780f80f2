"""Splits made of an annotation file and a feature store."""

from pathlib import Path

from lvc_jax.data.annotations import Annotations
from lvc_jax.data.datasets.records import Split, VideoRecord
from lvc_jax.data.feature_store import FeatureStore
from lvc_jax.errors import InputError


def annotation_files(folder: str, names: dict[str, str]) -> dict[str, Path]:
    """The annotation files of a folder, by role.

    Args:
        folder: given by the user.
        names: role -> file name.

    Raises:
        InputError: naming the file that is not there.
    """
    paths = {role: Path(folder) / name for role, name in names.items()}
    for path in paths.values():
        if not path.is_file():
            raise InputError(f"{path}: not found; --annotations must be the folder with {', '.join(names.values())}")
    return paths


def stored_id(store: FeatureStore, video_id: str) -> str:
    """The name of a video in a feature store, where the prefix "v_" comes and goes.

    Raises:
        InputError: if the store has no features of the video.
    """
    for name in (video_id, video_id.removeprefix("v_"), f"v_{video_id}"):
        if name in store:
            return name
    raise InputError(f"no features of video {video_id}: extract them, or add --skip_missing to leave it out")


def split(annotations: Annotations, store: FeatureStore) -> Split:
    """All videos of an annotation file, with features from a store."""

    def read(video_id: str) -> VideoRecord:
        video = annotations.videos[video_id]
        features = store[stored_id(store, video_id)]
        return VideoRecord(video_id, video.duration, video.references, features, store.info)

    return Split(list(annotations.videos), read, annotations.repairs)
