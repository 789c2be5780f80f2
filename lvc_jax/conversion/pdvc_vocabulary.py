"""The words of a PDVC checkpoint, which are in a JSON file of their own."""

import json
import os
from pathlib import Path
from typing import Any

from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write


def find(checkpoint: Path, size: int, given: str | os.PathLike | None) -> WordVocabulary:
    """The vocabulary of a checkpoint whose word embedding has ids 0..`size`.

    Args:
        checkpoint: the file; without `given` the folder around it is searched: `beside(checkpoint)`, or else the one
            JSON file there with "vocab" in its name.
        size: V.
        given: the vocabulary's file.

    Raises:
        InputError: none is found, or several, or it is damaged, or it has another number of words.
    """
    path = Path(given) if given else _search(checkpoint)
    vocabulary = WordVocabulary.load(path, unknown_last=False)
    if vocabulary.size != size:
        raise InputError(
            f"{path}: has {vocabulary.size} words, but the word embedding of {checkpoint} has {size} (and one row for "
            "the end): give the vocabulary that it was trained with as --vocabulary=FILE"
        )
    return vocabulary


def write(path: str | os.PathLike, vocabulary: Any) -> None:
    """Writes a vocabulary as PDVC reads it.

    Raises:
        InputError: it is no vocabulary of words.
    """
    if not isinstance(vocabulary, WordVocabulary):
        raise InputError(f"vocabulary: kind {vocabulary.kind!r} has no counterpart in PDVC, which knows only words")
    words = {str(i): word for i, word in enumerate(vocabulary.words, start=1)}
    with atomic_write(path) as file:
        json.dump({"ix_to_word": words, "word_to_ix": {word: int(i) for i, word in words.items()}}, file)


def holds(path: Path, vocabulary: Any) -> bool:
    """Whether `path` is there and holds this vocabulary, as after writing one checkpoint in two formats.

    Raises:
        InputError: something else is there.
    """
    if not path.exists():
        return False
    if WordVocabulary.load(path, unknown_last=False).words != getattr(vocabulary, "words", None):
        raise InputError(f"{path}: is there already with other words; give --output another name, or remove that file")
    return True


def beside(checkpoint: str | os.PathLike) -> Path:
    """Where the vocabulary of a checkpoint file is looked for first, and written."""
    return Path(checkpoint).with_suffix(".vocabulary.json")


def _search(checkpoint: Path) -> Path:
    if beside(checkpoint).is_file():
        return beside(checkpoint)
    found = sorted(path for path in checkpoint.absolute().parent.glob("*.json") if "vocab" in path.name.lower())
    if len(found) == 1:
        return found[0]
    several = f"several files could be it ({', '.join(path.name for path in found)})" if found else "none is beside it"
    raise InputError(f"{checkpoint}: its vocabulary is in a file of its own and {several}; give --vocabulary=FILE")
