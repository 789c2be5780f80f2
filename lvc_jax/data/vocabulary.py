"""Sentences to token ids and back; 0 is begin, end and padding, real tokens are 1..V."""

from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
from jaxtyping import Int

from lvc_jax.data.vocabulary_sentencepiece import SentencePieceVocabulary
from lvc_jax.data.vocabulary_words import WordVocabulary
from lvc_jax.errors import InputError

__all__ = ["SentencePieceVocabulary", "Vocabulary", "WordVocabulary", "from_dict"]


class Vocabulary(Protocol):
    """What every vocabulary offers."""

    kind: str

    @property
    def size(self) -> int:
        """V: real tokens are 1..V."""

    @property
    def fingerprint(self) -> str:
        """Short hash of the content."""

    def encode(self, text: str, max_len: int = 30) -> Int[np.ndarray, " w"]:
        """0, at most max_len - 2 token ids, 0, padding of 0: int32 [max_len]."""

    def decode(self, ids: Iterable[int]) -> str:
        """The caption of ids up to the first 0; nothing gives ""."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able content, with "kind"."""


_KINDS: dict[str, Callable[[dict[str, Any]], Vocabulary]] = {
    WordVocabulary.kind: WordVocabulary.from_dict,
    SentencePieceVocabulary.kind: SentencePieceVocabulary.from_dict,
}


def from_dict(content: dict[str, Any]) -> Vocabulary:
    """Makes the vocabulary that `to_dict` described.

    Raises:
        InputError: if the kind is unknown or the content damaged.
    """
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise InputError(f"vocabulary: kind {kind!r} is unknown; expected one of {', '.join(_KINDS)}")
    return _KINDS[kind](content)
