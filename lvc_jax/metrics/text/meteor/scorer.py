"""METEOR's 23 statistics of many hypotheses."""

import contextlib
import functools
import gc
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from jaxtyping import Float

from lvc_jax.errors import InputError
from lvc_jax.metrics.text.meteor import matchers, score
from lvc_jax.metrics.text.meteor.align import align
from lvc_jax.metrics.text.meteor.matchers import Match
from lvc_jax.metrics.text.meteor.phrases import Links
from lvc_jax.metrics.text.meteor.resources import Resources, load
from lvc_jax.metrics.text.meteor.sentences import Sentence, Vocabulary, prepare
from lvc_jax.metrics.text.meteor.stem import snowball

# Pairs whose sentences are held at once: bounds memory to some tens of megabytes.
_CHUNK = 4096
_BAR = "|||"


def _count(hypothesis: Sentence, reference: Sentence, chosen: Sequence[Match]) -> list[int]:
    hyp_functions, ref_functions = hypothesis.functions, reference.functions
    row = [0] * score.COLUMNS
    row[score.HYP_LENGTH], row[score.REF_LENGTH] = len(hypothesis.codes), len(reference.codes)
    row[score.HYP_FUNCTION], row[score.REF_FUNCTION] = hyp_functions[-1], ref_functions[-1]
    ends = (-1, -1)
    for stage, start, length, hyp_start, hyp_length in chosen:
        column = score.STAGES + 4 * stage
        hyp_function = hyp_functions[hyp_start + hyp_length] - hyp_functions[hyp_start]
        ref_function = ref_functions[start + length] - ref_functions[start]
        row[column] += hyp_length - hyp_function
        row[column + 1] += length - ref_function
        row[column + 2] += hyp_function
        row[column + 3] += ref_function
        row[score.HYP_MATCHED] += hyp_length
        row[score.REF_MATCHED] += length
        row[score.CHUNKS] += (start, hyp_start) != ends
        ends = (start + length, hyp_start + hyp_length)
    return row


def _row(hypothesis: Sentence, reference: Sentence, links: Links) -> list[int]:
    found = matchers.find(hypothesis, reference, links)
    return _count(hypothesis, reference, align(found, len(reference.codes)) if found else [])


def clean_hypothesis(text: str) -> str:
    """A hypothesis as the caption toolkits hand it to METEOR: without the separator, pairs of blanks halved once."""
    return text.replace(_BAR, "").replace("  ", " ")


def split_reference(text: str) -> list[str]:
    """The references that a reference becomes: the separator inside it parts it."""
    return text.split(_BAR)


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    """A chunk makes a million small objects without a cycle; searching them for cycles took half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Meteor:
    """METEOR 1.5, English.

    Args:
        resources: the linguistic tables.
        stem: function from a lower-case word to its stem.
    """

    def __init__(self, resources: Resources, stem: Callable[[str], str]):
        self._vocabulary = Vocabulary(resources, stem)

    def _rows(self, pairs: Sequence[tuple[str, str]]) -> list[list[int]]:
        rows: list[list[int]] = []
        for begin in range(0, len(pairs), _CHUNK):
            chunk = pairs[begin : begin + _CHUNK]
            index: dict[str, int] = {}
            for pair in chunk:
                for text in pair:
                    index.setdefault(text, len(index))
            with _collector_paused():
                sentences, links = prepare(list(index), self._vocabulary)
                rows += [_row(sentences[index[hyp]], sentences[index[ref]], links) for hyp, ref in chunk]
        return rows

    def statistics(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "n 23"]:
        """See `statistics` of this module."""
        if len(hypotheses) != len(references):
            raise InputError(f"METEOR: {len(hypotheses)} hypotheses but {len(references)} lists of references")
        table: dict[tuple[str, str], int] = {}
        items: list[list[int]] = []
        for number, (hypothesis, group) in enumerate(zip(hypotheses, references)):
            if isinstance(group, str) or not group:
                raise InputError(f"METEOR: item {number}: needs a list of at least one reference")
            text = clean_hypothesis(hypothesis)
            pairs = [(text, part) for reference in group for part in split_reference(reference)]
            items.append([table.setdefault(pair, len(table)) for pair in pairs])
        if not items:
            return np.zeros((0, score.COLUMNS))
        rows = np.array(self._rows(list(table)), np.float64)
        scores = score.sentence(rows)
        # The best reference; the first of equals.
        return rows[[max(item, key=scores.__getitem__) for item in items]]


@functools.cache
def default() -> Meteor:
    """METEOR with the tables of the installed package, opened on first use.

    Raises:
        InputError: see `resources.load`.
    """
    stem = snowball()
    return Meteor(load(), stem)


def statistics(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> Float[np.ndarray, "n 23"]:
    """METEOR's statistics of n hypotheses, each against its best reference; a pair that recurs is computed once.

    Args:
        hypotheses: n captions, tokens joined by blanks, as the caption toolkits hand them to METEOR.
        references: for each hypothesis one or more references, in the same form.

    Returns:
        statistics [n, 23], whole numbers: hypothesis length, reference length, function words of both; for each of
        exact, stem, synonym, paraphrase: content words of hypothesis and reference, function words of both; chunks;
        matched words of hypothesis and reference.

    Raises:
        InputError: the extra `[meteor]` is not installed, its files are damaged, the cache folder cannot be written to,
            or the lists do not fit together.
    """
    return default().statistics(hypotheses, references)
