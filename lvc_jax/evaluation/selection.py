"""The videos that are evaluated, and their features as a live stream would deliver them."""

import itertools
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from lvc_jax.data.datasets import Span, VideoRecord
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.segments import segment_rows
from lvc_jax.errors import InputError
from lvc_jax.evaluation.baselines import borrowed_rows, other_video
from lvc_jax.evaluation.suite import SegmentFrames
from lvc_jax.streaming.offline import Clip, live_segments


class Videos(Protocol):
    """What is asked of a dataset."""

    info: FeatureInfo
    ids: tuple[str, ...]

    def __getitem__(self, i: int) -> VideoRecord: ...

    def spans(self, i: int) -> Span: ...


class Selection:
    """A seeded sample of a dataset's videos.

    Args:
        dataset: the split.
        max_videos: size of the sample; None takes all. The sample keeps the order of the dataset.
        seed: of the sample and of the shuffled features.

    Raises:
        InputError: an empty split or a sample of no video.
    """

    def __init__(self, dataset: Videos, max_videos: int | None = None, seed: int = 0):
        number = len(dataset.ids)
        if max_videos is not None and max_videos < 1:
            raise InputError(f"--max_videos={max_videos}: must be at least 1")
        if not number:
            raise InputError("the split has no video: prepare the dataset again, or choose another split")
        size = number if max_videos is None else min(max_videos, number)
        self.indices = np.sort(np.random.default_rng(seed).permutation(number)[:size])
        self.info = dataset.info
        self._dataset = dataset
        self._seed = seed

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def ids(self) -> list[str]:
        """The chosen videos' ids."""
        return [self._dataset.ids[i] for i in self.indices]

    def references(self) -> dict[str, dict[str, Any]]:
        """The metrics' form of the annotations; reads no features."""
        result = {}
        for i in self.indices:
            span = self._dataset.spans(i)
            sets = [[(event.start, event.end, event.sentence) for event in events] for events in span.references]
            result[self._dataset.ids[i]] = {"duration": span.duration, "references": sets}
        return result

    def clips(self, segment_frames: SegmentFrames, *, shuffled: bool = False) -> Iterator[Clip]:
        """The videos as prediction takes them, read one by one.

        Args:
            segment_frames: Δt in frames at 30 per second, or "video" for a single segment a video.
            shuffled: each video brings the feature rows of another one of the selection, shifted in time.
        """
        lenders = other_video(len(self), self._seed)
        for position, i in enumerate(self.indices):
            record = self._dataset[i]
            features = record.features
            if shuffled:
                lender = self._dataset[self.indices[lenders[position]]].features
                features = borrowed_rows(lender, len(features), position, self._seed)
            parts = (
                [features]
                if segment_frames == "video"
                else live_segments(features, self.info, record.duration, segment_frames)
            )
            yield Clip(record.id, parts, record.duration)

    def count_segments(self, segment_frames: SegmentFrames) -> tuple[int, int, int]:
        """The number of segments, how many of them bring no new feature row, and the most rows of one segment."""
        if segment_frames == "video":
            return len(self), 0, max(self._dataset.spans(i).n_rows for i in self.indices)
        total = held = most = 0
        for i in self.indices:
            span = self._dataset.spans(i)
            rows = segment_rows(self.info, span.n_rows, span.duration, segment_frames)
            total += len(rows)
            shown = [row for row in rows if len(row)]
            held += len(rows) - len(shown)
            held += sum(later[0] <= earlier[-1] for earlier, later in itertools.pairwise(shown))
            most = max(most, max(len(row) for row in rows))
        return total, held, most
