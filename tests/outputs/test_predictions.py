"""The predictions file: what is written is read back, and malformed files are refused with the place."""

import json

import pytest

from lvc_jax.errors import InputError
from lvc_jax.outputs import predictions
from lvc_jax.outputs.jsonl import JsonLinesWriter

ITEM = {"timestamp": [0.0, 1.5], "sentence": "a rëd circle", "score": 0.5, "segment": 0, "query_id": 3}


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "out" / "predictions_24.json"
    header = {"segment_frames": 24, "memory": 1}
    predictions.write(path, header, {"v1": [ITEM], "silent": []}, details="colour moments")
    assert predictions.read(path) == (header, {"v1": [ITEM], "silent": []})
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["version"] == "VERSION 1.0"
    assert content["external_data"] == {"used": True, "details": "colour moments"}


def test_files_of_others_have_no_header(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"results": {"v": [{"timestamp": [0, 1], "sentence": "a"}]}}))
    assert predictions.read(path)[0] == {}


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (3, "expected an object"),
        ({}, "timestamp None"),
        ({**ITEM, "timestamp": [1]}, "timestamp"),
        ({**ITEM, "timestamp": [0, float("nan")]}, "timestamp"),
        ({**ITEM, "timestamp": [0, True]}, "timestamp"),
        ({**ITEM, "timestamp": [2, 1]}, "ends before it starts"),
        ({"timestamp": [0, 1]}, "no sentence"),
        ({**ITEM, "score": float("inf")}, "score inf"),
        ({**ITEM, "score": 10**400}, "score 1"),
        ({**ITEM, "segment": "x"}, "segment 'x'"),
        ({"timestamp": [0, 1], "sentence": 3, "tokens": [1]}, "no sentence"),
    ],
)
def test_malformed_items_are_named(tmp_path, item, message):
    with pytest.raises(InputError, match=f"video v: item 1: .*{message}"):
        predictions.write(tmp_path / "p.json", {}, {"v": [ITEM, item]})
    assert not (tmp_path / "p.json").exists()
    (tmp_path / "p.json").write_text(json.dumps({"results": {"v": [ITEM, item]}}))
    with pytest.raises(InputError, match="video v: item 1"):
        predictions.read(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"results": {"v": [], "v": []}}', "'v' occurs twice"),
        (b"[]", 'no "results"'),
        (b'{"results": []}', 'no "results"'),
        (b'{"results": {"v": {}}}', "video v: expected a list"),
        (b'{"results": {}, "header": 1}', "header"),
    ],
)
def test_malformed_files_are_refused(tmp_path, content, message):
    path = tmp_path / "p.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        predictions.read(path)


def test_times_that_run_backwards_can_be_let_through(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"results": {"v": [{**ITEM, "timestamp": [2, 1]}]}}))
    assert predictions.read(path, reversed_times=True)[1]["v"][0]["timestamp"] == [2, 1]


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.json: no such predictions file"):
        predictions.read(tmp_path / "none.json")


def test_json_lines_are_whole_after_every_write(tmp_path):
    path = tmp_path / "new" / "captions.jsonl"
    with JsonLinesWriter(path) as writer:
        writer.write({"sentence": "one\ntwo"})
        assert path.read_text() == '{"sentence": "one\\ntwo"}\n'
        with pytest.raises(ValueError, match="JSON"):
            writer.write({"score": float("nan")})
        writer.write({"sentence": "ü"})
    assert [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()][1] == {"sentence": "ü"}
