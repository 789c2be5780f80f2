"""The properties that make captioning live (Live Video Captioning paper, section 3.1), with memory M = 3.

Those of times and order are checked under every consolidation: `slot` speaks of whole segments, so only `events` and
`rerank` put the model's boxes to the test.
"""

import dataclasses

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.streaming import init, pad_rows, step
from lvc_jax.streaming.items import caption_items
from tests.streaming.conftest import CONFIG, assert_close, assert_same, play, random_stream

counts = st.lists(st.integers(0, CONFIG.max_rows), min_size=1, max_size=7)
every_consolidation = pytest.mark.parametrize(
    "config",
    [dataclasses.replace(CONFIG, consolidation=how) for how in ("slot", "events", "rerank")],
    ids=lambda c: c.consolidation,
)


def test_memory_changes_captions(params):
    last = random_stream(0, [3])
    first, _ = play(params, random_stream(1, [3, 3]) + last)
    second, _ = play(params, random_stream(2, [3, 3]) + last)
    forgotten, _ = play(params, random_stream(3, [3]) + random_stream(1, [3, 3]) + last)
    assert first[-1]["valid"].any()
    assert (first[-1]["tokens"] != second[-1]["tokens"]).any()
    assert_same(forgotten[-1], first[-1])  # what lies further back than the memory has no influence


def test_captions_are_not_all_the_same(params):
    outputs, _ = play(params, random_stream(0, [3] * 12))
    said = {tuple(tokens) for out in outputs for tokens in out["tokens"][out["valid"]]}
    assert len(said) > 3


@every_consolidation
@given(counts=counts, data=st.data())
def test_causality_later_input_changes_nothing_before_it_bit_for_bit(params, config, counts, data):
    changed = data.draw(st.integers(0, len(counts) - 1))
    first, second = random_stream(0, counts), random_stream(1, counts)
    before, _ = play(params, first, config)
    after, _ = play(params, first[:changed] + second[changed:], config)
    for k in range(changed):
        assert_same(before[k], after[k])


@every_consolidation
@given(counts=counts, data=st.data())
def test_unknown_length_a_stream_does_not_know_when_it_will_end(params, config, counts, data):
    end = data.draw(st.integers(1, len(counts)))
    whole, _ = play(params, random_stream(0, counts), config)
    part, _ = play(params, random_stream(0, counts)[:end], config)
    for k in range(end):
        assert_same(whole[k], part[k])


@pytest.mark.parametrize("how", ["events", "rerank"])
def test_some_boxes_begin_or_end_inside_their_segment(params, how):
    outputs, _ = play(params, random_stream(0, [3] * 6), dataclasses.replace(CONFIG, consolidation=how))
    said = [(start, end) for out in outputs for start, end in zip(out["start"], out["end"], strict=True) if end > 0]
    assert any(start > 0 or end < 1 for start, end in said)


@every_consolidation
@given(counts=counts, fraction=st.floats(0.01, 1))
def test_temporal_adjustment_no_caption_reaches_beyond_now(params, config, counts, fraction):
    outputs, _ = play(params, random_stream(0, counts), config, last_fraction=fraction)
    for k, captions in enumerate(outputs):
        valid = captions["valid"]
        assert (captions["start"][valid] >= 0).all()
        assert (captions["start"][valid] < captions["end"][valid]).all()
        assert (captions["end"][valid] <= 1).all()
        now = (k + (fraction if k == len(outputs) - 1 else 1.0)) * CONFIG.segment_seconds
        for item in caption_items(captions, k, (k * CONFIG.segment_seconds, now)):
            assert k * CONFIG.segment_seconds - 1e-6 <= item["timestamp"][0] <= item["timestamp"][1] <= now


def test_irreversibility_emitted_captions_stay_as_they_were(params):
    state, kept, copies = init(CONFIG, params), [], []
    for rows in random_stream(0, [2, 3, 0, 4, 1]):
        state, captions = step(params, state, *pad_rows(CONFIG, rows))
        kept.append(captions)
        copies.append(jax.tree.map(np.array, captions))
    for captions, copy in zip(kept, copies, strict=True):
        assert_same(jax.tree.map(np.asarray, captions), copy)


@every_consolidation
@given(data=st.data())
def test_interleaved_streams_get_what_each_gets_alone(params, config, data):
    lengths = data.draw(st.lists(st.integers(1, 4), min_size=2, max_size=3))
    streams = [random_stream(i, [2] * length) for i, length in enumerate(lengths)]
    turns = data.draw(st.permutations([i for i, length in enumerate(lengths) for _ in range(length)]))
    states = [init(config, params) for _ in streams]
    outputs = [[] for _ in streams]
    for i in turns:
        rows = streams[i][len(outputs[i])]
        states[i], captions = step(params, states[i], *pad_rows(config, rows))
        outputs[i].append(jax.tree.map(np.array, captions))
    for stream, found in zip(streams, outputs, strict=True):
        alone, _ = play(params, stream, config)
        for expected, captions in zip(alone, found, strict=True):
            assert_close(expected, captions)


@pytest.mark.parametrize("garbage", [np.nan, 1e30])
def test_padding_rows_do_not_matter(params, garbage):
    rows, n_valid = pad_rows(CONFIG, random_stream(0, [2])[0])
    _, clean = step(params, init(CONFIG), rows, n_valid)
    dirty = rows.copy()
    dirty[2:] = garbage
    _, captions = step(params, init(CONFIG), dirty, n_valid)
    assert_same(jax.tree.map(np.asarray, clean), jax.tree.map(np.asarray, captions))
