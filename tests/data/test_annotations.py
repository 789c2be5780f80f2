"""Reading timed captions: what is kept, repaired and counted."""

import json
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from lvc_jax.data import annotations
from lvc_jax.data.annotations import Event, Repair
from lvc_jax.data.annotations_repair import clean_sentence, repair_times
from lvc_jax.errors import InputError


@pytest.fixture
def write(tmp_path):
    def _write(content, name="a.json"):
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    return _write


def one(timestamps, sentences, duration=10.0, **extra):
    return {"v_1": {"duration": duration, "timestamps": timestamps, "sentences": sentences, **extra}}


def test_a_clean_file_is_taken_as_it_is(write):
    loaded = annotations.load(write(one([[0, 4], [2.5, 10]], ["a man runs", "He falls."])), strict=True)
    video = loaded.videos["v_1"]
    assert video.duration == 10.0
    assert video.events == (Event(0.0, 4.0, "a man runs"), Event(2.5, 10.0, "He falls."))
    assert not loaded.repairs


@pytest.mark.parametrize(
    ("span", "sentence", "expected", "counted"),
    [
        ([1, 2], "  a man", (1, 2, "a man"), {Repair.SPACE_STRIPPED: 1}),
        ([1, 2], "a  man", (1, 2, "a man"), {Repair.SPACE_COLLAPSED: 1}),
        ([1, 2], "a man\nruns", (1, 2, "a man runs"), {Repair.LINE_BREAK: 1, Repair.SPACE_COLLAPSED: 1}),
        ([1, 2], "a man\r\n", (1, 2, "a man"), {Repair.LINE_BREAK: 1, Repair.SPACE_STRIPPED: 1}),
        ([1, 2], "a\u0000man", (1, 2, "a man"), {Repair.CONTROL: 1}),
        ([1, 2], "a man \ud83d", (1, 2, "a man"), {Repair.CONTROL: 1}),
        ([1, 2], "cafe\u0301", (1, 2, "caf\u00e9"), {Repair.NORMALISED: 1, Repair.NON_ASCII: 1}),
        ([1, 2], "a caf\u00e9", (1, 2, "a caf\u00e9"), {Repair.NON_ASCII: 1}),
        ([3, 2], "a man", (2, 3, "a man"), {Repair.REVERSED: 1}),
        ([2, 2], "a man", None, {Repair.POINT: 1, Repair.SILENT_VIDEO: 1}),
        ([9, 12], "a man", (9, 10, "a man"), {Repair.CLIPPED: 1}),
        ([12, 9], "a man", (9, 10, "a man"), {Repair.REVERSED: 1, Repair.CLIPPED: 1}),
        ([10, 12], "a man", None, {Repair.AFTER_END: 1, Repair.SILENT_VIDEO: 1}),
        ([-0.005, 2], "a man", (0, 2, "a man"), {Repair.BELOW_ZERO: 1}),
        ([1, 2], " ", None, {Repair.EMPTY: 1, Repair.SPACE_STRIPPED: 1, Repair.SILENT_VIDEO: 1}),
        ([1, 2], "...", None, {Repair.EMPTY: 1, Repair.SILENT_VIDEO: 1}),
    ],
)
def test_each_repair_has_its_rule_and_its_count(write, span, sentence, expected, counted):
    loaded = annotations.load(write(one([span], [sentence])))
    assert loaded.videos["v_1"].events == (() if expected is None else (Event(*map(float, expected[:2]), expected[2]),))
    assert loaded.repairs == counted


def test_float_noise_past_the_duration_is_no_repair(write):
    loaded = annotations.load(write(one([[0, 0.1 + 0.2]], ["a man"], duration=0.3)))
    assert loaded.videos["v_1"].events[0].end == 0.3
    assert not loaded.repairs


@pytest.mark.parametrize("span", [[3, 2], [2, 2], [9, 12], [10, 12], [-0.005, 2]])
def test_strict_refuses_what_changes_an_event(write, span):
    path = write(one([[0, 1], span], ["a man", "a dog"]))
    with pytest.raises(InputError, match=r"a\.json: video 'v_1': field 'timestamps\[1\]': refused in strict mode"):
        annotations.load(path, strict=True)


def test_strict_still_repairs_white_space(write):
    loaded = annotations.load(write(one([[0, 1]], [" a man"])), strict=True)
    assert loaded.videos["v_1"].events[0].sentence == "a man"


def test_second_file_becomes_a_second_reference_set(write):
    first = write({**one([[0, 1]], ["a man"]), "v_2": one([[0, 1]], ["a cat"])["v_1"]}, "1.json")
    second = write({**one([[0, 2], [1, 2]], ["the man", "a dog"]), "v_9": one([[0, 1]], ["x"])["v_1"]}, "2.json")
    loaded = annotations.load(first, second=second)
    assert list(loaded.videos) == ["v_1", "v_2"]
    assert [len(events) for events in loaded.videos["v_1"].references] == [1, 2]
    assert len(loaded.videos["v_2"].references) == 1
    assert loaded.repairs == {Repair.SECOND_UNKNOWN: 1}
    with pytest.raises(InputError, match=r"2\.json: video 'v_9'"):
        annotations.load(first, second=second, strict=True)


def test_duration_of_the_first_file_holds(write):
    second = write(one([[0, 12]], ["the man"], duration=12.0), "2.json")
    loaded = annotations.load(write(one([[0, 1]], ["a man"])), second=second)
    assert loaded.videos["v_1"].references[1] == (Event(0.0, 10.0, "the man"),)
    assert loaded.repairs == {Repair.SECOND_DURATION: 1, Repair.CLIPPED: 1}


def test_clips_carry_their_file_and_second_references(write):
    record = one(
        [[0, 1]], ["a man"], file="a.mp4", source="human", timestamps_2=[[0, 2]], sentences_2=["the man"], fps=25.0
    )
    video = annotations.load(write(record)).videos["v_1"]
    assert (video.file, video.source) == ("a.mp4", "human")
    assert video.references[1] == (Event(0.0, 2.0, "the man"),)


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps(one([[0, 1]], ["a man"])), encoding="utf-8-sig")
    assert annotations.load(path).videos["v_1"].events


def test_every_repair_is_documented():
    text = (Path(__file__).parents[2] / "docs" / "data.md").read_text(encoding="utf-8")
    assert [repair for repair in Repair if f"| {repair} |" not in text] == []


finite = st.floats(-1e-2, 1e4)


@given(start=finite, end=finite, duration=st.floats(1e-3, 1e4))
def test_repaired_times_lie_in_the_video(start, end, duration):
    span = repair_times(start, end, duration, annotations.Counter())
    assert span is None or 0 <= span[0] < span[1] <= duration


@given(st.text())
def test_cleaning_a_sentence_twice_changes_nothing(text):
    counts = annotations.Counter()
    clean = clean_sentence(text, counts)
    again = annotations.Counter()
    assert clean_sentence(clean, again) == clean
    assert set(again) <= {Repair.NON_ASCII}
    assert clean == text or counts
    clean.encode("utf-8")
