"""A small prepared dataset for tests: a dozen videos, some silent, some crowded, rows that name themselves."""

import hashlib

import numpy as np

from lvc_jax.data.annotations import Event
from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source, Split, VideoRecord
from lvc_jax.data.feature_store import FeatureInfo

INFO = FeatureInfo("numbers", 3, 0.4, 0.4)
WORDS = ["red", "blue", "green", "circle", "square", "star", "enters", "leaves", "spins", "grows", "blinks", "moves"]


class TinyCaptions(CaptionBuilder):
    """Videos made of numbers."""

    DESCRIPTION = "Numbers."
    CAPTION_KIND = "synthetic"


def make_record(name: str, info: FeatureInfo = INFO) -> VideoRecord:
    """A video whose content depends on its name alone; feature row i is [i, number of rows, noise]."""
    rng = np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]))
    duration = float(np.round(rng.uniform(3, 25), 2))
    events = []
    for _ in range(int(rng.integers(0, 6))):
        start, end = sorted(np.round(rng.uniform(0, duration, 2), 1).tolist())
        events.append(Event(start, min(end + 0.2, duration), " ".join(rng.choice(WORDS, 4))))
    n_rows = max(1, round(duration / info.stride_s))
    features = rng.standard_normal((n_rows, info.dim)).astype(np.float32)
    features[:, 0], features[:, 1] = np.arange(n_rows), n_rows
    return VideoRecord(name, duration, (tuple(events), tuple(events[:1])), features, info, None)


def make_split(name: str, count: int) -> Split:
    """`count` videos named after the split."""
    return Split([f"{name}_{i:02d}" for i in range(count)], make_record)


def make_source(dtype: str = "float32", **counts: int) -> Source:
    """Splits by size."""
    splits = {name: make_split(name, count) for name, count in (counts or {"train": 12, "val": 3}).items()}
    return Source(INFO, splits, {"counts": counts}, dtype)
