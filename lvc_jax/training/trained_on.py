"""What a checkpoint was trained on, in words, and what it never saw."""

from typing import Any, Literal

from lvc_jax.data.datasets.registry import BUILDERS


def caption_kind(dataset: str) -> str | None:
    """Where a known dataset's captions come from; None for one that is not known here. Opens no data."""
    known = BUILDERS.get(dataset.partition("/")[0])
    return None if known is None else known[0].CAPTION_KIND


def trained_on(config: Any) -> str:
    """One line about a training config: dataset, kind of captions, every Δt, memory.

    Args:
        config: of a checkpoint; see `run_config.default_config`.
    """
    kind = caption_kind(config.dataset)
    captions = f" (captions: {kind})" if kind else ""
    return f"{config.dataset}{captions}, {_segments(config)}, memory M = {config.get('memory', 1)}"


def outside_training(config: Any, segment_frames: int | Literal["video"]) -> str | None:
    """A line that says so if a checkpoint was not trained on this Δt; None if it was, or if its config is silent.

    Args:
        config: of the checkpoint.
        segment_frames: Δt in frames at 30 per second, or "video" for whole videos as one segment.
    """
    whole = config.get("mode", "segment") == "video"
    frames = config.get("segment_frames")
    if frames is None or (segment_frames == "video" if whole else segment_frames in tuple(frames)):
        return None
    trained = _segments(config)
    return f"Δt = {segment_frames} is outside what the checkpoint was trained on ({trained}): expect worse captions."


def _segments(config: Any) -> str:
    if config.get("mode", "segment") == "video":
        return "whole videos"
    frames = ", ".join(str(value) for value in config.segment_frames)
    return f"Δt = {frames} frames"
