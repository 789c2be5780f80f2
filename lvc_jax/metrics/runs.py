"""Consecutive runs of integers without a loop: where runs of given lengths begin, and what is in them."""

import numpy as np
from jaxtyping import Int


def starts(lengths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n+1"]:
    """Where each of consecutive runs begins, and the total."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])


def spread(first: Int[np.ndarray, " n"], lengths: Int[np.ndarray, " n"]) -> Int[np.ndarray, " total"]:
    """The integers first[i], first[i] + 1, ... (lengths[i] of them) of every i, one run after the other."""
    begin = starts(lengths)
    return np.arange(begin[-1]) + np.repeat(first - begin[:-1], lengths)
