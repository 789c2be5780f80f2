"""Captioners that know nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.evaluation import baselines

REFERENCES = {"v": {"duration": 5.0, "references": [[]]}}


def test_most_frequent_sentence_and_its_ties() -> None:
    assert baselines.most_frequent_sentence(["b", "a", "b", "a", "c"]) == "a"
    assert baselines.most_frequent_sentence([]) is None


def test_most_frequent_fills_every_segment() -> None:
    items = baselines.most_frequent(REFERENCES, "a", 60)["v"]
    assert [item["timestamp"] for item in items] == [[0, 2], [2, 4], [4, 5]]
    assert [item["segment"] for item in items] == [0, 1, 2]
    assert baselines.most_frequent(REFERENCES, "a", "video")["v"][0]["timestamp"] == [0, 5]
    assert baselines.most_frequent(REFERENCES, None, 60) == baselines.always_silent(REFERENCES) == {"v": []}


def test_verbalised_argmax() -> None:
    scores = [np.array([[0.0, 1.0, 0.2], [3.0, 1.0, 0.2]]), np.array([[0.0, 0.1, 0.2]]), np.zeros((0, 3))]
    items = baselines.verbalised_argmax(REFERENCES, {"v": scores}, (None, "cuts", "mixes"), 60)["v"]
    assert [(item["segment"], item["sentence"]) for item in items] == [(1, "mixes")]


@given(st.integers(1, 30), st.integers(0, 5))
def test_no_video_borrows_from_itself(number: int, seed: int) -> None:
    lenders = baselines.other_video(number, seed)
    assert sorted(lenders) == list(range(number))
    assert number == 1 or (lenders != np.arange(number)).all()
    assert (lenders == baselines.other_video(number, seed)).all()


@given(st.integers(1, 9), st.integers(1, 20))
def test_borrowed_rows_are_the_lenders_in_turn(number: int, length: int) -> None:
    rows = np.arange(number, dtype=np.float32)[:, None]
    borrowed = baselines.borrowed_rows(rows, length, 3, 0)[:, 0]
    assert len(borrowed) == length
    assert (np.diff(borrowed) % number == 1 % number).all()
    if number > 1:
        assert borrowed[0] != 0


def test_choice_of_baselines() -> None:
    assert baselines.choose(["all"], "moving_shapes") == ("always_silent", "most_frequent", "shuffled_features")
    assert baselines.choose(["all"], "fifty_salads")[-1] == "verbalised_argmax"
    assert baselines.choose(["none"], "x") == ()
    assert baselines.choose(["most_frequent"], "x") == ("most_frequent",)
    for names in (["oracle"], ["verbalised_argmax"], ["all", "none"]):
        with pytest.raises(InputError, match="--baselines"):
            baselines.choose(names, "moving_shapes")
