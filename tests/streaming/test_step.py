"""The step: against an independent reading of it, and equal however it is run."""

import dataclasses

import jax
import numpy as np
import pytest

from lvc_jax.models import LiveCaptioner
from lvc_jax.streaming import batched_step, init, init_batch, pad_rows, step, step_fn
from lvc_jax.streaming.step import _step
from tests.streaming.conftest import CONFIG, MODEL, assert_close, assert_same, play, random_stream


def oracle(params, config, segments, fraction):
    """Captions of the last of `segments` in plain Python: (query, tokens, start, end, score) in order."""
    window = segments[-config.memory :]
    rows = np.concatenate([segment for segment in window if len(segment)])
    places = [i * (len(rows) - 1) / (MODEL.num_frames - 1) for i in range(MODEL.num_frames)]
    features = np.stack([rows[int(np.ceil(x - 0.5 - 1e-9))] for x in places])  # nearest, ties down
    length = len(window) - 1 + fraction
    model = LiveCaptioner(MODEL)
    out = model.apply(params, features[None], np.array([length * config.segment_seconds], np.float32))
    tokens, log_probs = model.apply(
        params, out["hidden"][-1], out["references"][-1], out["memory"], method=LiveCaptioner.decode
    )
    p = 1 / (1 + np.exp(-np.asarray(out["class_logits"][-1][0], np.float64)))
    count = max(int(np.argmax(out["count_logits"][-1][0])), config.min_events)
    found = []
    for query in range(MODEL.num_queries):
        said = [int(token) for token in np.asarray(tokens[0, query]) if token]
        centre, width = np.asarray(out["boxes"][-1][0, query], np.float64)
        ends = [((centre + sign * width / 2) * length - (len(window) - 1)) / fraction for sign in (-1, 1)]
        start, end = np.clip(ends, 0, 1)
        sentence = float(np.asarray(log_probs[0, query])[: len(said)].sum())
        if said and end > start:
            found.append((query, said, start, end, p[query] + config.ec_alpha * sentence / (len(said) ** 2 + 1e-5)))
    best = sorted(found, key=lambda item: (-item[4], item[0]))[:count]
    return sorted(best, key=lambda item: (item[2], item[3], -item[4], item[0]))


@pytest.mark.parametrize("length", [1, 2, 3, 5])
@pytest.mark.parametrize("fraction", [1.0, 0.4])
def test_agrees_with_an_independent_reading(params, length, fraction):
    config = dataclasses.replace(CONFIG, consolidation="rerank", min_events=4)
    segments = random_stream(length, [3, 1, 4, 2, 2][:length])
    outputs, _ = play(params, segments, config, last_fraction=fraction)
    captions, expected = outputs[-1], oracle(params, config, segments, fraction)
    assert expected
    assert captions["query"][captions["valid"]].tolist() == [item[0] for item in expected]
    for slot, (_, said, start, end, score) in enumerate(expected):
        assert captions["tokens"][slot][: len(said)].tolist() == said
        assert not captions["tokens"][slot][len(said) :].any()
        found = [captions[name][slot] for name in ("start", "end", "score")]
        np.testing.assert_allclose(found, [start, end, score], atol=1e-5)


def test_a_dropped_segment_emits_nothing_and_leaves_a_gap_that_lasts(params):
    config = dataclasses.replace(CONFIG, consolidation="rerank", min_events=4)
    segments = random_stream(5, [3, 0, 2])
    outputs, state = play(params, segments, config)
    assert not outputs[1]["valid"].any()
    assert outputs[1]["count"] == 0
    assert state.segment == 3
    assert np.asarray(state.n_valid).tolist() == [3, 0, 2]
    expected = oracle(params, config, segments, 1.0)
    assert outputs[2]["query"][outputs[2]["valid"]].tolist() == [item[0] for item in expected]
    np.testing.assert_allclose(outputs[2]["start"][: len(expected)], [item[2] for item in expected], atol=1e-5)


