"""Where METEOR's linguistic files lie: inside the installed package `pycocoevalcap`, read as data only."""

import functools
import gzip
import hashlib
import importlib.metadata
import importlib.util
import itertools
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from lvc_jax.errors import InputError

STEMMER = "snowballstemmer"
# Version 3 follows a newer Snowball English, which stems 173 common words differently.
STEMMER_VERSION = "2.2.0"
_EXTRA = "pip install 'lvc-jax[meteor]'"
_BLOCK = 100_000


class Files(NamedTuple):
    """The two files of METEOR 1.5: its jar (word lists) and the paraphrase table."""

    jar: Path
    paraphrases: Path


class WordLists(NamedTuple):
    """The small English lists of the jar.

    functions: function words. prefixes: words whose period does not end a sentence; numeric_prefixes: those only before
    a number. synsets: word -> WordNet synset numbers. bases: irregular form -> base forms.
    """

    functions: list[str]
    prefixes: list[str]
    numeric_prefixes: list[str]
    synsets: dict[str, list[int]]
    bases: dict[str, list[str]]


def find() -> Files | None:
    """The installed files, or None where the extra is not installed."""
    try:
        if importlib.metadata.version(STEMMER) != STEMMER_VERSION:
            return None
        package = importlib.util.find_spec("pycocoevalcap")
    except (importlib.metadata.PackageNotFoundError, ImportError, ValueError):
        return None
    for folder in (package.submodule_search_locations or []) if package else []:
        root = Path(folder) / "meteor"
        files = Files(root / "meteor-1.5.jar", root / "data" / "paraphrase-en.gz")
        if files.jar.is_file() and files.paraphrases.is_file():
            return files
    return None


def require() -> Files:
    """The installed files.

    Raises:
        InputError: the extra `[meteor]` is not installed (or another version of the stemmer).
    """
    files = find()
    if files is None:
        raise InputError(
            f"METEOR: the extra [meteor] (pycocoevalcap and {STEMMER}=={STEMMER_VERSION}) is not installed: "
            f"run {_EXTRA}, or leave METEOR out of the scorers"
        )
    return files


def damaged(path: Path, error: Exception | str) -> InputError:
    """The error for a source file that cannot be read."""
    return InputError(f"METEOR: {path}: damaged or unreadable ({error}): reinstall it with {_EXTRA} --force-reinstall")


def digest(files: Files) -> str:
    """A hexadecimal name for the content of the files."""
    total = hashlib.blake2b(digest_size=16)
    for path in files:
        try:
            with open(path, "rb") as file:
                for block in iter(functools.partial(file.read, 1 << 20), b""):
                    total.update(block)
        except OSError as error:
            raise damaged(path, error) from None
    return total.hexdigest()


def _pairs_of_lines(text: str) -> Iterator[tuple[str, list[str]]]:
    lines = iter(text.split("\n"))
    for key, values in zip(lines, lines):
        yield key, values.split()


def word_lists(jar: Path) -> WordLists:
    """Reads the English lists of the jar.

    Raises:
        InputError: the jar is damaged.
    """
    try:
        with zipfile.ZipFile(jar) as archive:

            def read(name: str) -> str:
                return archive.read(name).decode("utf-8")

            functions = read("function/english.words").split()
            rows = [line.split() for line in read("nonbreaking/english.prefixes").split("\n")]
            synsets = {
                word: [int(number) for number in numbers]
                for word, numbers in _pairs_of_lines(read("synonym/english.synsets"))
            }
            bases: dict[str, list[str]] = {}
            for base, forms in _pairs_of_lines(read("synonym/english.exceptions")):
                for form in forms:
                    bases.setdefault(form, []).append(base)
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(jar, error) from None
    rows = [row for row in rows if row and not row[0].startswith("#")]
    return WordLists(
        functions,
        [row[0] for row in rows if len(row) == 1],
        [row[0] for row in rows if len(row) > 1],
        synsets,
        bases,
    )


def paraphrases(path: Path, progress: Callable[[float], None]) -> Iterator[tuple[list[bytes], list[bytes]]]:
    """Reads the paraphrase table in blocks.

    Args:
        path: the gzip file; three lines an entry: probability, phrase, its paraphrase.
        progress: called with the share read so far.

    Yields:
        phrases and their paraphrases, in file order, as bytes that end with a newline.

    Raises:
        InputError: the file is damaged.
    """
    try:
        size = path.stat().st_size
        with open(path, "rb") as raw, gzip.GzipFile(fileobj=raw) as file:
            while lines := list(itertools.islice(file, 3 * _BLOCK)):
                if len(lines) % 3:
                    raise damaged(path, "the last entry is cut off")
                progress(raw.tell() / max(size, 1))
                yield lines[1::3], lines[2::3]
    except (OSError, EOFError, zlib.error) as error:
        raise damaged(path, error) from None
