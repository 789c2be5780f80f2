"""Recorded videos in lock-step: the same captions as each video's own stream."""

import dataclasses

import numpy as np
import pytest

from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.data.segments import num_segments
from lvc_jax.errors import InputError
from lvc_jax.streaming.items import caption_items
from lvc_jax.streaming.offline import live_segments, predict
from tests.streaming.conftest import CONFIG, MODEL, play, random_stream

DT = CONFIG.segment_seconds


def clip(seed, duration):
    count = num_segments(duration, CONFIG.segment_frames)
    return f"v{seed}", random_stream(seed, [2] * count), duration


def test_equals_each_stream_alone_in_the_order_given(params):
    clips = [clip(0, 2.5), clip(1, 0.3), clip(2, 4.1), clip(3, 0.8), clip(4, 1.0)]
    counted = []
    results = predict(params, CONFIG, iter(clips), batch=2, progress=counted.append)
    assert list(results) == [video for video, _, _ in clips]
    assert sum(counted) == sum(len(segments) for _, segments, _ in clips)
    for video, segments, duration in clips:
        spans = [(k * DT, min((k + 1) * DT, duration)) for k in range(len(segments))]
        outputs, _ = play(params, segments, last_fraction=(spans[-1][1] - spans[-1][0]) / DT)
        expected = [item for k, out in enumerate(outputs) for item in caption_items(out, k, spans[k])]
        assert len(results[video]) == len(expected)
        for ours, theirs in zip(results[video], expected, strict=True):
            for name in ("tokens", "segment", "query_id", "count"):
                assert ours[name] == theirs[name]
            assert ours["timestamp"] == pytest.approx(theirs["timestamp"], abs=1e-5)
            assert ours["score"] == pytest.approx(theirs["score"], abs=1e-5)
            assert ours["timestamp"][1] <= duration


def test_sentences_come_from_the_given_decoder(params):
    results = predict(params, CONFIG, [clip(0, 2.0)], batch=2, decode=lambda tokens: f"{len(tokens)} words")
    assert results["v0"]
    for item in results["v0"]:
        assert item["sentence"].endswith("words")
        assert "tokens" not in item


def test_whole_videos_are_one_segment_each(params):
    config = dataclasses.replace(CONFIG, consolidation="rerank", min_events=4)
    clips = [("a", random_stream(0, [4]), 31.0), ("b", random_stream(1, [2]), 7.0)]
    results = predict(params, config, clips, batch=2, whole_video=True)
    for video, _, duration in clips:
        assert results[video]
        for item in results[video]:
            assert item["segment"] == 0
            assert 0 <= item["timestamp"][0] < item["timestamp"][1] <= duration


@pytest.mark.parametrize(
    ("video", "message"),
    [
        (("v", random_stream(0, [1]), float("nan")), "video v: duration nan"),
        (("v", random_stream(0, [1]), 0.0), "video v: duration"),
        (("v", random_stream(0, [1]), 3.0), "video v: 1 segments for 3 s, expected 4"),
        (("v", random_stream(0, [5]), 0.5), "video v: segment 0: .*max_rows"),
        (("v", [np.full((1, 6), np.nan)], 0.5), "video v: segment 0: .*NaN"),
    ],
)
def test_bad_videos_are_named(params, video, message):
    with pytest.raises(InputError, match=message):
        predict(params, CONFIG, [video])


def test_an_id_that_comes_twice_is_refused(params):
    with pytest.raises(InputError, match="v0: comes twice"):
        predict(params, CONFIG, [clip(0, 0.5), clip(0, 0.5)])


def test_live_segments_hold_the_last_row_but_never_one_from_the_future():
    info = FeatureInfo("any", 1, 1.0, 1.0)
    features = np.arange(3, dtype=np.float32)[:, None]
    segments = live_segments(features, info, 3.0, 12)  # 0.4 s: rows end at 1, 2 and 3 s
    assert [rows.ravel().tolist() for rows in segments] == [[], [], [0], [0], [1], [1], [1], [2]]


def test_live_segments_of_a_video_shorter_than_a_row():
    segments = live_segments(np.ones((1, MODEL.feature_dim)), FeatureInfo("any", 6, 1.0, 1.0), 0.5, 12)
    assert [len(rows) for rows in segments] == [0, 1]
