"""From the model's outputs to captions: scores, counts, boxes, and parity with the PDVC reference's rerank."""

import dataclasses
import json

import numpy as np
import pytest

from lvc_jax.streaming.decide import decide, event_count, segment_times
from tests.streaming.conftest import CONFIG

REFERENCE = dataclasses.replace(CONFIG, mode="reference", consolidation="rerank", min_events=0)


@pytest.fixture(scope="module")
def cases(shared):
    return json.loads((shared / "golden" / "pdvc" / "postprocess_rerank.json").read_text())["cases"]


@pytest.mark.parametrize("alpha", ["0.3", "1.0"])
@pytest.mark.parametrize("index", [0, 1, 2])
def test_rerank_in_reference_mode_gives_the_reference_numbers(cases, index, alpha):
    case = cases[index]
    given, expected = case["input"], case["after_rerank"][alpha]
    logits = np.array(given["pred_logits"], np.float32)
    words = len(given["seq"][0]) if given["seq"] else 4
    tokens = np.array(given["seq"] or np.zeros((len(logits), words)), np.int32)
    tokens *= np.cumprod(tokens != 0, axis=1)
    log_probs = np.array(given["logprob"] or np.zeros((len(logits), words)), np.float32)
    config = dataclasses.replace(REFERENCE, ec_alpha=float(alpha))
    count = event_count(config, logits, np.array(given["pred_count"], np.float32))
    boxes = np.array(given["pred_boxes_center_length"], np.float32)
    result = decide(config, logits, boxes, tokens, log_probs, count, 0, 1.0)
    assert count == expected[0]["pred_event_count"]
    assert np.asarray(result["valid"]).sum() == len(expected)
    for slot, item in enumerate(expected):
        assert result["query"][slot] == item["query_id"]
        times = np.array([result["start"][slot], result["end"][slot]]) * given["duration"]
        np.testing.assert_allclose(times, item["timestamp"], rtol=1e-5, atol=1e-5)
        for ours, theirs in (("score", "joint_score"), ("proposal_score",) * 2, ("sentence_score",) * 2):
            np.testing.assert_allclose(result[ours][slot], item[theirs], rtol=1e-5, atol=1e-6)
        sentence = " ".join(f"w{token:02d}" for token in np.asarray(result["tokens"][slot]) if token)
        assert item["sentence"] == (sentence + "." if sentence else "")


def small(config, tokens, boxes=((0.5, 1.0), (0.5, 1.0)), past=0, fraction=1.0, count=2):
    tokens = np.array(tokens, np.int32)
    log_probs = np.full(tokens.shape, -1.0, np.float32)
    logits = np.array([0.0, 1.0], np.float32)
    return decide(config, logits, np.array(boxes, np.float32), tokens, log_probs, count, past, fraction)


def test_score_adds_the_length_modulated_caption_confidence():
    result = small(dataclasses.replace(CONFIG, ec_alpha=0.3, consolidation="rerank"), [[4, 5, 0], [6, 0, 0]])
    by_query = dict(zip(np.asarray(result["query"]).tolist(), np.asarray(result["score"]).tolist(), strict=True))
    assert by_query[0] == pytest.approx(0.5 - 0.3 * 2 / (4 + 1e-5), abs=1e-6)
    assert by_query[1] == pytest.approx(1 / (1 + np.exp(-1)) - 0.3 / (1 + 1e-5), abs=1e-6)


@pytest.mark.parametrize("how", ["slot", "events", "rerank"])
def test_an_empty_caption_is_no_caption_in_paper_mode(how):
    result = small(dataclasses.replace(CONFIG, consolidation=how), [[4, 5, 0], [0, 0, 0]], count=1)
    assert np.asarray(result["valid"]).tolist() == [True, False]
    assert result["query"][0] == 0


def test_all_empty_emits_nothing_in_paper_mode():
    assert not np.asarray(small(CONFIG, [[0, 0], [0, 0]])["valid"]).any()


def test_a_count_of_zero_emits_nothing():
    assert not np.asarray(small(CONFIG, [[1, 0], [2, 0]], count=0)["valid"]).any()


def test_boxes_move_from_the_window_to_the_current_segment():
    # Two whole segments before half a one: the window lasts 2.5 segments and the current one starts at 0.8 of it.
    start, end = segment_times(np.array([[0.9, 0.1], [0.9, 0.4], [0.4, 0.2]], np.float32), 2, 0.5)
    np.testing.assert_allclose(start, [0.25, 0, 0], atol=1e-5)
    np.testing.assert_allclose(end, [0.75, 1, 0], atol=1e-5)


@pytest.mark.parametrize(("how", "kept"), [("events", 1), ("rerank", 1), ("slot", 1)])
def test_a_box_wholly_before_the_segment_emits_only_in_slot_mode(how, kept):
    result = small(dataclasses.replace(CONFIG, consolidation=how), [[4, 0], [4, 0]], ((0.9, 0.1), (0.2, 0.1)), past=1)
    assert np.asarray(result["valid"]).sum() == kept
    assert result["query"][0] == (1 if how == "slot" else 0)


def test_count_is_the_argmax_but_never_below_the_least():
    logits = np.zeros(4, np.float32)
    silent = np.array([5.0, 1, 0, 0, 0], np.float32)
    assert event_count(dataclasses.replace(CONFIG, min_events=0), logits, silent) == 0
    assert event_count(dataclasses.replace(CONFIG, min_events=2), logits, silent) == 2
    assert event_count(REFERENCE, logits, silent) == 1


def test_without_a_counter_the_likely_queries_are_counted():
    config = dataclasses.replace(CONFIG, min_events=0)
    assert event_count(config, np.array([-0.1, 0.0, 2.0, -3.0], np.float32), None) == 2
