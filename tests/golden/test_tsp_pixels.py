"""TSP's preprocessing and clip grid against outputs of its own code."""

import itertools
import json
import zlib

import numpy as np
import pytest

from lvc_jax.backbones import tsp_clips
from lvc_jax.backbones.tsp_pixels import preprocess_jit


@pytest.fixture(scope="module")
def stored(shared):
    return json.loads((shared / "golden" / "pdvc" / "tsp_preprocess.json").read_text(encoding="utf-8"))


def video(tag, shape):
    return np.random.default_rng(zlib.crc32(tag.encode())).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("case", range(4))
def test_preprocessing(stored, case):
    case = stored["cases"][case]
    frames = video(case["tag"], case["shape"])
    assert int(frames.sum(dtype=np.int64)) == case["uint8_sum"]
    out = np.asarray(preprocess_jit(frames)).transpose(3, 0, 1, 2)
    assert list(out.shape) == case["out_shape"]
    close = {"rtol": 0, "atol": 2e-6}
    np.testing.assert_allclose(out[:, 0, :6, :6], case["slice_a"], **close)
    np.testing.assert_allclose(out[:, -1, ::16, ::16], case["slice_b"], **close)
    np.testing.assert_allclose(out.mean(axis=(1, 2))[:, ::8], case["col_mean"], **close)
    np.testing.assert_allclose(out.mean(axis=(1, 3))[:, ::8], case["row_mean"], **close)
    np.testing.assert_allclose(out.ravel()[:8], case["stats"]["first8"], **close)
    np.testing.assert_allclose(out.ravel()[-8:], case["stats"]["last8"], **close)


def picked(times, duration, monkeypatch):
    """The frame numbers of each clip, of frames that show nothing but their number."""
    monkeypatch.setattr(tsp_clips, "preprocess_jit", lambda frame: int(frame[0, 0, 0]) + 256 * int(frame[0, 0, 1]))
    state, clips = tsp_clips.ClipState(), []
    for number, time in enumerate(times):
        frame = np.array([[[number % 256, number // 256, 0]]], np.uint8)
        state, new = tsp_clips.push(state, time, frame)
        clips += new
    return [[int(number) for number in clip] for clip in clips + tsp_clips.finish(state, duration)]


def cases(stored):
    """Those of TSP's setting: clips of 16 frames, one after the other, at 15 frames a second."""
    return [case for case in stored["clip_grid"]["cases"] if (case["stride"], case["frame_rate"]) == (16, 15)]


def in_clip(case):
    indices = case["frame_index_in_clip"]
    return list(range(0, 16 * int(indices.split()[-1]), int(indices.split()[-1]))) if "step" in indices else indices


@pytest.mark.parametrize("case", range(7))
@pytest.mark.parametrize("base", [None, 90000])
def test_clip_grid(stored, case, base, monkeypatch):
    case = cases(stored)[case]
    fps = {29.97: 30000 / 1001, 23.976: 24000 / 1001}.get(case["fps"], case["fps"])
    times = [number / fps for number in range(case["video_frames"])]
    if base:
        times = [round(time * base) / base for time in times]
    clips = picked(times, case["video_frames"] / fps, monkeypatch)
    assert len(clips) == case["num_clips"]
    starts = [clip[0] / case["fps"] for clip in clips]
    np.testing.assert_allclose(starts[:6], case["clip_t_start_first6"], atol=1e-5)
    assert starts[-1] == pytest.approx(case["clip_t_start_last"], abs=1e-4)
    for clip in clips:
        assert [number - clip[0] for number in clip] == in_clip(case)


@pytest.mark.parametrize("fps", [25, 30, 50, 60])
def test_times_in_whole_milliseconds_pick_the_same_frames(fps, monkeypatch):
    exact = [number / fps for number in range(10 * fps)]
    wanted = picked(exact, 10.0, monkeypatch)
    assert picked([round(time, 3) for time in exact], 10.0, monkeypatch) == wanted
    step = fps / 15
    assert wanted == [[int(16 * k * step + 1e-9) + int(j * step + 1e-9) for j in range(16)] for k in range(9)]


def test_all_cases_of_the_setting_are_run(stored):
    assert len(cases(stored)) == 7
    assert len(stored["cases"]) == 4


def test_a_stall_shows_the_last_frame_and_then_follows_the_clock(monkeypatch):
    times = [0.0, *itertools.takewhile(lambda time: time < 12, (9.0 + number / 30 for number in itertools.count()))]
    clips = picked(times, 12.0, monkeypatch)
    assert len(clips) == 11
    assert clips[:8] == [[0] * 16] * 8
    assert clips[8][0] == 0 and clips[8][-1] == 1 + 16  # the frame at 8.533 + 1 s
