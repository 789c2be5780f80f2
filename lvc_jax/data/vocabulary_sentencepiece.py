"""SentencePiece vocabulary: pieces of words, no unknown words to speak of."""

import base64
import binascii
import hashlib
import io
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import sentencepiece
from jaxtyping import Int

from lvc_jax.data.vocabulary_ids import until_end
from lvc_jax.errors import InputError

# glog's numbering: only fatal messages.
_QUIET = 3


class SentencePieceVocabulary:
    """Pieces of a SentencePiece model; its id i is token i + 1, because 0 is begin, end and padding."""

    kind = "sentencepiece"

    def __init__(self, model: bytes, where: str = "vocabulary"):
        """Takes a serialized SentencePiece model.

        Raises:
            InputError: naming `where`, if it is not one.
        """
        self._model = bytes(model)
        try:
            self._processor = sentencepiece.SentencePieceProcessor(model_proto=self._model)
        except (RuntimeError, ValueError, TypeError) as error:
            raise InputError(f"{where}: not a SentencePiece model ({error}); train or copy it again") from None
        if not self._processor.get_piece_size():
            raise InputError(f"{where}: an empty SentencePiece model; train or copy it again")

    @classmethod
    def load(cls, path: str | os.PathLike) -> "SentencePieceVocabulary":
        """Reads a .model file.

        Raises:
            InputError: naming the file.
        """
        try:
            model = Path(path).read_bytes()
        except OSError as error:
            raise InputError(f"{os.fspath(path)}: cannot be read: {error.strerror}; check the path") from None
        return cls(model, os.fspath(path))

    @classmethod
    def train(cls, sentences: Iterable[str], size: int = 1000) -> "SentencePieceVocabulary":
        """Trains a unigram model: lower case, every character of the corpus covered, same corpus same model.

        Args:
            sentences: the corpus.
            size: the most pieces to keep; a small corpus gives fewer.

        Raises:
            InputError: if the corpus is empty or `size` is too small for its characters.
        """
        corpus = [sentence for sentence in sentences if sentence.strip()]
        if not corpus:
            raise InputError("vocabulary: no sentence to train SentencePiece on; check the annotations")
        output = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(corpus),
                model_writer=output,
                model_type="unigram",
                vocab_size=size,
                hard_vocab_limit=False,
                character_coverage=1.0,
                normalization_rule_name="nmt_nfkc_cf",
                num_threads=1,
                unk_id=0,
                bos_id=-1,
                eos_id=-1,
                pad_id=-1,
                minloglevel=_QUIET,
            )
        except RuntimeError as error:
            reason = str(error).rpartition("] ")[2]
            raise InputError(f"vocabulary: SentencePiece cannot train {size} pieces on this corpus: {reason}") from None
        return cls(output.getvalue())

    @property
    def size(self) -> int:
        """V: tokens run from 1 to V."""
        return self._processor.get_piece_size()

    @property
    def fingerprint(self) -> str:
        """Short hash of the model."""
        return hashlib.sha256(self.kind.encode() + self._model).hexdigest()[:16]

    def encode(self, text: str, max_len: int = 30) -> Int[np.ndarray, " w"]:
        """0, at most max_len - 2 pieces shifted by one, 0, padding of 0: int32 [max_len]."""
        pieces = self._processor.encode(text)[: max(max_len - 2, 0)]
        tokens = np.zeros(max_len, np.int32)
        tokens[1 : len(pieces) + 1] = np.asarray(pieces, np.int32) + 1
        return tokens

    def decode(self, ids: Iterable[int]) -> str:
        """The text of the pieces up to the first 0; nothing gives "".

        Takes what the caption head emits, which has no 0 in front: to decode an encoded sentence, pass `tokens[1:]`.

        Raises:
            ValueError: if an id is outside 0..V.
        """
        pieces = [i - 1 for i in until_end(ids, self.size)]
        return self._processor.decode(pieces).strip() if pieces else ""

    def to_dict(self) -> dict[str, Any]:
        """JSON-able content for the checkpoint."""
        return {"kind": self.kind, "model": base64.b64encode(self._model).decode("ascii")}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> "SentencePieceVocabulary":
        """The inverse of `to_dict`."""
        try:
            model = base64.b64decode(content["model"], validate=True)
        except (KeyError, TypeError, binascii.Error):
            raise InputError("vocabulary: field 'model' is missing or damaged; the checkpoint is damaged") from None
        return cls(model)

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self._model}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["model"])  # type: ignore[misc]
