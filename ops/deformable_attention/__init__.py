"""1-D multi-scale deformable attention: every query samples a few points of every level and averages them."""

from .api import deformable_attention, sample_values, why_refused

__all__ = ["deformable_attention", "sample_values", "why_refused"]