def test_scan_equals_stepping(params):
    segments = random_stream(7, [2, 4, 0, 1, 3])
    padded = [pad_rows(CONFIG, rows) for rows in segments]
    inputs = np.stack([rows for rows, _ in padded]), np.array([n for _, n in padded], np.int32)

    @jax.jit
    def scan(params, state):
        return jax.lax.scan(lambda carry, xs: step(params, carry, *xs), state, inputs)

    final, scanned = scan(params, init(CONFIG))
    outputs, state = play(params, segments)
    for k, captions in enumerate(outputs):
        assert_close(captions, {name: np.asarray(values[k]) for name, values in scanned.items()})
    assert_close({"rows": np.asarray(state.rows)}, {"rows": np.asarray(final.rows)})


def test_streams_of_different_length_stepped_together_equal_single_ones(params):
    streams = [random_stream(i, [3] * length) for i, length in enumerate((4, 1, 2))]
    states = init_batch(init(CONFIG), len(streams))
    for k in range(4):
        padded = [pad_rows(CONFIG, stream[k] if k < len(stream) else []) for stream in streams]
        rows, n_valid = np.stack([rows for rows, _ in padded]), np.array([n for _, n in padded])
        states, captions = batched_step(params, states, rows, n_valid, np.ones(3))
        for i, stream in enumerate(streams):
            own = {name: np.asarray(values[i]) for name, values in captions.items()}
            if k < len(stream):
                assert_close(play(params, stream[: k + 1])[0][-1], own)
            else:
                assert not own["valid"].any()


def test_skipping_a_dropped_segment_equals_running_it(params):
    state = play(params, random_stream(0, [2, 3]))[1]
    copy = jax.tree.map(lambda leaf: leaf.copy(), state)
    arguments = np.zeros((CONFIG.max_rows, MODEL.feature_dim), np.float32), np.int32(0), np.float32(1)
    skipped, silent = step(params, state, *arguments)
    run, captions = jax.jit(step_fn)(params, copy, *arguments)
    assert_same(jax.tree.map(np.asarray, silent), jax.tree.map(np.asarray, captions))
    for first, second in zip(jax.tree.leaves(skipped), jax.tree.leaves(run), strict=True):
        np.testing.assert_array_equal(first, second)


def test_one_compilation_serves_every_segment_length_and_kind_of_number(params):
    config = dataclasses.replace(CONFIG, memory=2)
    before = _step._cache_size()
    for seconds in (None, 3.5, 60.0):
        state = init(config, params, segment_seconds=seconds)
        for n_valid, fraction in ((2, 1.0), (0, 1), (np.int64(1), np.float32(0.5)), (jax.numpy.int32(3), 0.25)):
            state, _ = step(params, state, np.ones((CONFIG.max_rows, MODEL.feature_dim)), n_valid, fraction)
    assert _step._cache_size() == before + 1


def test_parameters_placed_on_a_device_cost_no_second_compilation(params):
    placed = jax.device_put(params, jax.devices()[1])
    before = _step._cache_size()
    play(placed, random_stream(0, [2, 2, 2]))
    assert _step._cache_size() == before + 1


def test_whole_video_is_one_step_of_the_same_function(params):
    config = dataclasses.replace(CONFIG, consolidation="rerank", min_events=4)
    rows = random_stream(9, [4])
    state, captions = step(params, init(config, segment_seconds=40.0), *pad_rows(config, rows[0]))
    longer = dataclasses.replace(config, segment_frames=1200)
    assert_close(play(params, rows, longer)[0][0], jax.tree.map(np.asarray, captions))
    assert state.segment == 1


def test_the_state_is_donated(params):
    state = init(CONFIG)
    rows = state.rows
    step(params, state, *pad_rows(CONFIG, random_stream(0, [2])[0]))
    assert rows.is_deleted()


def test_a_beam_captions_every_query_and_only_captions_change(params):
    config = dataclasses.replace(CONFIG, beam_size=3, consolidation="rerank", mode="reference", min_events=4)
    rows = random_stream(5, [4, 3, 2])
    beam, greedy = (play(params, rows, dataclasses.replace(config, beam_size=size))[0] for size in (3, 1))
    better = 0
    for found, plain in zip(beam, greedy):
        order, plain_order = np.argsort(found["query"]), np.argsort(plain["query"])
        np.testing.assert_allclose(found["proposal_score"][order], plain["proposal_score"][plain_order], atol=1e-6)
        better += np.sum(found["tokens"][order] != plain["tokens"][plain_order])
    assert better
