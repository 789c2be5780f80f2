"""The window that a training sample shows is the one that the stream's step makes of the same rows."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.data.annotations import Event
from lvc_jax.data.datasets.records import VideoRecord
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.pipeline_samples import SampleConfig, make_sample
from lvc_jax.data.segments import num_segments, segment_span
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.streaming import StreamConfig, init, pad_rows
from lvc_jax.streaming.offline import live_segments
from lvc_jax.streaming.step import push, window
from tests.streaming.conftest import MODEL

VOCAB = WordVocabulary.build(["a"])


@given(
    stride=st.sampled_from([0.4, 0.5, 1.0]),
    frames=st.sampled_from([24, 48, 77]),
    memory=st.integers(1, 3),
    tenths=st.integers(8, 120),
    place=st.integers(0, 100),
)
def test_training_sees_what_the_stream_will_see(stride, frames, memory, tenths, place):
    duration = tenths / 10
    info = FeatureInfo("any", MODEL.feature_dim, stride, stride)
    n_rows = max(1, int(np.ceil(duration / stride - 1e-6)))
    features = np.random.default_rng(tenths).normal(size=(n_rows, MODEL.feature_dim)).astype(np.float32)
    record = VideoRecord("v", duration, ((Event(0.0, duration, "a"),),), features, info)
    k = place % num_segments(duration, frames)
    cfg = SampleConfig((frames,), memory, num_frames=MODEL.num_frames, max_events=1, max_len=5)
    sample = make_sample(record, k, frames, cfg, VOCAB)
    config = StreamConfig(MODEL, segment_frames=frames, memory=memory, max_rows=9)
    state = init(config)
    for rows in live_segments(features, info, duration, frames)[: k + 1]:
        state = push(state, *pad_rows(config, rows))
    np.testing.assert_array_equal(sample["features"], np.asarray(window(state)))
    start, end = segment_span(k, frames, duration)
    past = min(int(state.segment), memory) - 1
    fraction = (end - start) / config.segment_seconds
    np.testing.assert_allclose(sample["duration"], (past + fraction) * config.segment_seconds, rtol=1e-5)
    # The event covers the segment, so its box is the part of the window after the past segments.
    centre, length = sample["boxes"][0]
    np.testing.assert_allclose([centre - length / 2, centre + length / 2], [past / (past + fraction), 1], atol=1e-5)
