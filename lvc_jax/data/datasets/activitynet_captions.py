"""ActivityNet Captions: 10,009 training videos; the second annotators of the validation videos are a reference set.

Input: the folder with train.json, val_1.json and val_2.json, and a feature store (TSP, C3D, ...) or, as
"oracle:FOLDER", the folder of human action segments (see `oracle_actions`). Splits: train, val.
"""

from lvc_jax.data import annotations
from lvc_jax.data.caption_kinds import CAPTION_KINDS
from lvc_jax.data.datasets import annotated, oracle_actions
from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source
from lvc_jax.data.datasets.writing import digest, store_digest
from lvc_jax.data.feature_store import FeatureStore, open_store

ORACLE = "oracle:"


class ActivitynetCaptions(CaptionBuilder):
    """ActivityNet Captions with any feature set."""

    DESCRIPTION = "ActivityNet Captions: human captions of every event of 15 thousand videos."
    CAPTION_KIND = CAPTION_KINDS["activitynet_captions"]
    CITATION = "Krishna et al., Dense-Captioning Events in Videos, ICCV 2017"


def source(annotation_folder: str, features: str, dtype: str | None = None) -> Source:
    """Reads captions and opens the features.

    Args:
        annotation_folder: with train.json, val_1.json, val_2.json.
        features: feature store, or "oracle:FOLDER".
        dtype: of the features on disk; None: float16 for action segments (holds zeros and ones exactly), else float32.

    Raises:
        InputError: for a missing or damaged file.
    """
    names = {"train": "train.json", "val": "val_1.json", "second": "val_2.json"}
    files = annotated.annotation_files(annotation_folder, names)
    train = annotations.load(files["train"], fmt="activitynet")
    val = annotations.load(files["val"], fmt="activitynet", second=files["second"])
    inputs: dict = {"annotations": {path.name: digest(path) for path in files.values()}}
    store: FeatureStore
    if features.startswith(ORACLE):
        durations = {video.id: video.duration for part in (train, val) for video in part.videos.values()}
        store = oracle_actions.OracleActions(features.removeprefix(ORACLE), durations)
        inputs["action_segments"] = store.digests
        default = "float16"
    else:
        store = open_store(features)
        inputs["feature_files"] = store_digest(store)
        default = "float32"
    splits = {"train": annotated.split(train, store), "val": annotated.split(val, store)}
    return Source(store.info, splits, inputs, dtype or default)
