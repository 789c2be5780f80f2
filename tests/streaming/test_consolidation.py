"""The temporal filter against plain Python on random predictions full of ties."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.streaming.consolidation import consolidate, precedes, select_top

WORDS = 3
QUERIES = 6
consolidate_jit = jax.jit(consolidate, static_argnames="how")


def oracle(rows, member, how):
    """rows: (tokens, start, end, score) a query. Returns the emitted (query, start, end, score), in order."""
    members = [q for q in range(len(rows)) if member[q]]
    if how == "rerank":
        groups = [[q] for q in members]
    elif how == "slot":
        groups = [members] if members else []
    else:
        groups, left = [], set(members)
        while left:
            group, frontier = set(), [min(left)]
            while frontier:
                q = frontier.pop()
                group.add(q)
                for other in left - group:
                    together = rows[q][1] < rows[other][2] and rows[other][1] < rows[q][2]
                    if rows[q][0] == rows[other][0] and together:
                        frontier.append(other)
            groups.append(sorted(group))
            left -= group
    emitted = []
    for group in groups:
        votes = {q: sum(rows[q][0] == rows[other][0] for other in group) for q in group}
        best = min(group, key=lambda q: (-votes[q], -rows[q][3], rows[q][1], q))
        assert rows[best][3] == max(rows[q][3] for q in group if rows[q][0] == rows[best][0])
        start, end = (0.0, 1.0) if how == "slot" else rows[best][1:3]
        emitted.append((best, start, end, rows[best][3]))
    return sorted(emitted, key=lambda item: (item[1], item[2], -item[3], item[0]))


predictions = st.tuples(
    st.tuples(st.integers(1, 2), st.integers(0, 1), st.just(0)),
    st.sampled_from([0.0, 0.25, 0.5]),
    st.sampled_from([0.0, 0.25, 0.5]),
    st.sampled_from([-1.0, 0.25, 0.5]),
).map(lambda p: (p[0], p[1], p[1] + p[2], p[3]))


def arrays(rows):
    scores = np.array([row[3] for row in rows], np.float32)
    return {
        "tokens": np.array([row[0] for row in rows], np.int32),
        "start": np.array([row[1] for row in rows], np.float32),
        "end": np.array([row[2] for row in rows], np.float32),
        "score": scores,
        "proposal_score": scores + 10,
        "sentence_score": scores - 10,
    }


@pytest.mark.parametrize("how", ["slot", "events", "rerank"])
@given(
    rows=st.lists(predictions, min_size=QUERIES, max_size=QUERIES),
    member=st.lists(st.booleans(), min_size=QUERIES, max_size=QUERIES),
)
def test_agrees_with_plain_python(how, rows, member):
    result = jax.tree.map(np.asarray, consolidate_jit(arrays(rows), np.array(member), how))
    expected = oracle(rows, member, how)
    count = len(expected)
    assert result["valid"].tolist() == [True] * count + [False] * (QUERIES - count)
    found = list(zip(*(result[name][:count].tolist() for name in ("query", "start", "end", "score")), strict=True))
    assert found == expected
    for slot, (query, *_) in enumerate(expected):
        assert tuple(result["tokens"][slot]) == rows[query][0]
        assert result["proposal_score"][slot] == result["score"][slot] + 10
        assert result["sentence_score"][slot] == result["score"][slot] - 10
    for name, values in result.items():
        assert not values[count:].any(), f"unused slots of {name} are not zero"


def test_simultaneous_events_with_different_words_survive_and_duplicates_merge():
    rows = [((1, 2, 0), 0.0, 0.9, 0.2), ((3, 0, 0), 0.0, 0.9, 0.9), ((1, 2, 0), 0.1, 1.0, 0.4)]
    result = consolidate(arrays(rows), np.ones(3, bool), "events")
    assert np.asarray(result["query"])[:2].tolist() == [1, 2]
    assert np.asarray(result["valid"]).tolist() == [True, True, False]


def test_the_same_words_at_separate_times_are_separate_events():
    rows = [((1, 0, 0), 0.0, 0.25, 0.2), ((1, 0, 0), 0.25, 0.5, 0.9)]
    assert np.asarray(consolidate(arrays(rows), np.ones(2, bool), "events")["valid"]).tolist() == [True, True]


def test_groups_are_transitive_over_long_chains():
    rows = [((1, 0, 0), 0.1 * i, 0.1 * i + 0.15, 0.1 * i) for i in range(9)]
    result = consolidate(arrays(rows), np.ones(9, bool), "events")
    assert np.asarray(result["valid"]).sum() == 1
    assert result["query"][0] == 8


def test_slot_lets_the_most_frequent_caption_win_over_a_better_scored_one():
    rows = [((1, 0, 0), 0.0, 0.5, 0.9), ((2, 0, 0), 0.0, 0.5, 0.1), ((2, 0, 0), 0.0, 0.5, 0.3)]
    result = consolidate(arrays(rows), np.ones(3, bool), "slot")
    assert result["query"][0] == 2
    assert result["score"][0] == np.float32(0.3)
    assert (result["start"][0], result["end"][0]) == (0, 1)


@given(keys=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=7))
def test_precedes_is_the_lexicographic_order(keys):
    first, second = (np.array(column, np.float32) for column in zip(*keys, strict=True))
    order = sorted(range(len(keys)), key=lambda i: (*keys[i], i))
    expected = np.zeros((len(keys), len(keys)), bool)
    for position, i in enumerate(order):
        expected[i, order[position + 1 :]] = True
    np.testing.assert_array_equal(precedes(first, second), expected)


@given(
    rows=st.lists(st.tuples(st.sampled_from([0.1, 0.2]), st.sampled_from([0.1, 0.2]), st.booleans()), min_size=1),
    count=st.integers(0, 12),
)
def test_select_top_takes_the_best_candidates(rows, count):
    score, proposal, candidate = (np.array(column) for column in zip(*rows, strict=True))
    order = sorted(np.flatnonzero(candidate), key=lambda i: (-score[i], -proposal[i], i))
    expected = np.isin(np.arange(len(rows)), order[:count])
    np.testing.assert_array_equal(select_top(score, proposal, candidate, count), expected)
