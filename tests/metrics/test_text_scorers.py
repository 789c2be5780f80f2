"""BLEU and ROUGE-L against plain restatements and against the original toolkit's numbers."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.metrics.text import bleu, rouge
from lvc_jax.metrics.text.scorers import PairScorer

SENTENCE = st.lists(st.sampled_from("abcd"), max_size=7).map(tuple)
ITEM = st.tuples(SENTENCE, st.lists(SENTENCE, min_size=1, max_size=3))


def plain_bleu(hypothesis: tuple, references: list[tuple]) -> list[float]:
    scores, product = [], 1.0
    closest = min((abs(len(r) - len(hypothesis)), len(r)) for r in references)[1]
    for n in range(1, 5):
        grams = [Counter(tuple(s[i : i + n]) for i in range(len(s) - n + 1)) for s in (hypothesis, *references)]
        correct = sum(min(count, max(other[gram] for other in grams[1:])) for gram, count in grams[0].items())
        product *= (correct + 1e-15) / (max(0, len(hypothesis) - n + 1) + 1e-9)
        ratio = (len(hypothesis) + 1e-15) / (closest + 1e-9)
        scores.append(product ** (1 / n) * (math.exp(max(-700, 1 - 1 / ratio)) if ratio < 1 else 1))
    return scores


def plain_rouge(hypothesis: tuple, references: list[tuple]) -> float:
    def common(a: tuple, b: tuple) -> int:
        if not a or not b:
            return 0
        if a[0] == b[0]:
            return 1 + common(a[1:], b[1:])
        return max(common(a[1:], b), common(a, b[1:]))

    hypothesis, references = hypothesis or ("",), [r or ("",) for r in references]
    lengths = [common(hypothesis, r) for r in references]
    p = max(length / len(hypothesis) for length in lengths)
    r = max(length / len(other) for length, other in zip(lengths, references))
    return (1 + 1.44) * p * r / (r + 1.44 * p) if p and r else 0.0


@given(st.lists(ITEM, min_size=1, max_size=6))
def test_equal_to_a_plain_restatement(items: list) -> None:
    hypotheses, references = [h for h, _ in items], [r for _, r in items]
    expected = [plain_bleu(h, r) for h, r in items]
    np.testing.assert_allclose(bleu.score(bleu.statistics(hypotheses, references)), expected, rtol=1e-9, atol=1e-30)
    np.testing.assert_allclose(rouge.score(hypotheses, references), [plain_rouge(h, r) for h, r in items], rtol=1e-12)


def test_identical_captions_have_the_toolkits_odd_values() -> None:
    three = bleu.score(bleu.statistics([("a", "b", "c")], [[("a", "b", "c")]]))[0]
    np.testing.assert_allclose(three, [1, 1, 1, 0.0316], rtol=2e-3)
    assert rouge.score([()], [[()]])[0] == 1


def test_standard_reading_of_bleu() -> None:
    def score(hypothesis: str, *references: str) -> list[float]:
        stats = bleu.statistics([hypothesis.split()], [[text.split() for text in references]])
        return list(bleu.score(stats, "standard")[0])

    for words in range(1, 6):
        assert score("a b c d e"[: 2 * words - 1], "a b c d e"[: 2 * words - 1]) == [1, 1, 1, 1]
    assert score("", "a b") == score("", "") == score("x", "a") == [0, 0, 0, 0]
    np.testing.assert_allclose(score("a b", "a b c d"), [math.exp(-1)] * 4, rtol=1e-12)
    np.testing.assert_allclose(score("a b x", "a b c"), [2 / 3, math.sqrt(1 / 3), 0, 0], rtol=1e-12)
    np.testing.assert_allclose(score("a b c", "a b", "a b c d"), [1, 1, 1, 1], rtol=1e-12)


@given(st.lists(ITEM, min_size=1, max_size=6))
def test_readings_agree_where_captions_share_a_4_gram(items: list) -> None:
    hypotheses = [(*h, *"wxyz") for h, _ in items]
    references = [[(*r, *"wxyz") for r in group] for _, group in items]
    stats = bleu.statistics(hypotheses, references)
    np.testing.assert_allclose(bleu.score(stats, "standard"), bleu.score(stats), rtol=1e-8)
    single = [group[:1] for group in references]
    np.testing.assert_allclose(rouge.score(hypotheses, single, "standard"), rouge.score(hypotheses, single), rtol=1e-12)


def test_standard_reading_of_rouge() -> None:
    # Precision of the first and recall of the second reference make the toolkits' value 1.
    hypothesis, references = tuple("ab"), [tuple("abcd"), tuple("a")]
    assert rouge.score([hypothesis], [references])[0] == 1
    best = max(plain_rouge(hypothesis, [reference]) for reference in references)
    np.testing.assert_allclose(rouge.score([hypothesis], [references], "standard")[0], best, rtol=1e-12)
    assert rouge.score([(), (), ("a",)], [[()], [("a",)], [()]], "standard").tolist() == [0, 0, 0]


def test_very_long_sentences() -> None:
    long = tuple("ab" * 1000)
    assert rouge.score([long, ("a", "b")], [[("b", "a")], [long]])[0] > 0
    assert bleu.statistics([long], [[long]]).correct[0].tolist() == [2000, 1999, 1998, 1997]


def test_corpus_value_of_two_pairs() -> None:
    pairs = [
        ("a man is standing in a room", "a man is seen standing in a kitchen"),
        ("the cat sat on the mat", "the cat sat"),
    ]
    columns = [said for said, _ in pairs], [[meant] for _, meant in pairs]
    scorer = PairScorer(["BLEU-1", "BLEU-4"])
    np.testing.assert_allclose(
        scorer.sentence(*columns)["BLEU-1"], [0.7430381995735735, 0.4999999999166668], rtol=1e-14
    )
    corpus = scorer.calls(*columns, np.zeros(2, np.int64), 1)
    np.testing.assert_allclose(corpus["BLEU-1"], [0.692307692254438], rtol=1e-14)
    np.testing.assert_allclose(corpus["BLEU-4"], [6.5119e-05], rtol=1e-4)


def test_groups_without_pairs_are_zero_and_repeated_pairs_count_again() -> None:
    scorer = PairScorer(["BLEU-1", "ROUGE-L"])
    values = scorer.calls(["a b"] * 3, [["a b"], ["c"], ["a b"]], np.array([0, 0, 2]), 4)
    np.testing.assert_allclose(values["ROUGE-L"], [0.5, 0, 1, 0])
    np.testing.assert_allclose(values["BLEU-1"], [0.5, 0, 1, 0], atol=1e-8)
    assert scorer.pairs == 2


@pytest.fixture(scope="module")
def golden(shared: Path) -> list[dict]:
    pairs = json.loads((shared / "golden/text/sentence_scores.json").read_text())["pairs"]
    return [pair for pair in pairs if "sentence" in pair]


def test_sentence_scores_of_the_original(golden: list[dict]) -> None:
    def split(line: str) -> tuple[str, ...]:
        return tuple(line.split(" ")) if line else ()

    hypotheses = [split(pair["hyp_tok"]) for pair in golden]
    references = [[split(line) for line in pair["refs_tok"]] for pair in golden]
    scores = bleu.score(bleu.statistics(hypotheses, references))
    for n in range(4):
        expected = [pair["sentence"][f"Bleu_{n + 1}"] for pair in golden]
        np.testing.assert_allclose(scores[:, n], expected, rtol=1e-12, atol=1e-15)
    expected = [pair["sentence"]["ROUGE_L"] for pair in golden]
    np.testing.assert_allclose(rouge.score(hypotheses, references), expected, rtol=1e-12)
