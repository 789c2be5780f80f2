"""Turns METEOR's linguistic files into flat arrays that can be memory-mapped.

Phrases live in one trie. Node 0 is the root; the edge at position p of `edges` leads to node p + 1 and is coded as
`parent << WORD_BITS | word`. Nodes are numbered breadth-first, so that `edges` is sorted.
"""

import array
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int

from lvc_jax.errors import InputError
from lvc_jax.metrics.text.meteor import sources

# The version of the compiled form, part of the cache file's name. Raise it with every change of what is compiled here
# (names, types, order or meaning of the arrays, which words are kept) or of how `cache` lays it out: files of an older
# program are then left alone instead of being read as something else.
VERSION = 1
WORD_BITS = 20
Arrays = dict[str, np.ndarray]


def _text(lines: Sequence[str]) -> Int[np.ndarray, " bytes"]:
    return np.frombuffer("\n".join(lines).encode("utf-8"), np.uint8)


def _words_of(phrases: Iterable[bytes], path: Path) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Words of the phrases, the flat word numbers and the length of each phrase."""
    table: dict[str, int] = {}
    flat, lengths = array.array("i"), array.array("i")
    try:
        for phrase in phrases:
            words = phrase.decode("utf-8").split()
            flat.extend([table.setdefault(word, len(table)) for word in words])
            lengths.append(len(words))
    except UnicodeDecodeError as error:
        raise sources.damaged(path, error) from None
    if len(table) >= 1 << WORD_BITS:
        raise InputError(f"METEOR: {path}: more than {1 << WORD_BITS} words: this is not the table of METEOR 1.5")
    return list(table), np.frombuffer(flat, np.int32), np.frombuffer(lengths, np.int32)


def _trie(
    flat: Int[np.ndarray, " m"], lengths: Int[np.ndarray, " n"]
) -> tuple[Int[np.ndarray, " edges"], Int[np.ndarray, " n"]]:
    """The sorted edges and the node of each phrase."""
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    nodes = np.zeros(len(lengths), np.int64)
    levels: list[np.ndarray] = []
    below = 1
    for depth in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > depth)
        keys, inverse = np.unique((nodes[rows] << WORD_BITS) | flat[starts[rows] + depth], return_inverse=True)
        nodes[rows] = below + inverse
        below += len(keys)
        levels.append(keys)
    return np.concatenate([np.zeros(0, np.int64), *levels]), nodes


def _paraphrases(path: Path, progress: Callable[[float], None]) -> Arrays:
    table: dict[bytes, int] = {}
    left, right = array.array("i"), array.array("i")
    for phrases, paraphrases in sources.paraphrases(path, progress):
        left.extend([table.setdefault(phrase, len(table)) for phrase in phrases])
        right.extend([table.setdefault(phrase, len(table)) for phrase in paraphrases])
    words, flat, lengths = _words_of(table, path)
    del table
    edges, nodes = _trie(flat, lengths)
    source, target = nodes[np.frombuffer(left, np.int32)], nodes[np.frombuffer(right, np.int32)]
    # Stable: the paraphrases of a phrase keep the order of the file, which decides ties of the aligner.
    order = np.argsort(source, kind="stable")
    phrase = np.zeros(len(edges) + 1, bool)
    phrase[nodes] = True
    counts = np.bincount(source, minlength=len(edges) + 1)
    return {
        "words": _text(words),
        "edges": edges,
        "phrase": phrase,
        "offsets": np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        "targets": target[order].astype(np.int32),
    }


def build(files: sources.Files, progress: Callable[[float], None] = lambda share: None) -> Arrays:
    """Compiles the linguistic files.

    Args:
        files: METEOR's files.
        progress: called with the share done, 0 to 1.

    Returns:
        Named arrays: `words` (text, one a line), `edges`, `phrase` (whether a node is a whole phrase), `offsets` and
        `targets` (paraphrases of node i: targets[offsets[i]:offsets[i + 1]]), `synset_words` (text), `synset_offsets`,
        `synsets`, and `lists` (JSON text of the small lists).

    Raises:
        InputError: a file is damaged.
    """
    lists = sources.word_lists(files.jar)
    # The normaliser sets every underscore apart, so names of several words never meet a word of a caption.
    synsets = {word: numbers for word, numbers in lists.synsets.items() if "_" not in word}
    small = {
        "functions": lists.functions,
        "prefixes": lists.prefixes,
        "numeric_prefixes": lists.numeric_prefixes,
        "bases": lists.bases,
    }
    return {
        **_paraphrases(files.paraphrases, progress),
        "synset_words": _text(list(synsets)),
        "synset_offsets": np.cumsum([0, *map(len, synsets.values())]).astype(np.int32),
        "synsets": np.array([number for numbers in synsets.values() for number in numbers], np.int32),
        "lists": _text([json.dumps(small)]),
    }
