"""CIDEr (not CIDEr-D, but with its clipping and its Gaussian on the length), in two readings.

Orders 1 to 4; an n-gram weighs its count times ln(items) - ln(items whose references have it); the similarity of a
candidate and a reference is sum(min(h, r) r) / (|h| |r|) exp(-d^2 / 72), d the difference in bigrams; mean over orders,
mean over references, times 10. The items are those of one call (the corpus).

`reference` is the toolkits' value: a corpus of one item, or one in which all items have the same n-grams, gives every
n-gram the weight 0, so that an exact copy scores 0; and a copy of 1 word scores 2.5, as three of its four orders are
empty. Where the toolkits stop because all references of a call are blank the value is 0. `standard`: a corpus in which
every n-gram would weigh 0 weighs all alike with 1, and orders that neither side has are left out of the mean, so that
an exact copy scores 10 at any length, except where all its n-grams are in every item of a corpus that has others.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from lvc_jax.metrics.text.ngrams import ORDER, Items, Tokens, items
from lvc_jax.metrics.text.reading import Reading

_SIGMA = 6.0


def score(
    hypotheses: Sequence[Tokens],
    references: Sequence[Sequence[Tokens]],
    group: Int[np.ndarray, " n"] | None = None,
    groups: int = 1,
    reading: Reading = "reference",
) -> Float[np.ndarray, " n"]:
    """CIDEr of n items.

    Args:
        hypotheses: n token sequences.
        references: for each item one or more reference token sequences.
        group: the corpus of each item, 0 <= group < groups; one corpus if None.
        groups: how many corpora there are.
        reading: "reference" or "standard" (see the module).

    Returns:
        scores [n], 0 to 10.
    """
    return similarity(items(hypotheses, references), group, groups, reading)


def similarity(
    coded: Items,
    group: Int[np.ndarray, " n"] | None = None,
    groups: int = 1,
    reading: Reading = "reference",
) -> Float[np.ndarray, " n"]:
    """`score` of coded items."""
    corpus = np.zeros(len(coded), np.int64) if group is None else np.asarray(group, np.int64)
    weights = [_Weights(coded, order, corpus, groups) for order in range(ORDER)]
    if reading == "standard":
        dull = ~np.any([weight.telling for weight in weights], axis=0)
        for weight in weights:
            weight.flatten(dull)
    cosines = sum(_cosine(coded, weight) for weight in weights)
    hyp, ref = coded.hypothesis[coded.owner], coded.reference
    orders: float | np.ndarray = ORDER
    if reading == "standard":
        orders = np.clip(np.maximum(coded.words[hyp], coded.words[ref]), 1, ORDER)
    bigrams = np.maximum(coded.words - 1, 0)
    pairs = cosines / orders * np.exp(-((bigrams[hyp] - bigrams[ref]) ** 2) / (2 * _SIGMA**2))
    number = np.bincount(coded.owner, minlength=len(coded))
    return 10 * np.bincount(coded.owner, weights=pairs, minlength=len(coded)) / number


class _Weights:
    """What the n-grams of one order weigh in every corpus.

    Attributes:
        order: the order, from 0.
        telling: whether an n-gram of a corpus's references does not weigh 0, [groups].
    """

    def __init__(self, coded: Items, order: int, corpus: Int[np.ndarray, " n"], groups: int):
        self.order, self._corpus, self._kinds = order, corpus, coded.tables[order].kinds
        rows, pair = coded.reference_rows(order)
        item, gram = coded.owner[pair], coded.tables[order].gram[rows]
        if coded.several:
            item, gram = np.divmod(np.unique(item * self._kinds + gram), self._kinds)
        self._unseen = np.log(np.maximum(np.bincount(corpus, minlength=groups), 1))
        if groups == 1:
            # One corpus: a table over all n-grams is quicker than a search.
            self._keys, frequency = None, np.bincount(gram, minlength=self._kinds)
            self._seen = self._unseen[0] - np.log(np.maximum(frequency, 1))
            self.telling = np.array([np.any((frequency > 0) & (self._seen > 0))])
        else:
            self._keys, frequency = np.unique(corpus[item] * self._kinds + gram, return_counts=True)
            owner = self._keys // self._kinds
            self._seen = self._unseen[owner] - np.log(frequency)
            self.telling = np.bincount(owner, weights=self._seen > 0, minlength=groups) > 0

    def flatten(self, dull: Bool[np.ndarray, " groups"]) -> None:
        """Lets all n-grams of the `dull` corpora weigh 1."""
        owner = 0 if self._keys is None else self._keys // self._kinds
        self._seen = np.where(dull[owner], 1.0, self._seen)
        self._unseen = np.where(dull, 1.0, self._unseen)

    def of(self, item: Int[np.ndarray, " k"], gram: Int[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
        """The weights of n-grams in the corpora of their items."""
        if self._keys is None:
            return self._seen[gram]
        if not len(self._keys):
            return self._unseen[self._corpus[item]]
        keys = self._corpus[item] * self._kinds + gram
        found = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[found] == keys, self._seen[found], self._unseen[self._corpus[item]])


def _cosine(coded: Items, weights: _Weights) -> Float[np.ndarray, " m"]:
    """The clipped cosine of every (candidate, reference) at one order; 0 where a side has no weight."""
    table, matches = coded.tables[weights.order], coded.matches[weights.order]
    hyp_rows, item = coded.hypothesis_rows(weights.order)
    hyp_weight = weights.of(item, table.gram[hyp_rows])
    hyp = np.bincount(item, weights=(table.times[hyp_rows] * hyp_weight) ** 2, minlength=len(coded))
    ref_rows, pair = coded.reference_rows(weights.order)
    ref_values = table.times[ref_rows] * weights.of(coded.owner[pair], table.gram[ref_rows])
    ref = np.bincount(pair, weights=ref_values**2, minlength=len(coded.owner))
    clipped = np.minimum(table.times[hyp_rows][matches.row], matches.times)
    products = clipped * matches.times * hyp_weight[matches.row] ** 2
    dot = np.bincount(matches.pair, weights=products, minlength=len(coded.owner))
    norm = np.sqrt(hyp)[coded.owner] * np.sqrt(ref)
    return np.divide(dot, norm, out=np.zeros(len(norm)), where=norm > 0)
