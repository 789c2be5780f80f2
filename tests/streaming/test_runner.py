"""The live loop: the same captions as offline, dropped segments, failures, a clean early end."""

import threading

import numpy as np
import pytest

from lvc_jax.backbones.clocked import ClockedExtractor
from lvc_jax.backbones.protocol import RowClock
from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.errors import InputError
from lvc_jax.streaming import offline, runner
from lvc_jax.streaming.capture import Capture
from tests.streaming.conftest import CONFIG, MODEL


class SixMeans(ClockedExtractor):
    """Six numbers of a window's mean colour, of about unit size."""

    info = RowClock("six_means", MODEL.feature_dim, 0.4, 0.4)

    def reduce(self, frame):
        return frame[:1, :1]

    def describe(self, times, pictures):
        mean = pictures.reshape(-1, 3).mean(0) / 64 - 2
        return np.concatenate([mean, np.sin(mean * 3)]).astype(np.float32)


def pictures(seconds, rate=10):
    rng = np.random.default_rng(0)
    for i in range(round(seconds * rate)):
        yield i / rate, rng.integers(0, 255, 3, np.uint8) * np.ones((2, 2, 3), np.uint8)


def live(params, frames, **options):
    found, segments = [], []

    def on_captions(segment, items, delay):
        assert delay >= 0
        segments.append(segment)
        found.extend(items)

    stop = options.pop("stop", None)
    capture = Capture(frames, SixMeans(), CONFIG.segment_frames, stop=stop)
    summary = runner.run(params, CONFIG, capture, options.pop("on_captions", on_captions), stop=stop, **options)
    return summary, found, segments


def test_live_captions_are_those_of_the_recorded_video(params):
    runner.warm_up(params, CONFIG)
    summary, found, segments = live(params, pictures(5.0))
    extractor = SixMeans()
    state, rows = extractor.init(), []
    for item in pictures(5.0):
        state, new = extractor.push(state, *item)
        rows += new
    features = np.stack(rows + extractor.finish(state, 5.0))
    clip = offline.live_segments(features, FeatureInfo("six_means", 6, 0.4, 0.4), 5.0, CONFIG.segment_frames)
    expected = offline.predict(params, CONFIG, [("v", clip, 5.0)], batch=2)["v"]
    assert found
    assert [item["tokens"] for item in found] == [item["tokens"] for item in expected]
    for ours, theirs in zip(found, expected, strict=True):
        assert ours["segment"] == theirs["segment"]
        assert ours["timestamp"] == pytest.approx(theirs["timestamp"], abs=1e-4)
    assert (summary.segments, summary.captions, summary.dropped_segments) == (7, len(found), 0)
    assert [segment.index for segment in segments] == list(range(7))
    assert summary.duration_s == pytest.approx(5.0)
    assert 0 < summary.step_latency_p50_s <= summary.step_latency_p95_s <= summary.caption_delay_p95_s + 1
    assert summary.real_time_factor > 0
    assert summary.time_to_first_caption_s > 0


def test_a_late_captioner_drops_whole_segments_counts_them_and_keeps_the_clock(params):
    taken = []

    def slow(segment, items, delay):
        for thread in threading.enumerate():
            if thread.name == "capture":
                thread.join(10)  # the whole stream is complete before the first caption is out
        assert not (segment.dropped and items)
        taken.append(segment)

    summary, _, _ = live(params, pictures(16.0), drop=True, on_captions=slow)
    assert [segment.index for segment in taken] == list(range(20))
    assert [segment.index for segment in taken if not segment.dropped][-2:] == [18, 19]
    assert summary.dropped_segments in (17, 18)
    assert summary.dropped_segments == sum(segment.dropped for segment in taken)


def test_a_failing_source_raises_in_the_caller(params):
    def frames():
        yield from pictures(2.0)
        raise InputError("stream.mp4: damaged video data")

    taken, summary = [], runner.Summary()
    with pytest.raises(InputError, match="damaged"):
        live(params, frames(), on_captions=lambda segment, items, delay: taken.append(segment.span), summary=summary)
    assert taken == [pytest.approx(span) for span in [(0, 0.8), (0.8, 1.6), (1.6, 2.0)]]  # the partial one too
    assert summary.segments == 3
    assert summary.duration_s == pytest.approx(2.0)
    assert summary.real_time_factor > 0


def test_features_that_are_not_finite_are_refused(params, monkeypatch):
    monkeypatch.setattr(SixMeans, "describe", lambda *_: np.full(6, np.nan, np.float32))
    with pytest.raises(InputError, match="NaN"):
        live(params, pictures(2.0))


def test_stop_ends_the_run_although_the_source_would_go_on(params):
    stop = threading.Event()

    def on_captions(segment, items, delay):
        stop.set()

    summary, _, _ = live(params, pictures(100_000), stop=stop, on_captions=on_captions)
    assert 1 <= summary.segments < 20
    assert summary.duration_s < 20


def test_stop_does_not_wait_for_a_source_that_delivers_nothing(params, monkeypatch):
    monkeypatch.setattr(runner, "STOP_GRACE_S", 0.1)
    stop, never = threading.Event(), threading.Event()

    def frames():
        yield from pictures(1.0)
        stop.set()
        never.wait(30)

    summary, _, _ = live(params, frames(), stop=stop)
    assert summary.segments == 1
    never.set()
