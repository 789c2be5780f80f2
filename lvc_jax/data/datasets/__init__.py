"""Datasets: prepared once into array_record files, read by index."""

from lvc_jax.data.datasets.reading import Dataset, Span, open_dataset
from lvc_jax.data.datasets.records import VideoRecord

__all__ = ["Dataset", "Span", "VideoRecord", "open_dataset"]
