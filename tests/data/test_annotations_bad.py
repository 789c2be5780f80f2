"""Malformed annotation files: one line that names the file, the video and the field."""

import json

import pytest

from lvc_jax.data import annotations
from lvc_jax.errors import InputError

GOOD = {"duration": 10.0, "timestamps": [[0, 1], [2, 3]], "sentences": ["a man", "a dog"]}


def without(field):
    return {"v_1": {key: value for key, value in GOOD.items() if key != field}}


def changed(**fields):
    return {"v_1": {**GOOD, **fields}}


VIDEO = "video 'v_1'"
CASES = {
    "no duration": (without("duration"), VIDEO, "'duration' is missing"),
    "no timestamps": (without("timestamps"), VIDEO, "'timestamps' is missing"),
    "no sentences": (without("sentences"), VIDEO, "'sentences' is missing"),
    "NaN time": (changed(timestamps=[[0, float("nan")], [2, 3]]), VIDEO, "'timestamps[0][1]'"),
    "infinite time": (changed(timestamps=[[0, 1], [float("inf"), 3]]), VIDEO, "'timestamps[1][0]'"),
    "huge integer": (changed(timestamps=[[0, 1], [2, 10**400]]), VIDEO, "'timestamps[1][1]'"),
    "NaN duration": (changed(duration=float("nan")), VIDEO, "'duration'"),
    "zero duration": (changed(duration=0), VIDEO, "'duration'"),
    "negative duration": (changed(duration=-3.0), VIDEO, "'duration'"),
    "duration is text": (changed(duration="10"), VIDEO, "'duration'"),
    "duration is true": (changed(duration=True), VIDEO, "'duration'"),
    "negative time": (changed(timestamps=[[-2, 1], [2, 3]]), VIDEO, "'timestamps[0][0]'"),
    "more timestamps": (changed(timestamps=[[0, 1], [2, 3], [4, 5]]), VIDEO, "3 timestamps but 2 sentences"),
    "fewer timestamps": (changed(timestamps=[[0, 1]]), VIDEO, "1 timestamps but 2 sentences"),
    "three numbers": (changed(timestamps=[[0, 1, 2], [2, 3]]), VIDEO, "'timestamps[0]'"),
    "not a pair": (changed(timestamps=[0, 1]), VIDEO, "'timestamps[0]'"),
    "time is text": (changed(timestamps=[["0", 1], [2, 3]]), VIDEO, "'timestamps[0][0]'"),
    "time is null": (changed(timestamps=[[None, 1], [2, 3]]), VIDEO, "'timestamps[0][0]'"),
    "timestamps is text": (changed(timestamps="0 1"), VIDEO, "'timestamps'"),
    "sentence is a number": (changed(sentences=["a man", 3]), VIDEO, "'sentences[1]'"),
    "sentence is null": (changed(sentences=[None, "a dog"]), VIDEO, "'sentences[0]'"),
    "sentences is text": (changed(sentences="ab"), VIDEO, "'sentences'"),
    "second set incomplete": (changed(timestamps_2=[[0, 1]]), VIDEO, "'sentences_2' is missing"),
    "file is a number": (changed(file=3), VIDEO, "'file'"),
    "record is a list": ({"v_1": [1]}, VIDEO, "expected an object"),
    "empty id": ({"": GOOD}, "video ''", "the video id is empty"),
    "list of videos": ([GOOD], "a.json", "expected an object of videos"),
    "no videos": ({}, "a.json", "no videos"),
    "not JSON": ("{'v_1': 1}", "a.json", "not valid JSON"),
    "cut short": (json.dumps({"v_1": GOOD})[:-20], "a.json", "not valid JSON"),
    "empty file": ("", "a.json", "not valid JSON"),
    "too deep": ("[" * 200_000, "a.json", "nested too deeply"),
    "same id twice": (f'{{"v_1": {json.dumps(GOOD)}, "v_1": {json.dumps(GOOD)}}}', "'v_1'", "occurs twice"),
    "same field twice": ('{"v_1": {"duration": 1, "duration": 2}}', "'duration'", "occurs twice"),
}


@pytest.mark.parametrize("case", CASES)
def test_one_clear_line(tmp_path, case):
    content, who, what = CASES[case]
    path = tmp_path / "a.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        annotations.load(path)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert who in message
    assert what in message
    assert "\n" not in message


def test_missing_file_and_folder_are_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: no such annotation file"):
        annotations.load(tmp_path / "none.json")
    with pytest.raises(InputError, match="cannot be read"):
        annotations.load(tmp_path)


def test_not_utf8(tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(b'{"v_1": "\xff"}')
    with pytest.raises(InputError, match=r"a\.json: not UTF-8 at byte 9"):
        annotations.load(path)


def test_unknown_format_and_clips_without_files(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"v_1": GOOD}))
    with pytest.raises(InputError, match="choose one of auto, activitynet, youcook2, clips"):
        annotations.load(path, fmt="coco")
    with pytest.raises(InputError, match="'file' is missing"):
        annotations.load(path, fmt="clips")


def test_the_second_file_is_named_in_its_errors(tmp_path):
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    first.write_text(json.dumps({"v_1": GOOD}))
    second.write_text(json.dumps(without("duration")))
    with pytest.raises(InputError, match=r"b\.json: video 'v_1': field 'duration' is missing"):
        annotations.load(first, second=second)
