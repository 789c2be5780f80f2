"""colour_moments: what its numbers mean, checked on drawn pictures, and that they are finite on any."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from lvc_jax import backbones

RED, YELLOW, GREEN = (230, 30, 30), (230, 230, 30), (30, 230, 30)
SLOT = 24


@pytest.fixture(scope="module")
def extractor():
    return backbones.get("colour_moments")


def disc(x, y, radius, colour=RED, size=(128, 96), square=False, angle=0.0):
    """A coloured disc or square on grey; position and radius in parts of the height."""
    width, height = size
    v, u = np.meshgrid(np.arange(height) + 0.5, np.arange(width) + 0.5, indexing="ij")
    u, v = u / height - x, v / height - y
    u, v = np.cos(angle) * u + np.sin(angle) * v, np.cos(angle) * v - np.sin(angle) * u
    depth = radius - (np.maximum(np.abs(u), np.abs(v)) if square else np.hypot(u, v))
    cover = np.clip(depth * height + 0.5, 0, 1)[..., None]
    return np.round(90 * (1 - cover) + np.array(colour) * cover).astype(np.uint8)


def row(extractor, pictures, rate=10):
    state = extractor.init()
    for index, picture in enumerate(pictures):
        state, _ = extractor.push(state, index / rate, picture)
    (only,) = extractor.finish(state, len(pictures) / rate)
    assert only.dtype == np.float32
    assert only.shape == (extractor.info.dim,)
    return only


def slot(values, number=0):
    part = values[number * SLOT : (number + 1) * SLOT]
    return part[:6], part[6:]


@pytest.mark.parametrize(("colour", "hue"), [(RED, 0), (YELLOW, 1), (GREEN, 2), ((40, 60, 230), 4)])
def test_the_hue_is_named(extractor, colour, hue):
    which, numbers = slot(row(extractor, [disc(0.6, 0.5, 0.12, colour)] * 4))
    np.testing.assert_array_equal(which, np.eye(6)[hue])
    assert numbers[0] > 0.2


def test_a_grey_picture_fills_no_slot(extractor):
    values = row(extractor, [np.full((96, 128, 3), 120, np.uint8)] * 4)
    np.testing.assert_array_equal(values[: 3 * SLOT], 0)


def test_shape_numbers_do_not_change_with_place_size_rotation_or_colour_strength(extractor):
    """Entries 4 to 9: compactness, symmetries of order 2 to 5, kurtosis."""
    plain = slot(row(extractor, [disc(0.6, 0.5, 0.14, square=True)] * 4))[1][4:10]
    for other in (
        disc(0.3, 0.7, 0.14, square=True),
        disc(0.6, 0.5, 0.2, square=True),
        disc(0.6, 0.5, 0.14, square=True, angle=0.5),
        disc(0.6, 0.5, 0.14, (200, 60, 60), square=True),
        disc(0.6, 0.5, 0.14, size=(320, 240), square=True),
        disc(0.6, 0.5, 0.14, size=(171, 96), square=True),
    ):
        np.testing.assert_allclose(slot(row(extractor, [other] * 4))[1][4:10], plain, atol=0.2)


def test_a_disc_and_a_square_differ(extractor):
    round_one = slot(row(extractor, [disc(0.6, 0.5, 0.14)] * 4))[1]
    square = slot(row(extractor, [disc(0.6, 0.5, 0.124, square=True, angle=0.3)] * 4))[1]
    assert round_one[7] < 0.15 < 0.6 < square[7]


def test_motion_growth_blinking_and_turning(extractor):
    steps = range(4)
    still = slot(row(extractor, [disc(0.6, 0.5, 0.12)] * 4))[1]
    np.testing.assert_allclose(still[[10, 11, 12, 13, 17]], 0, atol=1e-3)
    right = slot(row(extractor, [disc(0.4 + 0.02 * i, 0.5, 0.12) for i in steps]))[1]
    left = slot(row(extractor, [disc(0.6 - 0.02 * i, 0.5, 0.12) for i in steps]))[1]
    down = slot(row(extractor, [disc(0.6, 0.4 + 0.02 * i, 0.12) for i in steps]))[1]
    assert right[10] > 0.5 > 0.05 > abs(right[11])
    assert left[10] == pytest.approx(-right[10], abs=0.05)
    assert down[11] > 0.5 > 0.05 > abs(down[10])
    grows = slot(row(extractor, [disc(0.6, 0.5, 0.1 + 0.01 * i) for i in steps]))[1]
    assert grows[12] > 0.3
    empty = np.full((96, 128, 3), 90, np.uint8)
    blinks = slot(row(extractor, [disc(0.6, 0.5, 0.12), empty] * 2))[1]
    assert blinks[13] > 0.7
    turns = slot(row(extractor, [disc(0.6, 0.5, 0.12, square=True, angle=0.15 * i) for i in steps]))[1]
    back = slot(row(extractor, [disc(0.6, 0.5, 0.12, square=True, angle=-0.15 * i) for i in steps]))[1]
    assert turns[17] > 0.5
    assert turns[15] == pytest.approx(-back[15], abs=0.05)


def test_the_rate_of_the_frames_does_not_matter(extractor):
    def moving(rate):
        return [disc(0.3 + 0.3 * i / rate, 0.5, 0.12) for i in range(round(0.4 * rate))]

    slow, fast = (slot(row(extractor, moving(rate), rate))[1] for rate in (10, 30))
    np.testing.assert_allclose(slow[10:14], fast[10:14], atol=0.06)


def test_what_changes_comes_before_what_rests(extractor):
    def both(shift):
        return np.where(disc(0.3, 0.5, 0.1) != 90, disc(0.3, 0.5, 0.1), disc(0.9, 0.4 + shift, 0.1, GREEN))

    values = row(extractor, [both(0.02 * i) for i in range(4)])
    assert slot(values, 0)[0].argmax() == 2
    assert slot(values, 1)[0].argmax() == 0
    resting = row(extractor, [both(0)] * 4)
    assert slot(resting, 0)[0].argmax() == 0


@given(
    size=st.tuples(st.integers(1, 70), st.integers(1, 70)),
    count=st.integers(1, 4),
    seed=st.integers(0, 2**16),
    kind=st.sampled_from(["noise", "flat", "saturated", "speck"]),
)
def test_always_finite(extractor, size, count, seed, kind):
    rng = np.random.default_rng(seed)
    pictures = rng.integers(0, 256, (count, *size, 3), dtype=np.uint8)
    if kind == "flat":
        pictures[:] = pictures[0, 0, 0]
    elif kind == "saturated":
        pictures = np.where(pictures > 127, 255, 0).astype(np.uint8)
    elif kind == "speck":
        pictures[:] = 0
        pictures[:, 0, 0] = (255, 0, 0)
    values = row(extractor, list(pictures))
    assert np.isfinite(values).all()
    assert np.abs(values).max() <= 8
