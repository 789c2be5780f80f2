"""Words and n-grams of a whole batch of sentences as integers, so that counting and matching is array work."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Int

from lvc_jax.metrics.runs import spread, starts

ORDER = 4

Tokens = Sequence[str]
Index = Int[np.ndarray, " n"]
"""One integer an item: ids of words or n-grams, places of sentences, or counts; every use has its own n."""


def number(sentences: Sequence[Tokens]) -> tuple[list[Tokens], Index]:
    """Distinct sentences in order of appearance, and the place of every sentence among them.

    Args:
        sentences: n token sequences.

    Returns:
        The d distinct sentences and an index [n] into them.
    """
    rows: dict[Tokens, int] = {}
    index = [rows.setdefault(tuple(sentence), len(rows)) for sentence in sentences]
    return list(rows), np.array(index, np.int64)


def code(sentences: Sequence[Tokens]) -> tuple[Index, Index]:
    """Codes words as integers from 0.

    Args:
        sentences: n token sequences.

    Returns:
        The ids of all words of all sentences, one sentence after the other, and lengths [n]; equal words have equal
        ids.
    """
    table: dict[str, int] = {}
    flat = [table.setdefault(word, len(table)) for sentence in sentences for word in sentence]
    lengths = np.fromiter((len(sentence) for sentence in sentences), np.int64, len(sentences))
    return np.array(flat, np.int64), lengths


class Table(NamedTuple):
    """How often each sentence has each n-gram of one order; rows are sorted by sentence, then n-gram.

    `gram` codes run from 0 to kinds - 1; the rows of sentence s are start[s]:start[s + 1]; `keys` = sentence * kinds +
    gram, ascending.
    """

    keys: Index
    gram: Index
    times: Index
    start: Index
    kinds: int


def tables(words: Index, lengths: Index) -> list[Table]:
    """Counts the n-grams of all orders up to `ORDER`.

    Args:
        words: ids from `code`.
        lengths: words of each of n sentences.

    Returns:
        One table for each order from 1.
    """
    vocabulary = int(words.max(initial=-1)) + 1
    sentence = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(starts(lengths)[1:], lengths) - np.arange(len(words))
    place, codes, result = np.arange(len(words)), words, []
    for k in range(1, ORDER + 1):
        if k > 1:
            inside = left[place] >= k
            place, codes = place[inside], codes[inside]
            codes = np.unique(codes * vocabulary + words[place + k - 1], return_inverse=True)[1]
        kinds = int(codes.max(initial=0)) + 1
        keys = np.sort(sentence[place] * kinds + codes)
        first = np.flatnonzero(np.concatenate([np.ones(min(len(keys), 1), bool), keys[1:] != keys[:-1]]))
        distinct = keys[first]
        start = np.searchsorted(distinct, np.arange(len(lengths) + 1) * kinds)
        result.append(Table(distinct, distinct % kinds, np.diff(first, append=len(keys)), start, kinds))
    return result


class Matches(NamedTuple):
    """N-grams that a hypothesis shares with one of its references, one row each.

    `pair`: the reference's place among all references; `row`: the n-gram's row in the expanded hypotheses (see
    `Items.hypothesis_rows`); `times`: how often the reference has it.
    """

    pair: Index
    row: Index
    times: Index


@dataclasses.dataclass(frozen=True)
class Items:
    """n hypotheses with one or more references each, coded.

    Attributes:
        words: words of each distinct sentence.
        tables: n-gram counts of the distinct sentences, one table for each order.
        hypothesis: the sentence of each item, [n].
        reference: the sentence of each reference of each item, items in order, [m].
        owner: the item of each reference, [m], ascending.
    """

    words: Index
    tables: list[Table]
    hypothesis: Index
    reference: Index
    owner: Index

    def __len__(self) -> int:
        return len(self.hypothesis)

    def take(self, chosen: Index) -> "Items":
        """Some of the items, their places ascending."""
        if len(chosen) == len(self):
            return self
        place = np.full(len(self), -1)
        place[chosen] = np.arange(len(chosen))
        owner = place[self.owner]
        return dataclasses.replace(
            self, hypothesis=self.hypothesis[chosen], reference=self.reference[owner >= 0], owner=owner[owner >= 0]
        )

    @functools.cached_property
    def several(self) -> bool:
        """Whether an item has more than one reference."""
        return len(self.owner) > len(self.hypothesis)

    def hypothesis_rows(self, order: int) -> tuple[Index, Index]:
        """The n-grams of all hypotheses, one item after the other: table row and item of each."""
        return _rows(self.tables[order], self.hypothesis)

    def reference_rows(self, order: int) -> tuple[Index, Index]:
        """The n-grams of all references, one after the other: table row and reference of each."""
        return _rows(self.tables[order], self.reference)

    @functools.cached_property
    def matches(self) -> list[Matches]:
        """The shared n-grams of every (hypothesis, reference), one entry for each order."""
        return [self._match(table) for table in self.tables]

    def _match(self, table: Table) -> Matches:
        sizes = np.diff(table.start)[self.hypothesis]
        begin = starts(sizes)
        # In the order of the references' sentences all look-ups ascend, which is several times faster.
        pairs = np.argsort(self.reference, kind="stable")
        items = self.owner[pairs]
        rows = spread(begin[items], sizes[items])
        pair = np.repeat(pairs, sizes[items])
        gram = table.gram[spread(table.start[self.hypothesis[items]], sizes[items])]
        wanted = self.reference[pair] * table.kinds + gram
        found = np.searchsorted(table.keys, wanted)
        found[found == len(table.keys)] = 0
        hit = np.flatnonzero(table.keys[found] == wanted) if len(table.keys) else np.zeros(0, np.int64)
        return Matches(pair[hit], rows[hit], table.times[found[hit]])


def _rows(table: Table, sentences: Index) -> tuple[Index, Index]:
    sizes = np.diff(table.start)[sentences]
    return spread(table.start[sentences], sizes), np.repeat(np.arange(len(sentences)), sizes)


def _split(tokens: Tokens) -> Tokens:
    # Numbers such as `1 1/2` are one token with a no-break space inside, which BLEU and CIDEr split and ROUGE does not.
    text = " ".join(tokens)
    return text.split() if "\u00a0" in text else tokens


def items(hypotheses: Sequence[Tokens], references: Sequence[Sequence[Tokens]]) -> Items:
    """Codes hypotheses and references for BLEU and CIDEr.

    Args:
        hypotheses: n token sequences.
        references: for each of them one or more token sequences.

    Returns:
        The coded items.
    """
    flat = [tokens for group in references for tokens in group]
    distinct, index = number([*hypotheses, *flat])
    words, lengths = code([_split(tokens) for tokens in distinct])
    owner = np.repeat(np.arange(len(hypotheses)), [len(group) for group in references])
    return Items(lengths, tables(words, lengths), index[: len(hypotheses)], index[len(hypotheses) :], owner)
