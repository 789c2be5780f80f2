"""The one number that picks the best checkpoint during training."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lvc_jax.metrics import live_score
from lvc_jax.metrics.live_score import Reading
from lvc_jax.metrics.slots import Predictions


def quick_score(
    predict: Callable[[Sequence[str]], Predictions], subset: Mapping[str, Mapping[str, Any]], segment_frames: int
) -> dict[str, float]:
    """Live Score (ROUGE-L, `paper` mode) of a model on a few videos.

    Args:
        predict: video ids to {id: [{"timestamp": [start, end] seconds, "sentence", "segment"}]}.
        subset: references {id: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}}.
        segment_frames: Δt in frames at 30 per second.

    Returns:
        {"live_score_rouge_l": fraction}.
    """
    videos = live_score.score_videos(subset, predict(list(subset)), Reading(segment_frames, scorers=("ROUGE-L",)))
    return {"live_score_rouge_l": live_score.summary(videos, ("ROUGE-L",))["LS/ROUGE-L"]}
