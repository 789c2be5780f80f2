"""What a checkpoint was trained on, in words, and what it never saw."""

from typing import Any, Literal

from lvc_jax.data.caption_kinds import CAPTION_KINDS


def caption_kind(dataset: str) -> str | None:
    """Where a known dataset's captions come from; None for one that is not known here. Opens no data."""
    return CAPTION_KINDS.get(dataset.partition("/")[0])


def trained_on(config: Any) -> str:
    """One line about a training config: dataset, kind of captions, every Δt, memory.

    Args:
        config: of a checkpoint; see `run_config.default_config`.
    """
    kind = caption_kind(config.dataset)
    captions = f" (captions: {kind})" if kind else ""
    return f"{config.dataset}{captions}, {_segments(config)}, memory M = {config.memory}"


def outside_training(config: Any, segment_frames: int | Literal["video"]) -> str | None:
    """A line that says so if a checkpoint was not trained on this Δt; None if it was.

    Args:
        config: of the checkpoint.
        segment_frames: Δt in frames at 30 per second, or "video" for whole videos as one segment.
    """
    if segment_frames == "video" if _whole_videos(config) else segment_frames in tuple(config.segment_frames):
        return None
    trained = _segments(config)
    return f"Δt = {segment_frames} is outside what the checkpoint was trained on ({trained}): expect worse captions."


def _whole_videos(config: Any) -> bool:
    return config.get("mode") == "video"


def _segments(config: Any) -> str:
    if _whole_videos(config):
        return "whole videos"
    frames = ", ".join(str(value) for value in config.segment_frames)
    return f"Δt = {frames} frames"
