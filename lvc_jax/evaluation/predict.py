"""A checkpoint's captions for a selection of videos: the live step, run over recorded features."""

from collections.abc import Callable
from typing import Any, Protocol

from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.vocabulary import Vocabulary
from lvc_jax.errors import InputError
from lvc_jax.evaluation.baselines import Items
from lvc_jax.evaluation.selection import Selection
from lvc_jax.evaluation.suite import SegmentFrames
from lvc_jax.models.config import ModelConfig
from lvc_jax.streaming import offline
from lvc_jax.streaming.state import StreamConfig, rows_per_segment


class Model(Protocol):
    """What is needed of a loaded checkpoint, or of a model that is still training."""

    @property
    def config(self) -> Any: ...

    @property
    def model_config(self) -> ModelConfig: ...

    @property
    def params(self) -> Any: ...

    @property
    def vocabulary(self) -> Vocabulary: ...


def check_features(wanted: FeatureInfo, given: FeatureInfo, where: str) -> None:
    """Refuses features that the checkpoint was not trained on.

    Raises:
        InputError: another dimension, backbone or clock.
    """
    for name in ("backbone", "dim", "stride_s", "window_s"):
        expected, found = getattr(wanted, name), getattr(given, name)
        if expected != found:
            raise InputError(
                f"{where}: features have {name} {found!r} but the checkpoint was trained on {expected!r}: "
                "choose the dataset with those features, or another checkpoint"
            )


def stream_config(model: Model, selection: Selection, segment_frames: SegmentFrames, **overrides: Any) -> StreamConfig:
    """The stream's constants for one Δt: the checkpoint's own settings, then `overrides` that are not None.

    Whole videos are one segment without memory, and all of the counter's captions are kept (`rerank`).
    """
    settings = dict(model.config.get("streaming", {}))
    settings.pop("max_rows", None)
    stride_s = selection.info.stride_s
    _, _, most = selection.count_segments(segment_frames)
    if segment_frames == "video":
        overrides = {**overrides, "memory": 1, "consolidation": "rerank"}
        frames, rows = settings.get("segment_frames", 1), most
    else:
        frames, rows = segment_frames, max(most, rows_per_segment(segment_frames, stride_s))
    return StreamConfig.from_settings(
        model.model_config, settings, stride_s, segment_frames=frames, max_rows=rows, **overrides
    )


def caption(
    model: Model,
    selection: Selection,
    segment_frames: SegmentFrames,
    config: StreamConfig,
    *,
    shuffled: bool = False,
    batch: int = 8,
    progress: Callable[[int], None] | None = None,
    counts: dict[str, list[int]] | None = None,
) -> Items:
    """Captions every video of the selection.

    Args:
        model: a loaded checkpoint.
        selection: the videos.
        segment_frames: Δt in frames at 30 per second, or "video".
        config: see `stream_config`.
        shuffled: give each video the features of another one (a baseline).
        batch: streams at once.
        progress: called with the number of segments that were captioned since the last call.
        counts: filled with the counter's figure of every segment, see `offline.predict`.

    Returns:
        {video: prediction items}.
    """
    results = offline.predict(
        model.params,
        config,
        selection.clips(segment_frames, shuffled=shuffled),
        batch=batch,
        whole_video=segment_frames == "video",
        decode=model.vocabulary.decode,
        progress=progress,
        counts=counts,
    )
    return {video: [dict(item) for item in items] for video, items in results.items()}
