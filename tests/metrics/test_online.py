"""Counts over slots: exact captions, silence, delay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.metrics import online, slots

VIDEO = {
    "duration": 12.0,
    "references": [[(0.0, 4.0, "A man runs."), (3.0, 5.0, "a dog barks")], [(1.0, 4.0, "somebody runs")]],
}


def item(segment: int, sentence: str, score: float = 1.0, **more: object) -> dict:
    return {"timestamp": [0, 1], "sentence": sentence, "segment": segment, "score": score, **more}


def test_slots_of_time() -> None:
    # Slots of 2.5 s: [0, 2.5) [2.5, 5) [5, 7.5) [7.5, 10) [10, 12).
    built = slots.build(VIDEO, [], 2.5)
    assert [(slot.start, slot.end) for slot in built] == [(0, 2.5), (2.5, 5), (5, 7.5), (7.5, 10), (10, 12)]
    assert [len(slot.events[0]) for slot in built] == [1, 2, 0, 0, 0]
    assert [len(slot.events[1]) for slot in built] == [1, 1, 0, 0, 0]


def test_a_caption_without_segment_goes_where_its_middle_is() -> None:
    assert slots.slot_of({"timestamp": [2.0, 4.0]}, 2.5, 5) == 1
    assert slots.slot_of({"timestamp": [11.0, 30.0]}, 2.5, 5) == 4


@given(st.sampled_from([24, 48, 72, 96, 120, 150]), st.integers(0, 2000), st.integers(0, 40))
def test_a_middle_on_a_border_is_in_the_slot_that_begins_there(frames: int, slot: int, half: int) -> None:
    step, half_s = frames / 30, half / 10
    for middle, expected in ((slot * step, slot), ((slot + 0.5) * step, slot)):
        assert slots.slot_of({"timestamp": [middle - half_s, middle + half_s]}, step, 10_000) == expected


def test_decimal_boundaries_make_no_extra_slot() -> None:
    assert slots.number_of_slots(0.8 * 30, 0.8) == 30
    assert slots.number_of_slots(24.01, 0.8) == 31
    assert slots.number_of_slots(0.0, 0.8) == 1
    built = slots.build({"duration": 2.4, "references": [[(0.8, 1.6, "a")]]}, [], 0.8)
    assert [slot.silent for slot in built] == [True, False, True]


def test_all_counts_by_hand() -> None:
    captions = [
        item(0, " a MAN runs"),  # right: case, blanks and the final period are nothing
        item(1, "a cat", 0.9),
        item(1, "a dog barks", 0.2),  # right, but not the best scored
        item(2, "a cat"),  # false
    ]
    result = online.score({"v": VIDEO}, {"v": captions}, 2.5)
    assert result["exact_match"] == 0.5
    assert result["exact_match_all"] == 0.5
    assert result["silent_kept"] == pytest.approx(2 / 3)
    assert result["count_accuracy"] == pytest.approx(4 / 5)
    assert result["false_captions_per_silent_minute"] == pytest.approx(60 / 7)
    assert result["delay_mean_s"] == pytest.approx((2.5 + 2.0) / 2)
    assert result["delay_missed_share"] == 0


def test_captions_are_counted_and_a_counter_apart_from_them() -> None:
    captions = [item(1, "a dog barks", count=2)]
    # Captions 0, 1, 0, 0, 0 of events 1, 2 (or 1), 0, 0, 0; what an item carries as `count` changes nothing.
    result = online.score({"v": VIDEO}, {"v": captions}, 2.5)
    assert result["count_accuracy"] == pytest.approx(4 / 5)
    assert "counter_accuracy" not in result
    counted = online.score({"v": VIDEO}, {"v": captions}, 2.5, counts={"v": [1, 3, 1, 0, 2]})
    assert counted == {**result, "counter_accuracy": pytest.approx(2 / 5)}
    assert online.score({"v": VIDEO}, {"v": [item(0, "a", count=2)]}, 2.5)["count_accuracy"] == pytest.approx(4 / 5)


def test_a_counter_answers_for_every_slot() -> None:
    with pytest.raises(ValueError, match="shorter"):
        online.score({"v": VIDEO}, {}, 2.5, counts={"v": [1, 3]})


def test_never_captioned_events() -> None:
    result = online.score({"v": VIDEO}, {"v": [item(0, "a man runs")]}, 2.5)
    assert result["delay_mean_s"] == 2.5
    assert result["delay_missed_share"] == 0.5


def test_nothing_to_count_is_none() -> None:
    busy = {"duration": 5.0, "references": [[(0.0, 5.0, "a")]]}
    result = online.score({"v": busy}, {}, 2.5)
    assert result["silent_kept"] is None
    assert result["false_captions_per_silent_minute"] is None
    assert result["delay_mean_s"] is None
    assert result["exact_match"] == 0
    silent = online.score({"v": {"duration": 5.0, "references": [[]]}}, {}, 2.5)
    assert silent["exact_match"] is None
    assert silent["silent_kept"] == 1


def test_whole_videos_are_counted_only() -> None:
    result = online.score({"v": VIDEO}, {"v": [item(0, "a man runs"), item(0, "a dog barks")]}, None)
    assert result == {"count_accuracy": 1}
    counted = online.score({"v": VIDEO}, {}, None, counts={"v": [2]})
    assert counted == {"count_accuracy": 0, "counter_accuracy": 1}
