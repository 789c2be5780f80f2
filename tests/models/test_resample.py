"""Resampling against fractions."""

import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.models import resample_indices


def exact(length, num_frames):
    """Nearest row, ties down, by rational arithmetic."""
    places = [Fraction(i * (length - 1), max(num_frames - 1, 1)) for i in range(num_frames)]
    return [math.ceil(place - Fraction(1, 2)) for place in places]


@given(length=st.integers(1, 3000), num_frames=st.integers(1, 250))
def test_equals_rational_arithmetic(length, num_frames):
    indices = resample_indices(length, num_frames)
    assert indices.dtype == np.int32
    assert indices.tolist() == exact(length, num_frames)


def test_known_counts_and_ties():
    assert np.bincount(resample_indices(4, 100)).tolist() == [17, 33, 33, 17]
    assert resample_indices(1, 4).tolist() == [0, 0, 0, 0]
    assert resample_indices(2, 3).tolist() == [0, 0, 1]
    assert resample_indices(4, 7).tolist() == [0, 0, 1, 1, 2, 2, 3]


@pytest.mark.parametrize("length", [1, 2, 99, 100, 1_000_000])
def test_traced_lengths_give_the_same(length):
    traced = jax.jit(lambda rows: resample_indices(rows, 100))(length)
    assert traced.tolist() == resample_indices(length, 100).tolist()
