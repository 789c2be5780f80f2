"""YouCook2: recipe steps of cooking videos. Input: the folder with train.json and val.json, and a feature store."""

from lvc_jax.data import annotations
from lvc_jax.data.caption_kinds import CAPTION_KINDS
from lvc_jax.data.datasets import annotated
from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source
from lvc_jax.data.datasets.writing import digest, store_digest
from lvc_jax.data.feature_store import open_store


class Youcook2(CaptionBuilder):
    """YouCook2 with any feature set."""

    DESCRIPTION = "YouCook2: human captions of the steps of cooking videos."
    CAPTION_KIND = CAPTION_KINDS["youcook2"]
    CITATION = "Zhou et al., Towards Automatic Learning of Procedures from Web Instructional Videos, AAAI 2018"


def source(annotation_folder: str, features: str, dtype: str = "float32") -> Source:
    """Reads captions and opens the features.

    Raises:
        InputError: for a missing or damaged file.
    """
    files = annotated.annotation_files(annotation_folder, {"train": "train.json", "val": "val.json"})
    store = open_store(features)
    splits = {name: annotated.split(annotations.load(path, fmt="youcook2"), store) for name, path in files.items()}
    inputs = {
        "annotations": {path.name: digest(path) for path in files.values()},
        "feature_files": store_digest(store),
    }
    return Source(store.info, splits, inputs, dtype)
