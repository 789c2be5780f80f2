"""The extractors tsp and r2plus1d_18, with networks of a few channels."""

import numpy as np
import pytest

from lvc_jax.backbones import tsp_clips
from lvc_jax.backbones.tsp import ClipExtractor, clip_features, pixel_features
from lvc_jax.backbones.tsp_pixels import preprocess_jit
from lvc_jax.errors import InputError
from tests.backbones import tiny

FPS = 30


def extractor(depth=18, **options):
    return ClipExtractor("tsp", tiny.config(depth), tiny.variables(depth), **options)


@pytest.fixture(scope="module")
def frames():
    return np.random.default_rng(1).integers(0, 256, (150, 18, 24, 3), dtype=np.uint8)


def run(extractor, frames, duration=None):
    """All rows, and after how many frames each came."""
    state, rows, came = extractor.init(), [], []
    for number, frame in enumerate(frames):
        state, new = extractor.push(state, number / FPS, frame)
        rows += new
        came += [number] * len(new)
    rest = extractor.finish(state, len(frames) / FPS if duration is None else duration)
    return np.stack(rows + rest), came


@pytest.fixture(scope="module")
def whole(frames):
    return run(extractor(), frames)


def test_rows_are_the_features_of_the_clips(frames, whole):
    rows, came = whole
    assert rows.shape == (4, 32) and rows.dtype == np.float32
    assert came == [32, 64, 96, 128]
    clips = np.stack([frames[first : first + 32 : 2] for first in range(0, 128, 32)])
    wanted = pixel_features(tiny.config(18), tiny.variables(18), clips)
    np.testing.assert_allclose(rows, wanted, atol=1e-5 * np.abs(wanted).max())


def test_batches_give_the_same_rows(frames, whole):
    for batch in (3, 8):
        rows, _ = run(extractor(batch_clips=batch), frames)
        np.testing.assert_allclose(rows, whole[0], atol=1e-5 * np.abs(whole[0]).max())


def test_later_frames_change_nothing(frames, whole):
    changed = frames.copy()
    changed[64:] = 255 - changed[64:]
    rows, _ = run(extractor(), changed)
    np.testing.assert_array_equal(rows[:2], whole[0][:2])
    assert np.abs(rows[2:] - whole[0][2:]).max() > 1e-3


def test_push_leaves_the_state_as_it_was(frames):
    made = extractor()
    state = made.init()
    for number in range(31):
        state, _ = made.push(state, number / FPS, frames[number])
    first = [made.push(state, 32 / FPS, frames[32])[1] for _ in range(2)]
    np.testing.assert_array_equal(first[0], first[1])


def test_the_frame_may_be_overwritten_after_the_push(frames, whole):
    made = extractor()
    state, rows, buffer = made.init(), [], np.empty_like(frames[0])
    for number, frame in enumerate(frames[:40]):
        buffer[:] = frame
        state, new = made.push(state, number / FPS, buffer)
        rows += new
    np.testing.assert_array_equal(rows[0], whole[0][0])


@pytest.mark.parametrize("count", [1, 10, 30])
def test_a_short_video_repeats_its_last_resampled_frame(frames, count):
    rows, came = run(extractor(), frames[:count])
    picked = list(range(0, count, 2))
    clip = frames[picked + picked[-1:] * (16 - len(picked))][None]
    wanted = pixel_features(tiny.config(18), tiny.variables(18), clip)
    assert len(rows) == 1 and not came
    np.testing.assert_allclose(rows, wanted, atol=1e-5 * np.abs(wanted).max())


def test_no_frame_no_row():
    assert extractor().finish(extractor().init(), 3.0) == []


def test_pictures_of_different_sizes(frames):
    state, new = tsp_clips.ClipState(), []
    for number, size in enumerate([18, 12, 6] * 20):
        state, clips = tsp_clips.push(state, number / FPS, frames[number, :size])
        new += clips
    np.testing.assert_array_equal(new[0][1], preprocess_jit(frames[2, :6]))


def test_bad_frames(frames):
    state, _ = tsp_clips.push(tsp_clips.ClipState(), 1.0, frames[0])
    for time, frame in ((0.5, frames[0]), (float("nan"), frames[0]), (2.0, frames[0].astype(np.float32))):
        with pytest.raises(InputError, match="frame at"):
            tsp_clips.push(state, time, frame)


def test_one_program_for_all_clips(frames):
    before = clip_features._cache_size()
    run(extractor(depth=34, batch_clips=3), frames)
    assert clip_features._cache_size() == before + 1
