"""BLEU-1..4 with the guards of the caption evaluation toolkits (no smoothing, closest reference length)."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.metrics.text.ngrams import ngram_ids, word_ids

ORDER = 4
# The toolkits' guards: they decide the value of captions shorter than the order (an identical 3-word caption has a
# BLEU-4 of 0.03), so they are part of the definition.
_SMALL = 1e-9
_TINY = 1e-15


class Statistics(NamedTuple):
    """Counts that add up: the corpus value is the score of the summed statistics."""

    correct: Float[np.ndarray, "n 4"]
    guess: Float[np.ndarray, "n 4"]
    hypothesis_length: Float[np.ndarray, " n"]
    reference_length: Float[np.ndarray, " n"]


@functools.lru_cache(maxsize=1 << 16)
def _split(tokens: tuple[str, ...]) -> tuple[str, ...]:
    # Numbers such as `1 1/2` are one token with a no-break space inside, which BLEU splits and ROUGE does not.
    return tuple(part for token in tokens for part in token.split("\u00a0"))


def _counts(
    owner: Int[np.ndarray, " m"], codes: Int[np.ndarray, "m width"], base: int
) -> tuple[Int[np.ndarray, " u"], Int[np.ndarray, " u"]]:
    keys = (owner[:, None] * base + codes)[codes >= 0]
    return np.unique(keys, return_counts=True)


def statistics(hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]) -> Statistics:
    """Counts clipped n-gram matches of n items at once.

    Args:
        hypotheses: n token sequences.
        references: for each item one or more reference token sequences.

    Returns:
        Statistics of the n items; counts are clipped by the largest count over an item's references.
    """
    hypotheses = [_split(tuple(tokens)) for tokens in hypotheses]
    number = len(hypotheses)
    flat = [_split(tuple(tokens)) for group in references for tokens in group]
    owner = np.repeat(np.arange(number), [len(group) for group in references])
    ids, lengths = word_ids([*hypotheses, *flat])
    hyp_lengths, ref_lengths = lengths[:number], lengths[number:]
    correct = np.zeros((number, ORDER))
    for order, codes in enumerate(ngram_ids(ids, ORDER)):
        base = int(codes.max(initial=0)) + 1
        hyp_keys, hyp_counts = _counts(np.arange(number), codes[:number], base)
        ref_keys, ref_counts = _counts(np.arange(len(flat)), codes[number:], base)
        item_keys = owner[ref_keys // base] * base + ref_keys % base
        keys, inverse = np.unique(item_keys, return_inverse=True)
        largest = np.zeros(len(keys), np.int64)
        np.maximum.at(largest, inverse, ref_counts)
        shared, at_hyp, at_ref = np.intersect1d(hyp_keys, keys, assume_unique=True, return_indices=True)
        clipped = np.minimum(hyp_counts[at_hyp], largest[at_ref])
        correct[:, order] = np.bincount(shared // base, weights=clipped, minlength=number)
    guess = np.maximum(0, hyp_lengths[:, None] - np.arange(ORDER)).astype(np.float64)
    return Statistics(correct, guess, hyp_lengths.astype(np.float64), _closest(hyp_lengths, ref_lengths, owner))


def _closest(
    hyp_lengths: Int[np.ndarray, " n"], ref_lengths: Int[np.ndarray, " m"], owner: Int[np.ndarray, " m"]
) -> Float[np.ndarray, " n"]:
    distance = np.abs(ref_lengths - hyp_lengths[owner])
    order = np.lexsort((ref_lengths, distance, owner))
    first = np.unique(owner[order], return_index=True)[1]
    result = np.zeros(len(hyp_lengths))
    result[owner[order][first]] = ref_lengths[order][first]
    return result


def score(stats: Statistics) -> Float[np.ndarray, "n 4"]:
    """BLEU-1..4 of each row of the statistics.

    Args:
        stats: statistics of n sentences, or n sums of statistics.

    Returns:
        scores [n, 4], fractions.
    """
    precision = (stats.correct + _TINY) / (stats.guess + _SMALL)
    mean = np.cumprod(precision, axis=1) ** (1.0 / np.arange(1, ORDER + 1))
    ratio = (stats.hypothesis_length + _TINY) / (stats.reference_length + _SMALL)
    with np.errstate(over="ignore"):
        brevity = np.where(ratio < 1, np.exp(1 - 1 / ratio), 1.0)
    return mean * brevity[:, None]


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
