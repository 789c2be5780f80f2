"""The Live Score: caption quality over the time that has passed (Live Video Captioning paper, section 3.3)."""

from lvc_jax.metrics.live_score.curves import VARIANTS, curves
from lvc_jax.metrics.live_score.gamma import pair_scorer
from lvc_jax.metrics.live_score.reading import TOOLKIT_LABELS, Reading
from lvc_jax.metrics.live_score.score import VideoScore, score_videos, summary, toolkit_form

__all__ = [
    "TOOLKIT_LABELS",
    "VARIANTS",
    "Reading",
    "VideoScore",
    "curves",
    "pair_scorer",
    "score_videos",
    "summary",
    "toolkit_form",
]
