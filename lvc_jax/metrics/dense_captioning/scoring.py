"""What the dense captioning metrics ask of a text scorer, and the one they use by default."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

import numpy as np
from jaxtyping import Float, Int

SCORERS = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr")
Reading = Literal["reference", "standard"]


class TextScorer(Protocol):
    """Scores pairs of a raw caption and its raw references (`text.scorers.PairScorer`, or a stand-in)."""

    def sentence(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> Mapping[str, Float[np.ndarray, " n"]]:
        """The value of each pair, by scorer."""
        ...

    def calls(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str]],
        group: Int[np.ndarray, " n"],
        groups: int,
    ) -> Mapping[str, Float[np.ndarray, " groups"]]:
        """The value of one call of the original tool on the pairs of each group, by scorer."""
        ...


def default_scorer(scorers: Sequence[str], reading: Reading = "reference") -> TextScorer:
    """The package's own text scorer."""
    from lvc_jax.metrics.text.scorers import PairScorer

    return PairScorer(scorers, reading=reading)
