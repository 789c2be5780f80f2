"""Finds the paraphrase table's phrases in many sentences at once."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from lvc_jax.metrics.runs import spread
from lvc_jax.metrics.text.meteor.resources import Resources
from lvc_jax.metrics.text.meteor.tables import WORD_BITS

# phrase -> its paraphrases in the table's order, and the same as a set
Links = dict[int, tuple[list[int], frozenset[int]]]


def _step(parents: Int[np.ndarray, " n"], words: Int[np.ndarray, " n"], resources: Resources) -> Int[np.ndarray, " n"]:
    """The child of each parent along a word; 0 where there is none (word -1: unknown)."""
    edges = resources.edges
    if not len(edges):
        return np.zeros(len(parents), np.int64)
    keys = (parents << WORD_BITS) | np.maximum(words, 0)
    found = np.minimum(np.searchsorted(edges, keys), len(edges) - 1)
    return np.where((edges[found] == keys) & (words >= 0), found + 1, 0)


def _links(nodes: Int[np.ndarray, " u"], resources: Resources) -> Links:
    """The paraphrases of each node among the nodes themselves."""
    present = np.zeros(len(resources.phrase), bool)
    present[nodes] = True
    begins, ends = resources.offsets[nodes], resources.offsets[nodes + 1]
    counts = (ends - begins).astype(np.int64)
    owner = np.repeat(np.arange(len(nodes)), counts)
    targets = resources.targets[spread(begins, counts)]
    keep = present[targets]
    owner, targets = owner[keep], targets[keep]
    bounds = np.searchsorted(owner, np.arange(len(nodes) + 1)).tolist()
    flat = targets.tolist()
    result: Links = {}
    for index, node in enumerate(nodes.tolist()):
        if bounds[index] < bounds[index + 1]:
            paraphrases = flat[bounds[index] : bounds[index + 1]]
            result[node] = paraphrases, frozenset(paraphrases)
    return result


def phrases_in(
    sentences: Sequence[Sequence[str]], resources: Resources
) -> tuple[list[list[tuple[int, int, int]]], Links]:
    """Finds every phrase of the table.

    Args:
        sentences: n sequences of words.
        resources: the linguistic tables.

    Returns:
        for each sentence the (start, length, node) of its phrases by start, then length; and for each phrase met the
        paraphrases that occur in any of the sentences.
    """
    number = resources.words
    lengths = np.fromiter(map(len, sentences), np.int64, len(sentences))
    words = np.fromiter((number.get(word, -1) for row in sentences for word in row), np.int64, int(lengths.sum()))
    sentence = np.repeat(np.arange(len(sentences)), lengths)
    first = np.cumsum(lengths) - lengths
    last = (first + lengths)[sentence]
    position = np.arange(len(words))
    nodes = _step(np.zeros(len(words), np.int64), words, resources)
    found = []
    length = 1
    while (alive := nodes > 0).any():
        position, nodes = position[alive], nodes[alive]
        whole = resources.phrase[nodes]
        found.append((position[whole], np.full(int(whole.sum()), length), nodes[whole]))
        inside = position + length < last[position]
        position, nodes = position[inside], nodes[inside]
        nodes = _step(nodes, words[position + length], resources)
        length += 1
    result: list[list[tuple[int, int, int]]] = [[] for _ in sentences]
    if not found:
        return result, {}
    position, sizes, nodes = (np.concatenate(column) for column in zip(*found))
    order = np.lexsort((sizes, position))
    position, sizes, nodes = position[order], sizes[order], nodes[order]
    owner = sentence[position]
    for row, start, size, node in zip(
        owner.tolist(), (position - first[owner]).tolist(), sizes.tolist(), nodes.tolist()
    ):
        result[row].append((start, size, node))
    return result, _links(np.unique(nodes), resources)
