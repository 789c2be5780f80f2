"""PairScorer: names, sentence values, calls, memory of pairs, and refusals."""

import json
import types
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics.text import bleu, cider, rouge, scorers
from lvc_jax.metrics.text.scorers import SCORERS, PairScorer
from lvc_jax.metrics.text.tokenizer import tokenize

WITHOUT_METEOR = tuple(name for name in SCORERS if name != "METEOR")
GOLDEN = {"BLEU-1": "Bleu_1", "BLEU-2": "Bleu_2", "BLEU-3": "Bleu_3", "BLEU-4": "Bleu_4", "ROUGE-L": "ROUGE_L"}

TEXT = st.text(st.sampled_from("ab .,!'\n\x00é"), max_size=8)
ITEM = st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3))
READING = st.sampled_from(["reference", "standard"])


def columns(items: list) -> tuple[list, list]:
    return [h for h, _ in items], [r for _, r in items]


class FakeMeteor(types.ModuleType):
    """Word counts in place of METEOR's statistics; remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__("lvc_jax.metrics.text.meteor")
        self.asked: list[str] = []

    def require(self) -> None:
        pass

    def statistics(self, hypotheses: list[str], references: list[list[str]]) -> np.ndarray:
        self.asked += hypotheses
        rows = np.zeros((len(hypotheses), 23))
        rows[:, 0] = [len(text.split(" ")) for text in hypotheses]
        rows[:, 1] = [len(group[0].split(" ")) for group in references]
        return rows

    def sentence(self, stats: np.ndarray) -> np.ndarray:
        return stats[:, 0] / (stats[:, 0] + stats[:, 1])

    def aggregate(self, stats: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
        sums = np.zeros((groups, 23))
        np.add.at(sums, group, stats)
        return sums[:, 0] / np.maximum(sums[:, 0] + sums[:, 1], 1)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeMeteor:
    module = FakeMeteor()
    monkeypatch.setattr(scorers, "meteor", module)
    monkeypatch.setattr(scorers, "_METEOR_PAIRS", 10**9)
    return module


@given(st.lists(ITEM, max_size=6), READING)
def test_equal_to_the_scorers_called_by_themselves(items: list, reading: str) -> None:
    hypotheses, references = columns(items)
    scores = PairScorer(WITHOUT_METEOR, reading=reading).sentence(hypotheses, references)
    tokens, others = [tokenize(h) for h in hypotheses], [[tokenize(r) for r in group] for group in references]
    expected = bleu.score(bleu.statistics(tokens, others), reading)
    for n in range(4):
        np.testing.assert_array_equal(scores[f"BLEU-{n + 1}"], expected[:, n])
    np.testing.assert_array_equal(scores["ROUGE-L"], rouge.score(tokens, others, reading))
    np.testing.assert_array_equal(scores["CIDEr"], cider.score(tokens, others, reading=reading))
    assert all(np.isfinite(values).all() for values in scores.values())


@given(st.lists(st.tuples(ITEM, st.integers(0, 2)), max_size=8), READING, st.randoms())
def test_a_group_is_one_call_whatever_the_order_of_the_items(rows: list, reading: str, random) -> None:
    scorer = PairScorer(WITHOUT_METEOR, reading=reading)
    together = scorer.calls(*columns([item for item, _ in rows]), np.array([g for _, g in rows], np.int64), 3)
    shuffled = random.sample(rows, len(rows))
    again = scorer.calls(*columns([item for item, _ in shuffled]), np.array([g for _, g in shuffled], np.int64), 3)
    for group in range(3):
        mine = [item for item, g in rows if g == group]
        alone = PairScorer(WITHOUT_METEOR, reading=reading).calls(*columns(mine), np.zeros(len(mine), np.int64), 1)
        for name in WITHOUT_METEOR:
            np.testing.assert_allclose(together[name][group], alone[name][0], rtol=1e-12, atol=1e-15)
            np.testing.assert_allclose(again[name][group], together[name][group], rtol=1e-9, atol=1e-12)


@given(st.lists(ITEM, max_size=6), st.integers(0, 6))
def test_items_in_two_calls_score_as_in_one(items: list, cut: int) -> None:
    names = [name for name in WITHOUT_METEOR if name != "CIDEr"]
    whole = PairScorer(names).sentence(*columns(items))
    scorer = PairScorer(names)
    parts = [scorer.sentence(*columns(part)) for part in (items[:cut], items[cut:])]
    for name in names:
        np.testing.assert_array_equal(np.concatenate([part[name] for part in parts]), whole[name])


@given(st.lists(ITEM, min_size=1, max_size=4))
def test_repeated_items_change_no_mean(items: list) -> None:
    once = PairScorer(["BLEU-4", "ROUGE-L"]).calls(*columns(items), np.zeros(len(items), np.int64), 1)
    twice = PairScorer(["BLEU-4", "ROUGE-L"]).calls(*columns(items * 2), np.zeros(2 * len(items), np.int64), 1)
    np.testing.assert_allclose(twice["ROUGE-L"], once["ROUGE-L"], rtol=1e-12)
    np.testing.assert_allclose(twice["BLEU-4"], once["BLEU-4"], rtol=1e-5, atol=1e-6)


def test_every_distinct_pair_is_scored_once(fake: FakeMeteor) -> None:
    scorer = PairScorer(["METEOR", "ROUGE-L"])
    first = scorer.sentence(["A man.", "A man.", "A dog."], [["a cat sits"], ["a cat sits"], ["a cat sits"]])
    # The first pair is asked for by itself, to meet missing resources once.
    assert fake.asked == ["a man", "a man", "a dog"]
    second = scorer.calls(["A dog.", "A man."], [["a cat sits"], ["a cat sits"]], [1, 1], 2)
    assert len(fake.asked) == 3
    np.testing.assert_allclose(first["METEOR"], [0.4, 0.4, 0.4])
    np.testing.assert_allclose(second["METEOR"], [0, 0.4])
    assert list(first) == ["METEOR", "ROUGE-L"]


def test_no_pairs_ask_meteor_nothing(fake: FakeMeteor) -> None:
    scorer = PairScorer(SCORERS)
    assert all(values.shape == (0,) for values in scorer.sentence([], []).values())
    assert all((values == np.zeros(3)).all() for values in scorer.calls([], [], [], 3).values())
    assert fake.asked == []


def test_meteor_without_its_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lvc_jax.metrics.text.meteor.sources.find", lambda: None)
    with pytest.raises(InputError, match=r"METEOR.*\[meteor\]"):
        PairScorer(["METEOR"])
    assert PairScorer(["BLEU-1"]).sentence(["a"], [["a"]])["BLEU-1"][0] > 0.99


@pytest.mark.parametrize(
    ("hypotheses", "references", "message"),
    [
        (["a"], [], "1 captions and 0 lists"),
        (["a"], [[]], "item 0: references must be a list"),
        (["a"], ["a"], "item 0: references must be a list"),
        (["a", 3], [["a"], ["b"]], "item 1: captions and references must be strings"),
        (["a"], [["a", None]], "item 0: captions and references must be strings"),
    ],
)
def test_bad_items_are_refused(hypotheses: list, references: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PairScorer(["BLEU-1"]).sentence(hypotheses, references)


def test_bad_names_and_groups_are_refused() -> None:
    with pytest.raises(InputError, match="scorer 'Bleu_4': choose from BLEU-1"):
        PairScorer(["Bleu_4"])
    with pytest.raises(InputError, match="reading='toolkit'"):
        PairScorer(["BLEU-4"], reading="toolkit")
    with pytest.raises(InputError, match="group 2 to 2: must be from 0 to 1"):
        PairScorer(["BLEU-4"]).calls(["a"], [["a"]], [2], 2)
    with pytest.raises(InputError, match="2 groups for 1 items"):
        PairScorer(["BLEU-4"]).calls(["a"], [["a"]], [0, 0], 2)


ODD = ["", " ", "...", "?!", "\x00\x1f", "\u2028\r\n", "\ud800", "caf\u00e9 \U0001f600", "word " * 300, "x" * 5000]


@pytest.mark.parametrize("reading", ["reference", "standard"])
def test_odd_captions_have_finite_scores(reading: str) -> None:
    hypotheses = [h for h in ODD for _ in ODD]
    references = [[r] for _ in ODD for r in ODD]
    scorer = PairScorer(WITHOUT_METEOR, reading=reading)
    group = np.arange(len(hypotheses)) % 7
    for values in (scorer.sentence(hypotheses, references), scorer.calls(hypotheses, references, group, 7)):
        assert all(np.isfinite(column).all() for column in values.values())
    if reading == "standard":
        blank = PairScorer(WITHOUT_METEOR, reading=reading).sentence([""], [[""]])
        assert all(column[0] == 0 for column in blank.values())


def test_scores_of_the_original(shared: Path) -> None:
    golden = json.loads((shared / "golden/text/sentence_scores.json").read_text())
    pairs = golden["pairs"]
    hypotheses, references = [pair["hyp_raw"] for pair in pairs], [pair["refs_raw"] for pair in pairs]
    scorer = PairScorer(WITHOUT_METEOR)
    corpus = scorer.calls(hypotheses, references, np.zeros(len(pairs), np.int64), 1)
    for name in WITHOUT_METEOR:
        np.testing.assert_allclose(corpus[name][0], golden["corpus"][GOLDEN.get(name, name)], rtol=1e-12)
    sentence = scorer.sentence(hypotheses, references)
    for index, pair in enumerate(pairs):
        if "sentence" in pair:
            assert tokenize(pair["hyp_raw"]) == tuple(filter(None, pair["hyp_tok"].split(" ")))
            for name in WITHOUT_METEOR:
                expected = pair["sentence"][{**GOLDEN, "CIDEr": "CIDEr_corpus_df"}[name]]
                np.testing.assert_allclose(sentence[name][index], expected, rtol=1e-12, atol=1e-15)
