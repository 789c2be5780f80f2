"""METEOR on hand-made linguistic files: every matcher, the aligner against all alignments, properties, bad input."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics.text import meteor
from lvc_jax.metrics.text.meteor import sources
from lvc_jax.metrics.text.meteor.align import align
from lvc_jax.metrics.text.meteor.matchers import EXACT, Match
from lvc_jax.metrics.text.meteor.scorer import Meteor
from tests.metrics.meteor_files import small_meteor

# Enough to meet every matcher, with and without ambiguity.
WORDS = [
    *("the", "a", "car", "cars", "automobile", "mouse", "mice", "begin", "start", "again", "once", "more"),
    *("many", "number", "of", "in", "order", "to", "so", "as"),
]
CAPTION = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
ITEM = st.tuples(CAPTION, st.lists(CAPTION, min_size=1, max_size=3))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Meteor:
    return small_meteor(tmp_path_factory.mktemp("meteor"))


def stages(row: np.ndarray) -> list[list[int]]:
    return row[4:20].reshape(4, 4).astype(int).tolist()


NONE = [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("hypothesis", "reference", "expected"),
    [
        ("the car", "the car", [[1, 1, 1, 1], NONE, NONE, NONE]),
        ("zebras", "zebra", [NONE, [1, 1, 0, 0], NONE, NONE]),
        ("car", "automobile", [NONE, NONE, [1, 1, 0, 0], NONE]),
        # A regular form by its ending, an irregular one by the list of exceptions.
        ("baked", "cook", [NONE, NONE, [1, 1, 0, 0], NONE]),
        ("went", "travel", [NONE, NONE, [1, 1, 0, 0], NONE]),
        ("mice", "rodents", [NONE, NONE, [1, 1, 0, 0], NONE]),
        ("in order to", "so as to", [NONE, NONE, NONE, [1, 2, 2, 1]]),
        # The table holds this entry in one direction; both directions match.
        ("once more", "again", [NONE, NONE, NONE, [2, 1, 0, 0]]),
        ("again", "once more", [NONE, NONE, NONE, [1, 2, 0, 0]]),
        # `v1` and `to` are one word to the original, but only `to` is a function word.
        ("v1", "to", [[1, 0, 0, 1], NONE, NONE, NONE]),
    ],
)
def test_each_matcher(small: Meteor, hypothesis: str, reference: str, expected: list) -> None:
    (row,) = small.statistics([hypothesis], [[reference]])
    assert stages(row) == expected
    assert row[20] == 1


def test_statistics_by_hand(small: Meteor) -> None:
    (row,) = small.statistics(["many cars begin the train"], [["a number of cars start in the train"]])
    # many ~ a number of; cars; begin ~ start (both directions); then a gap in the reference; the train
    expected = [5, 8, 1, 4, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 0, 2, 2, 5, 7]
    assert row.tolist() == expected
    precision = (0.75 * 2 + 0.25 * 1 + 0.6 * 0.75 * 2) / (0.75 * 4 + 0.25 * 1)
    recall = (0.75 * 2 + 0.25 * 1 + 0.6 * (0.75 * 2 + 0.25 * 2)) / (0.75 * 4 + 0.25 * 4)
    mean = 1 / (0.15 / precision + 0.85 / recall)
    assert meteor.sentence(row[None])[0] == pytest.approx(mean * (1 - 0.6 * (2 / 6) ** 0.2), abs=1e-15)


def best_by_trying_all(hypothesis: str, reference: str) -> tuple[int, int]:
    """The most matched words and then the fewest chunks over all ways to pair equal words."""
    options = [[None, *(j for j, h in enumerate(hypothesis) if h == r)] for r in reference]
    results = []
    for choice in itertools.product(*options):
        used = [j for j in choice if j is not None]
        if len(set(used)) == len(used):
            chunks = sum(j is not None and (i == 0 or choice[i - 1] != j - 1) for i, j in enumerate(choice))
            results.append((-len(used), chunks))
    words, chunks = min(results)
    return -words, chunks


@given(st.text("ab", min_size=1, max_size=3), st.text("ab", min_size=1, max_size=3))
def test_aligner_finds_the_best_of_all_alignments(hypothesis: str, reference: str) -> None:
    # Short enough for every state to fit into the beam.
    matches = {
        i: [Match(EXACT, i, 1, j, 1) for j, h in enumerate(hypothesis) if h == r]
        for i, r in enumerate(reference)
        if r in hypothesis
    }
    chosen = align(matches, len(reference)) if matches else []
    places = [(m.start, m.hyp_start) for m in chosen]
    chunks = sum((start - 1, hyp_start - 1) not in places for start, hyp_start in places)
    assert len({m.hyp_start for m in chosen}) == len(chosen)
    words, fewest = best_by_trying_all(hypothesis, reference)
    assert (len(chosen), chunks) == (words, fewest)


@given(ITEM)
def test_statistics_add_up(small: Meteor, item: tuple) -> None:
    hypothesis, references = item
    (row,) = small.statistics([hypothesis], [references])
    table = row[4:20].reshape(4, 4)
    assert row[21] == table[:, 0::2].sum() <= row[0] == len(hypothesis.split())
    assert row[22] == table[:, 1::2].sum() <= row[1]
    assert row[20] <= min(row[21], row[22])
    assert 0 <= meteor.sentence(row[None])[0] <= 1


@given(CAPTION, CAPTION)
def test_swapping_swaps_the_lengths(small: Meteor, one: str, other: str) -> None:
    forth, back = small.statistics([one, other], [[other], [one]])
    assert forth[[0, 1, 2, 3]].tolist() == back[[1, 0, 3, 2]].tolist()
    assert (forth[21] > 0) == (back[21] > 0)


@given(CAPTION)
def test_equal_captions_score_one(small: Meteor, caption: str) -> None:
    stats = small.statistics([caption], [[caption]])
    assert meteor.sentence(stats)[0] == (1 if caption else 0)


@given(st.lists(ITEM, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_order_duplicates_and_split_change_nothing(small: Meteor, items: list, random) -> None:
    hypotheses, references = [h for h, _ in items], [r for _, r in items]
    stats = small.statistics(hypotheses, references)
    order = list(range(len(items))) * 2
    random.shuffle(order)
    again = small.statistics([hypotheses[i] for i in order], [references[i] for i in order])
    assert np.array_equal(again, stats[order])
    alone = [small.statistics([h], [r])[0] for h, r in items]
    assert np.array_equal(alone, stats)


@given(ITEM)
def test_best_reference_and_first_of_equals(small: Meteor, item: tuple) -> None:
    hypothesis, references = item
    rows = small.statistics([hypothesis] * len(references), [[r] for r in references])
    best = rows[meteor.sentence(rows).argmax()]
    assert np.array_equal(small.statistics([hypothesis], [references])[0], best)


def test_separator_in_captions_is_read_as_the_toolkits_do(small: Meteor) -> None:
    hypothesis = small.statistics(["a ||| car"], [["a car"]])
    assert np.array_equal(hypothesis, small.statistics(["a car"], [["a car"]]))
    reference = small.statistics(["the car"], [["a train ||| the car is"]])
    assert np.array_equal(reference, small.statistics(["the car"], [["a train", "the car is"]]))


@given(st.lists(st.text(max_size=20), min_size=1, max_size=3))
def test_any_text_is_scored(small: Meteor, texts: list[str]) -> None:
    scores = meteor.sentence(small.statistics(texts, [texts] * len(texts)))
    assert np.isfinite(scores).all() and (scores >= 0).all() and (scores <= 1).all()


@given(st.lists(st.tuples(ITEM, st.integers(0, 2)), max_size=6))
def test_aggregate_sums_the_statistics(small: Meteor, items: list) -> None:
    group = np.array([g for _, g in items], np.int64)
    stats = small.statistics([h for (h, _), _ in items], [r for (_, r), _ in items])
    scores = meteor.aggregate(stats, group, 4)
    assert scores.shape == (4,) and scores[3] == 0
    for number in range(3):
        rows = stats[group == number].copy()
        if len(rows) == 1:
            assert scores[number] == meteor.sentence(rows)[0]
        rows[(rows[:, 21] == rows[:, 0]) & (rows[:, 22] == rows[:, 1]) & (rows[:, 20] == 1), 20] = 0
        assert scores[number] == meteor.sentence(rows.sum(axis=0)[None])[0]


def test_no_items(small: Meteor) -> None:
    assert small.statistics([], []).shape == (0, 23)
    assert meteor.sentence(np.zeros((0, 23))).shape == (0,)


@pytest.mark.parametrize("references", [[[]], ["a car"], [["a"], ["b"]]])
def test_bad_references_are_named(small: Meteor, references: list) -> None:
    with pytest.raises(InputError, match=r"METEOR: .*references?"):
        small.statistics(["a car"], references)


@pytest.mark.parametrize("version", [None, "3.0.1"])
def test_without_the_extra_one_error_names_it(monkeypatch: pytest.MonkeyPatch, version: str | None) -> None:
    def installed(name: str) -> str:
        if version is None:
            raise sources.importlib.metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(sources.importlib.metadata, "version", installed)
    meteor.scorer.default.cache_clear()
    assert not meteor.available()
    asks = [meteor.require, lambda: meteor.statistics(["a"], [["a"]]), lambda: meteor.verify_with_java(["a"], [["a"]])]
    for ask in asks:
        with pytest.raises(InputError, match=r"\[meteor\]"):
            ask()
