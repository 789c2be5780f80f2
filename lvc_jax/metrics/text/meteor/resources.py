"""The compiled linguistic tables, opened once a process."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress

from lvc_jax.metrics.text.meteor import cache, sources, tables


class Resources:
    """Word lists, synonyms and the paraphrase table.

    Args:
        arrays: what `tables.build` returns.
    """

    def __init__(self, arrays: Mapping[str, np.ndarray]):
        lists = json.loads(arrays["lists"].tobytes())
        self.functions: frozenset[str] = frozenset(lists["functions"])
        self.prefixes: frozenset[str] = frozenset(lists["prefixes"])
        self.numeric_prefixes: frozenset[str] = frozenset(lists["numeric_prefixes"])
        self.bases: dict[str, list[str]] = lists["bases"]
        self.words = {word: number for number, word in enumerate(_lines(arrays["words"]))}
        self.synset_words = {word: number for number, word in enumerate(_lines(arrays["synset_words"]))}
        self._synset_offsets, self._synsets = arrays["synset_offsets"], arrays["synsets"]
        self.edges, self.phrase = arrays["edges"], arrays["phrase"]
        self.offsets, self.targets = arrays["offsets"], arrays["targets"]

    def synsets_of(self, word: str) -> frozenset[int]:
        """The synsets listed under a word; none for an unknown one."""
        number = self.synset_words.get(word)
        if number is None:
            return frozenset()
        return frozenset(self._synsets[self._synset_offsets[number] : self._synset_offsets[number + 1]].tolist())


def _lines(text: np.ndarray) -> list[str]:
    return text.tobytes().decode("utf-8").split("\n") if text.size else []


def cache_path(files: sources.Files) -> Path:
    """The file that holds the compiled form of `files`: named by the form's version and by their content."""
    return cache.folder() / f"meteor-{tables.VERSION}-{sources.digest(files)}.bin"


def _build_with_bar(files: sources.Files) -> cache.Arrays:
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("compiling METEOR's tables (once)", total=1.0)
        return tables.build(files, lambda share: bar.update(task, completed=share))


def load(files: sources.Files | None = None) -> Resources:
    """Opens the tables; compiles them first if the user's cache does not hold them.

    Args:
        files: METEOR's files; those of the installed package if None.

    Raises:
        InputError: the extra `[meteor]` is not installed, a file is damaged, or the cache folder cannot be written to.
    """
    found = files or sources.require()
    return Resources(cache.open_or_build(cache_path(found), functools.partial(_build_with_bar, found)))
