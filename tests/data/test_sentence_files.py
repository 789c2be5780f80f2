"""Files of captions without times: every form gives the same sentences, anything else is one clear line."""

import json
from pathlib import Path

import pytest

from lvc_jax.data import sentence_files
from lvc_jax.errors import InputError

WANTED = {"1": ["a man runs", "he runs"], "2": ["a dog"]}


@pytest.mark.parametrize(
    "content",
    [
        WANTED,
        {"1": [{"caption": "a man runs"}, {"caption": "he runs"}], "2": "a dog"},
        {"results": {"1": [{"sentence": "a man runs"}, {"sentence": "he runs"}], "2": ["a dog"]}},
        [
            {"image_id": 1, "caption": "a man runs"},
            {"image_id": 2, "caption": "a dog"},
            {"image_id": 1, "caption": "he runs"},
        ],
        {"annotations": [{"video_id": i, "sentence": text} for i, own in WANTED.items() for text in own]},
    ],
)
def test_forms_of_json(tmp_path: Path, content: object) -> None:
    path = tmp_path / "c.json"
    path.write_text(json.dumps(content))
    assert sentence_files.read(path) == WANTED


def test_lines_of_text(tmp_path: Path) -> None:
    path = tmp_path / "c.txt"
    path.write_bytes("a man\rruns\u2028away\n\na dog\r\n".encode())
    assert sentence_files.read(path) == {"1": ["a man\rruns\u2028away"], "2": [""], "3": ["a dog"]}


@pytest.mark.parametrize(
    ("text", "lines", "blank"),
    [("a\nb", 2, 0), ("a\nb\n", 2, 0), ("a\n\nb\r\n", 3, 0), ("a\nb\n\n", 3, 1), ("a\n \r\n\n", 3, 2), ("\n", 1, 1)],
)
def test_the_line_feed_at_the_end_is_no_sentence(tmp_path: Path, text: str, lines: int, blank: int) -> None:
    (tmp_path / "c.txt").write_bytes(text.encode())
    found = sentence_files.read(tmp_path / "c.txt")
    assert (len(found), sentence_files.blank_end(found)) == (lines, blank)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("c.json", "{}", "no captions"),
        ("c.json", "3", "expected captions by id"),
        ("c.json", '{"v": 3}', "id 'v': item 0: expected text"),
        ("c.json", '{"v": [{"text": "a"}]}', "id 'v': item 0: field 'caption' is missing"),
        ("c.json", '{"v": [{"caption": 1}]}', "id 'v': item 0: field 'caption': expected text"),
        ("c.json", '[{"caption": "a"}]', "item 0: field 'image_id'"),
        ("c.json", '[{"image_id": 1.5, "caption": "a"}]', "item 0: field 'image_id'"),
        ("c.json", "[3]", "item 0: expected an object"),
        ("c.txt", "", "no captions"),
        ("c.txt", b"\xff", "not UTF-8"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError, match=message):
        sentence_files.read(path)


@pytest.mark.parametrize("name", ["none.json", "none.txt"])
def test_missing_files_are_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"{name}: no such captions file"):
        sentence_files.read(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"{name}: cannot be read"):
        sentence_files.read(tmp_path / name)
