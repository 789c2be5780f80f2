"""What METEOR needs to know of one sentence, computed once however many sentences it meets."""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import NamedTuple

from lvc_jax.metrics.text.meteor.normalise import normalise
from lvc_jax.metrics.text.meteor.phrases import Links, phrases_in
from lvc_jax.metrics.text.meteor.resources import Resources
from lvc_jax.metrics.text.meteor.stem import base_form


def java_hash(word: str) -> int:
    """The 32-bit hash by which the original tells words apart: `v1` and `to` are the same word to it."""
    value = 0
    for character in word if word.isascii() else _utf16(word):
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value


def _utf16(word: str) -> str:
    data = word.encode("utf-16-le", "surrogatepass")
    return "".join(chr(int.from_bytes(data[i : i + 2], "little")) for i in range(0, len(data), 2))


class Word(NamedTuple):
    """A word's identity, its stem's identity, its synsets and whether it is a function word."""

    code: int
    stem: int
    synsets: frozenset[int]
    function: bool


class Vocabulary:
    """Looks words up, each one once.

    Args:
        resources: the linguistic tables.
        stem: function from a word to its stem.
    """

    def __init__(self, resources: Resources, stem: Callable[[str], str]):
        self.resources, self._stem = resources, stem
        self.word = functools.lru_cache(maxsize=1 << 17)(self._look_up)

    def _look_up(self, word: str) -> Word:
        resources = self.resources
        synsets = resources.synsets_of(word)
        # Irregular forms take all their bases; only other words try the regular endings.
        bases = resources.bases.get(word)
        if bases is None:
            base = base_form(word, resources.synset_words)
            bases = [] if base is None else [base]
        synsets = synsets.union(*map(resources.synsets_of, bases))
        return Word(java_hash(word), java_hash(self._stem(word)), synsets, word in resources.functions)

    def split(self, text: str) -> tuple[str, ...]:
        """The words of a sentence after METEOR's normalisation."""
        return normalise(text, self.resources.prefixes, self.resources.numeric_prefixes)


class Index(NamedTuple):
    """Positions of a sentence's words by identity, by stem and by synset."""

    at: dict[int, list[int]]
    stem_at: dict[int, list[int]]
    synset_at: dict[int, list[int]]


class Sentence:
    """Words by position, and positions by word, stem, synset and phrase.

    Attributes:
        codes: identity of each word. stems, synsets: of each word. functions [n + 1]: how many function words come
        before each position. phrases: (start, length, node) of every phrase of the table, by start, then length.
        phrase_at: node -> its (start, length)s.
    """

    __slots__ = ("_index", "codes", "functions", "phrase_at", "phrases", "stems", "synsets")

    def __init__(self, words: Sequence[Word], phrases: list[tuple[int, int, int]]):
        self.codes = [word.code for word in words]
        self.stems = [word.stem for word in words]
        self.synsets = [word.synsets for word in words]
        self.functions = [0, *itertools.accumulate(word.function for word in words)]
        self.phrases = phrases
        self.phrase_at: dict[int, list[tuple[int, int]]] = {}
        for start, length, node in phrases:
            self.phrase_at.setdefault(node, []).append((start, length))
        self._index: Index | None = None

    @property
    def index(self) -> Index:
        """Positions by word; made on first use, for only hypotheses need it."""
        if self._index is None:
            self._index = Index({}, {}, {})
            at, stem_at, synset_at = self._index
            for position, (code, stem, synsets) in enumerate(zip(self.codes, self.stems, self.synsets)):
                at.setdefault(code, []).append(position)
                stem_at.setdefault(stem, []).append(position)
                for synset in synsets:
                    synset_at.setdefault(synset, []).append(position)
        return self._index


def prepare(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[list[Sentence], Links]:
    """Prepares sentences that may be compared with each other.

    Args:
        texts: sentences as METEOR receives them.
        vocabulary: the words.

    Returns:
        one `Sentence` a text, and the paraphrases among all of them.
    """
    words = [vocabulary.split(text) for text in texts]
    phrases, links = phrases_in(words, vocabulary.resources)
    return [Sentence([vocabulary.word(w) for w in row], found) for row, found in zip(words, phrases)], links
