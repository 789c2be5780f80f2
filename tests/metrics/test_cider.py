"""CIDEr against a plain restatement with dictionaries, and its corners in both readings."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.metrics.text import cider
from lvc_jax.metrics.text.tokenizer import tokenize

SENTENCE = st.lists(st.sampled_from("abcd"), max_size=7).map(tuple)
ITEM = st.tuples(SENTENCE, st.lists(SENTENCE, min_size=1, max_size=3))


def grams(sentence: tuple, n: int) -> Counter:
    return Counter(tuple(sentence[i : i + n]) for i in range(len(sentence) - n + 1))


def plain_cider(items: list) -> list[float]:
    """The definition, item by item, n-gram by n-gram."""
    frequency: Counter = Counter()
    for _, references in items:
        frequency.update({gram for r in references for n in range(1, 5) for gram in grams(r, n)})

    def vector(sentence: tuple, n: int) -> dict:
        return {g: c * (math.log(len(items)) - math.log(max(1, frequency[g]))) for g, c in grams(sentence, n).items()}

    def norm(values: dict) -> float:
        return math.sqrt(sum(value**2 for value in values.values()))

    scores = []
    for hypothesis, references in items:
        total = 0.0
        for reference in references:
            difference = max(0, len(hypothesis) - 1) - max(0, len(reference) - 1)
            for n in range(1, 5):
                h, r = vector(hypothesis, n), vector(reference, n)
                if norm(h) and norm(r):
                    cosine = sum(min(h[g], r[g]) * r[g] for g in h if g in r) / (norm(h) * norm(r))
                    total += cosine * math.exp(-(difference**2) / 72)
        scores.append(10 * total / 4 / len(references))
    return scores


@given(st.lists(ITEM, min_size=1, max_size=6))
def test_equal_to_a_plain_restatement(items: list) -> None:
    hypotheses, references = [h for h, _ in items], [r for _, r in items]
    np.testing.assert_allclose(cider.score(hypotheses, references), plain_cider(items), rtol=1e-9, atol=1e-12)


@given(st.lists(st.tuples(ITEM, st.integers(0, 2)), max_size=8), st.sampled_from(["reference", "standard"]))
def test_a_group_is_a_corpus_of_its_own(rows: list, reading: str) -> None:
    hypotheses, references = [h for (h, _), _ in rows], [r for (_, r), _ in rows]
    group = np.array([g for _, g in rows], np.int64)
    together = cider.score(hypotheses, references, group, 3, reading)
    for index in range(3):
        mine = np.flatnonzero(group == index)
        alone = cider.score([hypotheses[i] for i in mine], [references[i] for i in mine], reading=reading)
        np.testing.assert_allclose(together[mine], alone, rtol=1e-12, atol=1e-14)


@given(st.lists(ITEM, min_size=1, max_size=6))
def test_standard_reading_is_finite_and_at_most_ten(items: list) -> None:
    scores = cider.score([h for h, _ in items], [r for _, r in items], reading="standard")
    assert ((scores >= 0) & (scores <= 10 + 1e-9)).all()


COPY = (("a", "man", "sings"), [("a", "man", "sings")])
OTHER = (("x",), [("y", "z")])


@pytest.mark.parametrize(
    ("items", "reference", "standard"),
    [
        ([COPY], 0.0, 10.0),
        ([COPY, COPY], 0.0, 10.0),
        ([COPY, OTHER], 7.5, 10.0),
        ([((), [()])], 0.0, 0.0),
        ([((), [()]), COPY], 0.0, 0.0),
        ([((), [("a", "b")]), OTHER], 0.0, 0.0),
        ([(("a", "b"), [()]), OTHER], 0.0, 0.0),
    ],
    ids=["one item", "all items alike", "short copy", "all blank", "blank", "blank caption", "blank reference"],
)
def test_corners_of_the_two_readings(items: list, reference: float, standard: float) -> None:
    hypotheses, references = [h for h, _ in items], [r for _, r in items]
    np.testing.assert_allclose(cider.score(hypotheses, references)[0], reference, rtol=1e-12)
    np.testing.assert_allclose(cider.score(hypotheses, references, reading="standard")[0], standard, rtol=1e-12)


def test_readings_agree_on_ordinary_captions() -> None:
    hypotheses = [tokenize("a man plays the guitar"), tokenize("a dog runs on the grass")]
    references = [[tokenize("a man is playing a guitar")], [tokenize("the dog runs over the grass")]]
    reference = cider.score(hypotheses, references)
    assert (reference > 0).all()
    np.testing.assert_allclose(cider.score(hypotheses, references, reading="standard"), reference, rtol=1e-12)


def test_no_items() -> None:
    assert cider.score([], []).shape == (0,)
    assert cider.score([], [], np.zeros(0, np.int64), 2).shape == (0,)
