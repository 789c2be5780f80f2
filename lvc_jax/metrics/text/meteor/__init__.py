"""METEOR 1.5 for English captions, without a JVM. Needs the extra `[meteor]`; see `available`."""

from lvc_jax.metrics.text.meteor import sources
from lvc_jax.metrics.text.meteor.java import Comparison, verify_with_java
from lvc_jax.metrics.text.meteor.score import aggregate, sentence
from lvc_jax.metrics.text.meteor.scorer import statistics

__all__ = ["Comparison", "aggregate", "available", "require", "sentence", "statistics", "verify_with_java"]


def available() -> bool:
    """Whether the extra `[meteor]` is installed."""
    return sources.find() is not None


def require() -> None:
    """Raises InputError, naming the extra `[meteor]`, where METEOR cannot be computed."""
    sources.require()
