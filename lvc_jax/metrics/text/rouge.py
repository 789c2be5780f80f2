"""ROUGE-L as the caption evaluation toolkits compute it: longest common subsequence, F with beta 1.2."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.metrics.text.ngrams import word_ids

_BETA = 1.2
# Rows of one array pass; bounds memory at about _CHUNK x longest sentence numbers.
_CHUNK = 1 << 14


def _longest_common(hyp: Int[np.ndarray, "n a"], ref: Int[np.ndarray, "n b"]) -> Int[np.ndarray, " n"]:
    """Length of the longest common subsequence of each pair of rows; -1 and -2 are the paddings."""
    row = np.zeros((len(hyp), ref.shape[1] + 1), np.int32)
    for column in range(hyp.shape[1]):
        match = hyp[:, column, None] == ref
        row[:, 1:] = np.maximum(row[:, 1:], row[:, :-1] + match)
        np.maximum.accumulate(row, axis=1, out=row)
    return row[:, -1]


def score(
    hypotheses: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
) -> Float[np.ndarray, " n"]:
    """ROUGE-L of n items.

    Args:
        hypotheses: n token sequences.
        references: for each item one or more reference token sequences; precision and recall are maximal over them,
            each on its own.

    Returns:
        scores [n], fractions. A blank caption against a blank reference is 1, as in the toolkits.
    """
    number = len(hypotheses)
    # A blank sentence counts as one empty word.
    flat = [tokens or ("",) for group in references for tokens in group]
    owner = np.repeat(np.arange(number), [len(group) for group in references])
    ids, lengths = word_ids([*(tokens or ("",) for tokens in hypotheses), *flat])
    precision, recall = np.zeros(number), np.zeros(number)
    by_length = np.argsort(lengths[owner] + lengths[number:], kind="stable")
    for start in range(0, len(flat), _CHUNK):
        rows = by_length[start : start + _CHUNK]
        items = owner[rows]
        hyp_width, ref_width = lengths[items].max(), lengths[number + rows].max()
        ref = ids[number + rows, :ref_width]
        common = _longest_common(ids[items, :hyp_width], np.where(ref < 0, -2, ref))
        np.maximum.at(precision, items, common / lengths[items])
        np.maximum.at(recall, items, common / lengths[number + rows])
    weight = _BETA**2
    divisor = recall + weight * precision
    return np.divide((1 + weight) * precision * recall, divisor, out=np.zeros(number), where=divisor > 0)
