"""50Salads: fifty people make a salad; classifier scores at 1 Hz, and the action labels put into words.

The input is the five files `50salads_mid_SVM_Split_<n>.mat`; file n holds the ten videos that fold n keeps out of
training: 'S' are the scores of 17 actions and the background [T, 18] and 'Y' the labels [1, T], one row a second.
Fold n becomes the split `fold_<n>`. The captions are verbalised labels, not human sentences, and results on them are
reported as "50Salads, verbalised labels".
"""

import itertools
import os
from pathlib import Path

import numpy as np
import scipy.io
from jaxtyping import Int

from lvc_jax.data.annotations import Event
from lvc_jax.data.caption_kinds import CAPTION_KINDS
from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source, Split, VideoRecord
from lvc_jax.data.datasets.writing import digest
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError

INFO = FeatureInfo(backbone="svm_scores", dim=18, stride_s=1.0, window_s=1.0)
FOLDS = tuple(range(1, 6))
BACKGROUND = 0

# Label n is line n of the data set's alphabetical list of mid-level actions; 0 is the background.
ACTIONS = {
    "add_dressing": "the person adds the dressing.",
    "add_oil": "the person adds oil.",
    "add_pepper": "the person adds pepper.",
    "add_salt": "the person adds salt.",
    "add_vinegar": "the person adds vinegar.",
    "cut_cheese": "the person cuts the cheese.",
    "cut_cucumber": "the person cuts the cucumber.",
    "cut_lettuce": "the person cuts the lettuce.",
    "cut_tomato": "the person cuts the tomato.",
    "mix_dressing": "the person mixes the dressing.",
    "mix_ingredients": "the person mixes the ingredients.",
    "peel_cucumber": "the person peels the cucumber.",
    "place_cheese_into_bowl": "the person places the cheese into the bowl.",
    "place_cucumber_into_bowl": "the person places the cucumber into the bowl.",
    "place_lettuce_into_bowl": "the person places the lettuce into the bowl.",
    "place_tomato_into_bowl": "the person places the tomato into the bowl.",
    "serve_salad_onto_plate": "the person serves the salad onto the plate.",
}
SENTENCES: tuple[str | None, ...] = (None, *ACTIONS.values())
"""The caption of each label id; None for the background. The index is also the score's column."""


class FiftySalads(CaptionBuilder):
    """50Salads, mid-level actions, verbalised labels."""

    DESCRIPTION = "50Salads: classifier scores at 1 Hz and verbalised action labels."
    CAPTION_KIND = CAPTION_KINDS["fifty_salads"]


def label_events(labels: Int[np.ndarray, " T"]) -> tuple[Event, ...]:
    """One event for each run of equal labels; the background makes none. Label i covers [i, i+1) seconds."""
    edges = np.flatnonzero(np.diff(labels)) + 1
    bounds = np.concatenate([[0], edges, [len(labels)]])
    return tuple(
        Event(float(start), float(end), str(SENTENCES[labels[start]]))
        for start, end in itertools.pairwise(bounds)
        if labels[start] != BACKGROUND
    )


def source(folder: str | os.PathLike, dtype: str = "float32") -> Source:
    """Reads the five files of `folder`; `dtype` is the type of the features on disk.

    Raises:
        InputError: for a missing or damaged file, scores and labels of unequal length, or an unknown label.
    """
    paths = {n: Path(folder) / f"50salads_mid_SVM_Split_{n}.mat" for n in FOLDS}
    for path in paths.values():
        if not path.is_file():
            raise InputError(f"{path}: not found; --features must be the folder of the five 50Salads .mat files")
    splits = {}
    for n, path in paths.items():
        videos = _read_fold(path, n)
        splits[f"fold_{n}"] = Split(list(videos), videos.__getitem__)
    return Source(INFO, splits, {"files": {path.name: digest(path) for path in paths.values()}}, dtype)


def _read_fold(path: Path, fold: int) -> dict[str, VideoRecord]:
    try:
        content = scipy.io.loadmat(path)
    except Exception as error:  # scipy raises many kinds for a damaged file
        raise InputError(f"{path}: not a readable MATLAB file ({error}); copy it again") from error
    for name in ("S", "Y"):
        if name not in content:
            raise InputError(f"{path}: no variable {name!r}; expected the scores 'S' and the labels 'Y'")
    videos = {}
    for number, (scores, labels) in enumerate(zip(content["S"].ravel(), content["Y"].ravel()), start=1):
        video_id = f"fold_{fold}_video_{number:02d}"
        labels = np.asarray(labels).ravel()
        where = f"{path}: video {number}"
        if scores.ndim != 2 or scores.shape[1] != INFO.dim or len(scores) != len(labels):
            raise InputError(f"{where}: scores {scores.shape} and {len(labels)} labels; expected [T, 18] and T")
        if not len(labels) or labels.min() < 0 or labels.max() >= len(SENTENCES):
            raise InputError(f"{where}: a label outside 0..{len(SENTENCES) - 1}, or none")
        features = scores.astype(np.float32)
        videos[video_id] = VideoRecord(video_id, float(len(labels)), (label_events(labels),), features, INFO)
    return videos
