"""ROUGE-L: longest common subsequence, F with beta 1.2, in two readings.

`reference` is what the caption evaluation toolkits compute: precision and recall are maximal over an item's references,
each on its own, and a blank caption against a blank reference is 1. `standard` takes precision and recall of the same
reference and the best F, and a blank caption scores 0. The two agree on items with one reference that are not blank.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.metrics.runs import spread, starts
from lvc_jax.metrics.text.ngrams import Tokens, code, number
from lvc_jax.metrics.text.reading import Reading

_BETA = 1.2
# Pairs and numbers of one array pass, which stay in the cache and bound memory.
_ROWS = 1 << 12
_AREA = 1 << 20


def _padded(words: np.ndarray, first: np.ndarray, lengths: np.ndarray, filler: int) -> Int[np.ndarray, "n width"]:
    result = np.full((len(first), int(lengths.max(initial=0))), filler, np.int32)
    result[np.arange(result.shape[1]) < lengths[:, None]] = words[spread(first, lengths)]
    return result


def _longest_common(short: Int[np.ndarray, "n a"], long: Int[np.ndarray, "n b"]) -> Int[np.ndarray, " n"]:
    """Length of the longest common subsequence of each pair of rows; paddings differ and equal no word."""
    row = np.zeros((long.shape[1] + 1, len(short)), np.int32)
    short, long = np.ascontiguousarray(short.T), np.ascontiguousarray(long.T)
    for word in short:
        grown = row[:-1] + (long == word)
        np.maximum(grown, row[1:], out=row[1:])
        np.maximum.accumulate(row, axis=0, out=row)
    return row[-1]


def _batches(short: Int[np.ndarray, " n"], long: Int[np.ndarray, " n"]) -> Iterator[Int[np.ndarray, " k"]]:
    """Pairs of similar lengths together, as many as the area allows."""
    order, begin = np.lexsort((long, short)), 0
    while begin < len(order):
        rows = order[begin : begin + _ROWS]
        rows = rows[: max(1, _AREA // int(long[rows].max()))]
        begin += len(rows)
        yield rows


def _best(values: Float[np.ndarray, " m"], owner: Int[np.ndarray, " m"], size: int) -> Float[np.ndarray, " n"]:
    result = np.zeros(size)
    np.maximum.at(result, owner, values)
    return result


def _f(precision: Float[np.ndarray, " n"], recall: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    weight = _BETA**2
    divisor = recall + weight * precision
    return np.divide((1 + weight) * precision * recall, divisor, out=np.zeros(len(recall)), where=divisor > 0)


def score(
    hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]], reading: Reading = "reference"
) -> Float[np.ndarray, " n"]:
    """ROUGE-L of n items.

    Args:
        hypotheses: n token sequences.
        references: for each item one or more reference token sequences.
        reading: "reference" or "standard" (see the module).

    Returns:
        scores [n], fractions.
    """
    size = len(hypotheses)
    # A blank sentence counts as one empty word.
    flat = [tokens or ("",) for group in references for tokens in group]
    owner = np.repeat(np.arange(size), [len(group) for group in references])
    distinct, index = number([*(tokens or ("",) for tokens in hypotheses), *flat])
    words, lengths = code(distinct)
    first = starts(lengths)[:-1]
    hyp, ref = index[:size][owner], index[size:]
    # The length is symmetric, so that the loop runs over the shorter side.
    swap = lengths[hyp] > lengths[ref]
    short, long = np.where(swap, ref, hyp), np.where(swap, hyp, ref)
    common = np.zeros(len(flat), np.int64)
    for rows in _batches(lengths[short], lengths[long]):
        common[rows] = _longest_common(
            _padded(words, first[short[rows]], lengths[short[rows]], -1),
            _padded(words, first[long[rows]], lengths[long[rows]], -2),
        )
    precision, recall = common / lengths[hyp], common / lengths[ref]
    if reading == "reference":
        return _f(_best(precision, owner, size), _best(recall, owner, size))
    result = _best(_f(precision, recall), owner, size)
    result[[not tokens for tokens in hypotheses]] = 0.0
    return result
