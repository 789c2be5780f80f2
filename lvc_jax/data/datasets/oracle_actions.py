"""Human action segments of ActivityNet-200 as features: what a perfect action recogniser would see, second by second.

Row i covers second [i, i+1) of the video and is a code of 201 channels: channel c is 1 where action class c (classes in
alphabetical order) is on at the middle of that second, the last channel is 1 where no action is. No caption text goes
in. Results with these features are reported as "ActivityNet, oracle action labels".

Input: action_segments_*.csv with the columns video-name (without "v_"), t-start, t-end (seconds), action-label and
temporal-region-label ("Action" or "No action").
"""

import csv
import math
import os
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Float

from lvc_jax.data.datasets.writing import digest
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError

BACKBONE = "oracle_action_labels"
_COLUMNS = ("video-name", "t-start", "t-end", "action-label", "temporal-region-label")

Segments = list[tuple[float, float, str]]


class OracleActions:
    """A feature store made of action segments.

    Args:
        folder: with action_segments_*.csv.
        durations: video id (with "v_") -> seconds, of the videos to serve.

    Attributes:
        info: 1 row a second, one channel for each class and one for "no action".
        classes: class names in channel order.
        digests: of the files read.
        dropped: segments of no length, by file.
    """

    def __init__(self, folder: str | os.PathLike, durations: Mapping[str, float]):
        paths = sorted(Path(folder).glob("action_segments_*.csv"))
        if not paths:
            raise InputError(f"{folder}: no action_segments_*.csv there; --features=oracle:FOLDER needs them")
        self._paths = paths
        self.dropped: Counter[str] = Counter()
        self.digests = {path.name: digest(path) for path in paths}
        self._segments: dict[str, Segments] = defaultdict(list)
        names = set()
        for path in paths:
            for video, start, end, label in _read(path):
                if end <= start:
                    self.dropped[path.name] += 1
                    continue
                known = self._segments[f"v_{video}"]
                if label:
                    names.add(label)
                    known.append((start, end, label))
        self.classes = tuple(sorted(names))
        self._channel = {name: channel for channel, name in enumerate(self.classes)}
        self._durations = durations
        self.info = FeatureInfo(BACKBONE, len(self.classes) + 1, 1.0, 1.0)

    def ids(self) -> list[str]:
        """All video ids, sorted."""
        return sorted(set(self._segments) & set(self._durations))

    def files(self) -> list[Path]:
        """The files that hold the action segments."""
        return list(self._paths)

    def __contains__(self, video_id: object) -> bool:
        return video_id in self._segments and video_id in self._durations

    def __len__(self) -> int:
        return len(self.ids())

    def __getitem__(self, video_id: str) -> Float[np.ndarray, "L C"]:
        """One row for each begun second of the video.

        Raises:
            InputError: if no segment list names the video.
        """
        if video_id not in self:
            raise InputError(f"no action segments of video {video_id}")
        duration = self._durations[video_id]
        rows = np.zeros((max(1, math.ceil(duration - 1e-6)), self.info.dim), np.float32)
        middles = np.arange(len(rows)) + 0.5
        for start, end, label in self._segments[video_id]:
            rows[(start <= middles) & (middles < end), self._channel[label]] = 1.0
        rows[~rows.any(axis=1), -1] = 1.0
        return rows


def _read(path: Path):
    """Yields (video, start, end, label or "" for no action)."""
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(f"{path}: no column {missing[0]!r}; expected {', '.join(_COLUMNS)}")
        for row in reader:
            try:
                start, end = float(row["t-start"]), float(row["t-end"])
            except (TypeError, ValueError):
                raise InputError(f"{path}: line {reader.line_num}: t-start and t-end must be seconds") from None
            if not (math.isfinite(start) and math.isfinite(end)):
                raise InputError(f"{path}: line {reader.line_num}: t-start and t-end must be finite seconds")
            label = row["action-label"] if row["temporal-region-label"] == "Action" else ""
            yield row["video-name"], start, end, label
