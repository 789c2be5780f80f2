"""1-D multi-scale deformable attention: every query samples a few points of every level and averages them."""

from .api import IMPLEMENTATIONS, Problem, deformable_attention, sample_values, why_refused
from .shapes import SHAPES, Shape

__all__ = ["IMPLEMENTATIONS", "SHAPES", "Problem", "Shape", "deformable_attention", "sample_values", "why_refused"]
