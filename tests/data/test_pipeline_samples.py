"""A sample against a second computation in exact fractions, and the hard cases of the conventions by hand."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.data import segments
from lvc_jax.data.annotations import Event
from lvc_jax.data.datasets.records import VideoRecord
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.pipeline_samples import SampleConfig, cut_window, make_sample
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.errors import InputError

INFO = FeatureInfo("numbers", 2, 0.5, 0.5)
VOCAB = WordVocabulary.build(["a b c d e f g"])


def _spans(boxes: np.ndarray) -> np.ndarray:
    """(centre, length) as (start, end)."""
    return np.stack([boxes[:, 0] - boxes[:, 1] / 2, boxes[:, 0] + boxes[:, 1] / 2], axis=-1)


def make(duration: float, events, n_rows: int | None = None, info: FeatureInfo = INFO) -> VideoRecord:
    n_rows = n_rows or int(duration / info.stride_s)
    rows = np.stack([np.arange(n_rows), np.full(n_rows, 7)], axis=1).astype(np.float32)
    return VideoRecord("v", duration, (tuple(Event(*event) for event in events),), rows, info)


def expected(record: VideoRecord, k: int, frames: int, cfg: SampleConfig) -> dict:
    """The conventions once more, slowly: hundredths of a second, exact arithmetic, plain loops."""

    def exact(value: float) -> Fraction:
        return Fraction(round(value * 100), 100)

    step, duration = Fraction(frames, 30), exact(record.duration)
    first = max(0, k - cfg.memory + 1)
    window = first * step, min((k + 1) * step, duration)
    segment = k * step, window[1]
    kept = []
    for event in record.events:
        start, end = max(exact(event.start), segment[0]), min(exact(event.end), segment[1])
        if start < end:
            kept.append((start, end, event.sentence))
    count = min(len(kept), cfg.max_count)
    while len(kept) > cfg.max_events:
        shortest = min(end - start for start, end, _ in kept)
        kept.pop(max(i for i, (start, end, _) in enumerate(kept) if end - start == shortest))
    length = window[1] - window[0]
    rows = []
    stride, span = exact(record.info.stride_s), exact(record.info.window_s)
    for segment_index in range(first, k + 1):
        low, high = segment_index * step, (segment_index + 1) * step
        last = high >= duration
        ends = [i * stride + span for i in range(len(record.features)) if i * stride < duration]
        own = [i for i, end in enumerate(ends) if (low < end or segment_index == 0) and (end <= high or last)]
        before = [i for i, end in enumerate(ends) if end <= low]
        rows += own or before[-1:]
    places = []
    for i in range(cfg.num_frames if rows else 0):
        place = Fraction(i * (len(rows) - 1), max(cfg.num_frames - 1, 1))
        lower = place.numerator // place.denominator
        places.append(rows[lower + (place - lower > Fraction(1, 2))])
    return {
        "rows": places,
        "duration": float(length),
        "boxes": [(float(((s + e) / 2 - window[0]) / length), float((e - s) / length)) for s, e, _ in kept],
        "sentences": [sentence for _, _, sentence in kept],
        "count": count,
    }


def check(record: VideoRecord, k: int, frames: int, cfg: SampleConfig) -> None:
    sample, want = make_sample(record, k, frames, cfg, VOCAB), expected(record, k, frames, cfg)
    n = len(want["boxes"])
    assert sample["features"].shape == (cfg.num_frames, 2)
    assert sample["features"].dtype == np.float32
    np.testing.assert_array_equal(sample["features"][:, 0], want["rows"] or np.zeros(cfg.num_frames))
    np.testing.assert_allclose(sample["duration"], want["duration"], rtol=1e-6)
    np.testing.assert_array_equal(sample["mask"], np.arange(cfg.max_events) < n)
    np.testing.assert_allclose(sample["boxes"][:n], np.reshape(want["boxes"], (n, 2)), atol=1e-6)
    assert [VOCAB.decode(tokens[1:]).rstrip(".") for tokens in sample["tokens"][:n]] == want["sentences"]
    assert int(sample["count"]) == want["count"]
    assert not sample["boxes"][n:].any()
    assert not sample["tokens"][n:].any()


hundredths = st.integers(0, 3000).map(lambda n: n / 100)


@st.composite
def videos(draw):
    duration = draw(st.integers(50, 3000)) / 100
    events = []
    for _ in range(draw(st.integers(0, 7))):
        start, end = sorted((draw(hundredths) % duration, draw(hundredths) % duration))
        start, end = round(start, 2), round(end, 2)
        if end > start:
            events.append((start, end, draw(st.sampled_from("abcdefg"))))
    stride, window = draw(st.sampled_from([(0.5, 0.5), (1.0, 1.0), (0.4, 0.8), (2.0, 2.0)]))
    info = FeatureInfo("numbers", 2, stride, window)
    return make(duration, events, draw(st.integers(1, 70)), info)


@given(videos(), st.sampled_from([24, 30, 48, 77, 150]), st.integers(1, 4), st.integers(0, 100), st.integers(1, 4))
def test_sample_equals_exact_arithmetic(record, frames, memory, place, slots):
    k = place % segments.num_segments(record.duration, frames)
    check(record, k, frames, SampleConfig((frames,), memory, num_frames=9, max_events=slots, max_count=3))


@given(videos(), st.sampled_from([7, 24, 48, 150]), st.integers(1, 4))
def test_window_rows_are_those_of_the_segments(record, frames, memory):
    n_rows, info = len(record.features), record.info
    rows = segments.segment_rows(info, n_rows, record.duration, frames)
    for k in range(len(rows)):
        window = cut_window(info, n_rows, record.duration, k, frames, memory)
        np.testing.assert_array_equal(window.rows, np.concatenate(rows[max(0, k - memory + 1) : k + 1]))


@given(videos(), st.sampled_from([24, 48, 150]))
def test_events_are_the_pieces_of_the_split_annotations(record, frames):
    cfg = SampleConfig((frames,), num_frames=4)
    pieces = segments.cut(record.events, record.duration, frames)
    for k in range(segments.num_segments(record.duration, frames)):
        sample = make_sample(record, k, frames, cfg, VOCAB)
        own = [piece for piece in pieces if piece.segment == k]
        assert int(sample["count"]) == len(own)
        start, end = segments.segment_span(k, frames, record.duration)
        spans = segments.to_seconds(_spans(sample["boxes"][: len(own)]), start, end)
        np.testing.assert_allclose(spans, np.reshape([(p.start, p.end) for p in own], (-1, 2)), atol=1e-5)


def test_partial_last_segment_with_memory():
    record = make(12.5, [(9.0, 12.5, "a"), (0.0, 9.5, "b")])
    sample = make_sample(record, 2, 150, SampleConfig((150,), memory=3, num_frames=5), VOCAB)
    assert sample["duration"] == 12.5
    # The segment is [10, 12.5): the second event is over, the first is clipped to it.
    np.testing.assert_allclose(sample["boxes"][0], [11.25 / 12.5, 2.5 / 12.5])
    assert sample["count"] == 1
    check(record, 2, 150, SampleConfig((150,), memory=3, num_frames=5))


def test_the_longest_overlaps_stay_in_their_order():
    events = [(0.0, 1.0, "a"), (0.0, 4.0, "b"), (1.0, 3.0, "c"), (2.0, 4.0, "d"), (0.5, 4.5, "e")]
    cfg = SampleConfig((150,), max_events=3, max_count=4)
    sample = make_sample(make(5.0, events), 0, 150, cfg, VOCAB)
    assert [VOCAB.decode(tokens[1:]).rstrip(".") for tokens in sample["tokens"]] == ["b", "c", "e"]
    assert sample["count"] == 4
    assert sample["mask"].all()


def test_of_equally_long_overlaps_the_first_stays():
    # 0.06 - 0.04 is less than 0.02 in floating point.
    record = make(0.5, [(0.04, 0.06, "a"), (0.0, 0.02, "b")], 1)
    sample = make_sample(record, 0, 24, SampleConfig((24,), max_events=1), VOCAB)
    assert VOCAB.decode(sample["tokens"][0, 1:]).rstrip(".") == "a"


def test_event_that_ends_on_a_boundary_is_not_in_the_next_segment():
    record = make(10.0, [(0.0, 0.8, "a"), (0.8, 2.4, "b")])
    for k, want in enumerate([1, 1, 1, 0]):
        assert make_sample(record, k, 24, SampleConfig((24,)), VOCAB)["count"] == want


def test_silent_segment():
    sample = make_sample(make(10.0, []), 1, 150, SampleConfig((150,)), VOCAB)
    assert sample["count"] == 0
    assert not sample["mask"].any()
    assert not sample["boxes"].any()


@given(videos())
def test_video_mode_is_one_segment(record):
    cfg = SampleConfig(mode="video", num_frames=8)
    sample = make_sample(record, 5, 24, cfg, VOCAB)
    assert sample["duration"] == np.float32(record.duration)
    assert sample["count"] == len(record.events)
    spans = _spans(sample["boxes"][: len(record.events)]) * record.duration
    np.testing.assert_allclose(spans, np.reshape([(e.start, e.end) for e in record.events], (-1, 2)), atol=1e-4)
    inside = [i for i in range(len(record.features)) if i * record.info.stride_s < record.duration - 1e-7]
    assert sample["features"][0, 0] == 0
    assert sample["features"][-1, 0] == max(inside, default=0)


def test_segment_past_the_end():
    with pytest.raises(IndexError):
        make_sample(make(10.0, []), 2, 150, SampleConfig((150,)), VOCAB)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"mode": "live"}, "mode"),
        ({"segment_frames": ()}, "segment_frames"),
        ({"segment_frames": (0,)}, "segment_frames"),
        ({"memory": 0}, "memory"),
        ({"max_len": 2}, "max_len"),
        ({"silent_share": 1.5}, "silent_share"),
    ],
)
def test_bad_config(values, words):
    with pytest.raises(InputError, match=words):
        SampleConfig(**values)
