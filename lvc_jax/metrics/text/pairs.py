"""Scores of (caption, reference) pairs: every distinct pair is tokenised and scored once."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.metrics.text import bleu, rouge
from lvc_jax.metrics.text.tokenizer import tokenize

SCORERS = ("bleu_1", "bleu_2", "bleu_3", "bleu_4", "rouge_l")


class PairScores:
    """Sentence scores of pairs and what their aggregates need.

    Args:
        pairs: (caption, reference) raw sentences, in any order, with repetitions.
    """

    def __init__(self, pairs: Sequence[tuple[str, str]]):
        table: dict[tuple[str, str], int] = {}
        self._index = np.fromiter((table.setdefault(pair, len(table)) for pair in pairs), np.int64, len(pairs))
        hypotheses = [tokenize(caption) for caption, _ in table]
        references = [[tokenize(reference)] for _, reference in table]
        self._stats = bleu.statistics(hypotheses, references)
        self._rouge = rouge.score(hypotheses, references)
        self._scores = np.concatenate([bleu.score(self._stats), self._rouge[:, None]], axis=1)

    @property
    def scores(self) -> Float[np.ndarray, "p 5"]:
        """The scores of each pair in the order of `SCORERS`, fractions."""
        return self._scores[self._index]

    def mean(self, group: Int[np.ndarray, " p"], groups: int) -> Float[np.ndarray, "g 5"]:
        """The mean over the pairs of each group; 0 for a group without pairs.

        Args:
            group: the group of each pair.
            groups: how many groups there are.
        """
        sums = np.zeros((groups, len(SCORERS)))
        np.add.at(sums, group, self.scores)
        return sums / np.maximum(np.bincount(group, minlength=groups), 1)[:, None]

    def aggregate(self, group: Int[np.ndarray, " p"], groups: int) -> Float[np.ndarray, "g 5"]:
        """The toolkits' value of a list of pairs: BLEU of the summed statistics, mean ROUGE-L; 0 without pairs.

        Args:
            group: the group of each pair.
            groups: how many groups there are.
        """
        result = self.mean(group, groups)
        stats = bleu.Statistics(*(values[self._index] for values in self._stats))
        present = np.bincount(group, minlength=groups) > 0
        result[:, : bleu.ORDER] = np.where(present[:, None], bleu.score(bleu.total(stats, group, groups)), 0.0)
        return result
