"""METEOR's score of 23 statistics, of one sentence or summed over many."""

import numpy as np
from jaxtyping import Float, Int

# Task "rank", English.
_ALPHA, _BETA, _GAMMA, _DELTA = 0.85, 0.2, 0.6, 0.75
_STAGE_WEIGHTS = np.array([1.0, 0.6, 0.8, 0.6])

# Columns: hypothesis and reference length, function words of both; then for exact, stem, synonym, paraphrase: content
# words of hypothesis and reference, function words of both; chunks; matched words of hypothesis and reference.
COLUMNS = 23
HYP_LENGTH, REF_LENGTH, HYP_FUNCTION, REF_FUNCTION = range(4)
STAGES = 4
CHUNKS, HYP_MATCHED, REF_MATCHED = 20, 21, 22


def _weighted_share(
    content: Float[np.ndarray, "n 4"],
    function: Float[np.ndarray, "n 4"],
    length: Float[np.ndarray, " n"],
    functions: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " n"]:
    matched = (_STAGE_WEIGHTS * (_DELTA * content + (1 - _DELTA) * function)).sum(axis=1)
    return matched / (_DELTA * (length - functions) + (1 - _DELTA) * functions)


def _perfect(stats: Float[np.ndarray, "n 23"]) -> np.ndarray:
    return (
        (stats[:, HYP_MATCHED] == stats[:, HYP_LENGTH])
        & (stats[:, REF_MATCHED] == stats[:, REF_LENGTH])
        & (stats[:, CHUNKS] == 1)
    )


def sentence(stats: Float[np.ndarray, "n 23"]) -> Float[np.ndarray, " n"]:
    """METEOR of each row of statistics.

    Args:
        stats: statistics of n sentences, in the order of the columns above.

    Returns:
        scores [n], fractions; 0 where nothing matches.
    """
    stats = np.asarray(stats, np.float64).reshape(-1, COLUMNS)
    stages = stats[:, STAGES:CHUNKS].reshape(-1, STAGES, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = _weighted_share(stages[:, :, 0], stages[:, :, 2], stats[:, HYP_LENGTH], stats[:, HYP_FUNCTION])
        recall = _weighted_share(stages[:, :, 1], stages[:, :, 3], stats[:, REF_LENGTH], stats[:, REF_FUNCTION])
        mean = 1.0 / ((1.0 - _ALPHA) / precision + _ALPHA / recall)
        fragmentation = stats[:, CHUNKS] / ((stats[:, HYP_MATCHED] + stats[:, REF_MATCHED]) / 2)
        score = mean * (1.0 - _GAMMA * np.where(_perfect(stats), 0.0, fragmentation) ** _BETA)
    return np.where(np.isnan(score), 0.0, score)


def aggregate(stats: Float[np.ndarray, "n 23"], group: Int[np.ndarray, " n"], groups: int) -> Float[np.ndarray, " g"]:
    """METEOR of the summed statistics of each group, as the caption toolkits report it.

    Args:
        stats: statistics of n sentences.
        group: the group of each sentence, 0 <= group < groups.
        groups: how many groups there are.

    Returns:
        scores [groups], fractions; 0 for an empty group.
    """
    stats = np.array(stats, np.float64).reshape(-1, COLUMNS)
    # A sentence matched whole and in order counts as unbroken.
    stats[_perfect(stats), CHUNKS] = 0.0
    total = np.zeros((groups, COLUMNS))
    np.add.at(total, np.asarray(group, np.int64), stats)
    return sentence(total)
