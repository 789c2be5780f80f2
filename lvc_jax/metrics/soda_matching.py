"""Order-preserving one-to-one matchings of the rows and columns of a table of gains."""

import numpy as np
from jaxtyping import Float


def best_sums(gain: Float[np.ndarray, "g p"]) -> Float[np.ndarray, "g+1 p+1"]:
    """The largest sum of gains of an order-preserving one-to-one matching of the first i rows and j columns."""
    sums = np.zeros((gain.shape[0] + 1, gain.shape[1] + 1))
    for row, values in enumerate(gain):
        np.maximum(sums[row, 1:], sums[row, :-1] + values, out=sums[row + 1, 1:])
        np.maximum.accumulate(sums[row + 1], out=sums[row + 1])
    return sums


def best_pairs(gain: Float[np.ndarray, "g p"]) -> list[tuple[int, int]]:
    """The pairs of a best matching that all gain; among equal ones the one that ends earliest."""
    sums = best_sums(gain)
    row, column = gain.shape
    pairs = []
    while row and column:
        if sums[row, column] == sums[row - 1, column]:
            row -= 1
        elif sums[row, column] == sums[row, column - 1]:
            column -= 1
        else:
            row, column = row - 1, column - 1
            pairs.append((row, column))
    return pairs[::-1]


def original_pairs(gain: Float[np.ndarray, "g p"]) -> list[tuple[int, int]]:
    """The pairs that the original reads from the table of best sums, as far as its numbers tell.

    From the last row up, each row gives its last cell, left of those already taken, whose best sum exceeds both the one
    above and the one to the left; the first cell of the table always counts as such. The pairs keep the order, but they
    are not always a best matching, and the first one may gain nothing.
    """
    sums = best_sums(gain)
    steps = (sums[1:, 1:] > sums[:-1, 1:]) & (sums[1:, 1:] > sums[1:, :-1])
    steps[:1, :1] = True
    pairs, end = [], gain.shape[1]
    for row in range(gain.shape[0] - 1, -1, -1):
        columns = np.flatnonzero(steps[row, :end])
        if len(columns):
            end = int(columns[-1])
            pairs.append((row, end))
    return pairs[::-1]
