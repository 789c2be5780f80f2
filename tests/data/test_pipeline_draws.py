"""Which segments are drawn: every one when uniform, the asked share of silence where the videos allow it."""

import numpy as np
import pytest

from lvc_jax.data import segments
from lvc_jax.data.annotations import Event
from lvc_jax.data.pipeline_draws import DrawPlan
from lvc_jax.data.pipeline_samples import SampleConfig

DURATIONS = [10.0, 8.0, 13.0, 6.4]
EVENTS = [
    [(0.0, 1.0), (4.0, 4.5)],  # silent and speaking segments
    [(0.0, 8.0)],  # speaks all the time
    [],  # silent all the time
    [(0.8, 1.6), (1.6, 2.4), (6.0, 6.4)],
]


def make_plan(cfg: SampleConfig) -> DrawPlan:
    return DrawPlan(DURATIONS, [tuple(np.reshape(events, (-1, 2)).T) for events in EVENTS], cfg)


def is_silent(draw) -> bool:
    events = [Event(*span, "x") for span in EVENTS[draw.video]]
    return draw.k not in {piece.segment for piece in segments.cut(events, DURATIONS[draw.video], draw.segment_frames)}


def draws(cfg: SampleConfig, count: int = 4000):
    plan, rng = make_plan(cfg), np.random.default_rng(0)
    return [plan(i % len(DURATIONS), rng) for i in range(count)]


@pytest.mark.parametrize("share", [0.25, 0.4, 0.6])
def test_silent_share_is_met(share):
    found = np.mean([is_silent(draw) for draw in draws(SampleConfig((24, 48), silent_share=share))])
    assert abs(found - share) < 0.03


@pytest.mark.parametrize(("share", "found"), [(0.0, 0.25), (1.0, 0.75)])
def test_a_share_that_the_videos_cannot_give_is_approached(share, found):
    assert np.mean([is_silent(draw) for draw in draws(SampleConfig((24,), silent_share=share))]) == found


def test_uniform_draws_reach_every_segment_of_every_length():
    seen = {(draw.video, draw.k, draw.segment_frames) for draw in draws(SampleConfig((24, 60)))}
    want = {
        (video, k, frames)
        for video, duration in enumerate(DURATIONS)
        for frames in (24, 60)
        for k in range(segments.num_segments(duration, frames))
    }
    assert seen == want


def test_video_mode_draws_the_whole_video():
    assert set(draws(SampleConfig(mode="video"), 8)) == {(video, 0, 0) for video in range(4)}
