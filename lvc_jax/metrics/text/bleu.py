"""BLEU-1..4 without smoothing, closest reference length, in two readings.

`reference` has the guards of the caption evaluation toolkits: every precision is (correct + 1e-15) / (possible + 1e-9),
so an identical caption of 3 words has a BLEU-4 of 0.03 and one of 1 word a BLEU-4 of 3e-5. `standard` has no guards:
orders for which the candidate is too short are left out of the mean (an identical caption scores 1 at any length), and
a score with a precision of 0, or of an empty candidate, is exactly 0. Where a candidate has at least 4 words and a
4-gram in common with its reference the two agree to about 1e-9.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.metrics.text.ngrams import ORDER, Items, Tokens, items
from lvc_jax.metrics.text.reading import Reading

_SMALL = 1e-9
_TINY = 1e-15


class Statistics(NamedTuple):
    """Counts that add up: the corpus value is the score of the summed statistics."""

    correct: Float[np.ndarray, "n 4"]
    guess: Float[np.ndarray, "n 4"]
    hypothesis_length: Float[np.ndarray, " n"]
    reference_length: Float[np.ndarray, " n"]


def statistics(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Statistics:
    """Counts clipped n-gram matches of n items at once.

    Args:
        hypotheses: n token sequences.
        references: for each item one or more reference token sequences.

    Returns:
        Statistics of the n items; counts are clipped by the largest count over an item's references.
    """
    return count(items(hypotheses, references))


def count(coded: Items) -> Statistics:
    """`statistics` of coded items."""
    correct = np.zeros((len(coded), ORDER))
    for order, (table, matches) in enumerate(zip(coded.tables, coded.matches, strict=True)):
        rows, item = coded.hypothesis_rows(order)
        largest = np.zeros(len(rows), np.int64)
        if coded.several:
            np.maximum.at(largest, matches.row, matches.times)
        else:
            largest[matches.row] = matches.times
        clipped = np.minimum(table.times[rows], largest)
        correct[:, order] = np.bincount(item, weights=clipped, minlength=len(coded))
    lengths = coded.words[coded.hypothesis]
    guess = np.maximum(0, lengths[:, None] - np.arange(ORDER)).astype(np.float64)
    return Statistics(correct, guess, lengths.astype(np.float64), _closest(coded))


def _closest(coded: Items) -> Float[np.ndarray, " n"]:
    lengths = coded.words[coded.reference].astype(np.float64)
    if not coded.several:
        return lengths
    distance = np.abs(lengths - coded.words[coded.hypothesis][coded.owner])
    order = np.lexsort((lengths, distance, coded.owner))
    first = np.unique(coded.owner[order], return_index=True)[1]
    return lengths[order][first]


def score(stats: Statistics, reading: Reading = "reference") -> Float[np.ndarray, "n 4"]:
    """BLEU-1..4 of each row of the statistics.

    Args:
        stats: statistics of n sentences, or n sums of statistics.
        reading: "reference" or "standard" (see the module).

    Returns:
        scores [n, 4], fractions.
    """
    return _guarded(stats) if reading == "reference" else _plain(stats)


def _guarded(stats: Statistics) -> Float[np.ndarray, "n 4"]:
    precision = (stats.correct + _TINY) / (stats.guess + _SMALL)
    mean = np.cumprod(precision, axis=1) ** (1.0 / np.arange(1, ORDER + 1))
    ratio = (stats.hypothesis_length + _TINY) / (stats.reference_length + _SMALL)
    with np.errstate(over="ignore"):
        brevity = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1.0)
    return mean * brevity[:, None]


def _plain(stats: Statistics) -> Float[np.ndarray, "n 4"]:
    possible = stats.guess > 0
    precision = np.divide(stats.correct, stats.guess, out=np.ones_like(stats.guess), where=possible)
    orders = np.maximum(np.cumsum(possible, axis=1), 1)
    mean = np.cumprod(precision, axis=1) ** (1.0 / orders)
    length = stats.hypothesis_length
    missing = np.maximum(stats.reference_length - length, 0)
    brevity = np.exp(-np.divide(missing, length, out=np.zeros_like(length), where=length > 0))
    return np.where(possible[:, :1], mean * brevity[:, None], 0.0)


def total(stats: Statistics, group: Int[np.ndarray, " n"] | None = None, groups: int = 1) -> Statistics:
    """Sums statistics over groups of items, for corpus values.

    Args:
        stats: statistics of n items.
        group: the group of each item, 0 <= group < groups; all in one group if None.
        groups: how many groups there are.

    Returns:
        Statistics of `groups` rows.
    """
    index = np.zeros(len(stats.guess), np.int64) if group is None else group

    def _sum(values: np.ndarray) -> np.ndarray:
        result = np.zeros((groups, *values.shape[1:]))
        np.add.at(result, index, values)
        return result

    return Statistics(*(_sum(values) for values in stats))
