"""Word and n-gram ids for a whole batch of sentences, so that counting is array work."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int


def word_ids(sentences: Sequence[Sequence[str]]) -> tuple[Int[np.ndarray, "n width"], Int[np.ndarray, " n"]]:
    """Codes words as integers from 0, padded with -1.

    Args:
        sentences: n token sequences.

    Returns:
        ids [n, width] and lengths [n]; equal words have equal ids across the batch.
    """
    # Sentences recur (one caption meets several references), so each distinct one is coded once.
    rows: dict[Sequence[str], int] = {}
    index = [rows.setdefault(tuple(sentence), len(rows)) for sentence in sentences]
    lengths = np.fromiter((len(sentence) for sentence in rows), np.int64, len(rows))
    table: dict[str, int] = {}
    flat = [table.setdefault(word, len(table)) for sentence in rows for word in sentence]
    ids = np.full((len(rows), int(lengths.max(initial=1))), -1, np.int64)
    ids[np.arange(ids.shape[1])[None] < lengths[:, None]] = flat
    return ids[index], lengths[index]


def ngram_ids(ids: Int[np.ndarray, "n width"], order: int) -> list[Int[np.ndarray, "n width"]]:
    """Codes the n-grams of every order up to `order`; entry [i, j] of order k is the k-gram that begins at word j.

    Args:
        ids: word ids padded with -1.
        order: the longest n-gram.

    Returns:
        `order` arrays of ids, -1 where no n-gram of that order begins.
    """
    result = [ids]
    for k in range(1, order):
        following = np.full_like(ids, -1)
        if k < ids.shape[1]:
            following[:, :-k] = ids[:, k:]
        previous = result[-1]
        both = (previous >= 0) & (following >= 0)
        keys = previous[both] * (ids.max(initial=0) + 1) + following[both]
        codes = np.full_like(ids, -1)
        codes[both] = np.unique(keys, return_inverse=True)[1]
        result.append(codes)
    return result
