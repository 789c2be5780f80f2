"""Word-level vocabulary of the PDVC reference: published JSON files, or built from a corpus."""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int

from lvc_jax.data.vocabulary_ids import until_end
from lvc_jax.errors import InputError

UNKNOWN = "UNK"
# The backslash-n comes first: it is two characters in published files, and the lone backslash would eat half of it.
_SEPARATORS = ("\\n", *',:!_;-.?/"\\')


def split_words(text: str) -> list[str]:
    """Lower-case words of `text`; the punctuation that the PDVC reference drops becomes space, an apostrophe stays."""
    for separator in _SEPARATORS:
        text = text.replace(separator, " ")
    return text.lower().split()


class WordVocabulary:
    """Words numbered 1..V; V is the unknown word; 0 is begin, end and padding."""

    kind = "words"

    def __init__(self, words: Sequence[str], where: str = "vocabulary"):
        """Takes the words in the order of their ids; the last one stands for every unknown word.

        Raises:
            InputError: naming `where`, if there is no word, or one is empty, not text, or occurs twice.
        """
        if not words:
            raise InputError(f"{where}: holds no word")
        for i, word in enumerate(words, start=1):
            if not isinstance(word, str) or not word:
                raise InputError(f"{where}: id {i}: expected a word, found {word!r}")
        double = [word for word, n in Counter(words).items() if n > 1]
        if double:
            raise InputError(f"{where}: word {double[0]!r} has more than one id; keep one")
        self.words = tuple(words)
        self._ids = {word: i for i, word in enumerate(self.words, start=1)}

    @classmethod
    def load(cls, path: str | os.PathLike, *, unknown_last: bool = True) -> "WordVocabulary":
        """Reads a published vocabulary: {"ix_to_word": {"1": word, ...}, "word_to_ix": {word: 1, ...}}.

        Args:
            path: the file.
            unknown_last: the last word must be UNK. Where captions are only spoken, not learnt, any word may be last.

        Raises:
            InputError: naming the file, if ids are not 1..V, the two tables disagree or the last word is not UNK.
        """
        where = os.fspath(path)
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
        except FileNotFoundError:
            raise InputError(f"{where}: no such vocabulary file; check the path") from None
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"{where}: not a vocabulary JSON: {error}") from None
        table = content.get("ix_to_word") if isinstance(content, dict) else None
        if not isinstance(table, dict) or not table:
            raise InputError(f"{where}: field 'ix_to_word' is missing or empty; expected an object of id: word")
        missing = next((i for i in range(1, len(table) + 1) if str(i) not in table), None)
        if missing is not None:
            raise InputError(f"{where}: field 'ix_to_word': id {missing} is missing; ids must run from 1 to the last")
        vocabulary = cls([table[str(i)] for i in range(1, len(table) + 1)], where)
        if unknown_last and vocabulary.words[-1] != UNKNOWN:
            raise InputError(f"{where}: the last id must be {UNKNOWN!r}, the unknown word; add it")
        inverse = content.get("word_to_ix", vocabulary._ids)
        if inverse != vocabulary._ids:
            raise InputError(f"{where}: fields 'ix_to_word' and 'word_to_ix' disagree; one must be the inverse")
        return vocabulary

    @classmethod
    def build(cls, corpus: Iterable[str], min_count: int = 1) -> "WordVocabulary":
        """Numbers the words that occur at least `min_count` times, most frequent first, ties by spelling; then UNK."""
        counts = Counter(word for text in corpus for word in split_words(text))
        kept = [word for word, n in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if n >= min_count]
        if not kept:
            raise InputError(f"vocabulary: no word occurs {min_count} times in the corpus; lower min_count")
        return cls([*kept, UNKNOWN])

    @property
    def size(self) -> int:
        """V: ids run from 1 to V."""
        return len(self.words)

    @property
    def fingerprint(self) -> str:
        """Short hash of the words and their order."""
        return hashlib.sha256("\n".join((self.kind, *self.words)).encode()).hexdigest()[:16]

    def encode(self, text: str, max_len: int = 30) -> Int[np.ndarray, " w"]:
        """0, the ids of at most max_len - 2 words, 0, padding of 0: int32 [max_len]."""
        ids = [self._ids.get(word, self.size) for word in split_words(text)[: max(max_len - 2, 0)]]
        tokens = np.zeros(max_len, np.int32)
        tokens[1 : len(ids) + 1] = ids
        return tokens

    def decode(self, ids: Iterable[int]) -> str:
        """Words up to the first 0, joined by spaces, and a final "."; nothing at all gives "".

        Takes what the caption head emits, which has no 0 in front: to decode an encoded sentence, pass `tokens[1:]`.

        Raises:
            ValueError: if an id is outside 0..V.
        """
        words = [self.words[i - 1] for i in until_end(ids, self.size)]
        return " ".join(words) + "." if words else ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able content for the checkpoint."""
        return {"kind": self.kind, "words": list(self.words)}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "WordVocabulary":
        """The inverse of `to_dict`."""
        words = content.get("words")
        if not isinstance(words, list):
            raise InputError("vocabulary: field 'words' is missing; the checkpoint is damaged")
        return cls(words)
