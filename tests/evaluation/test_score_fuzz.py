"""Odd files through the score command: a result in strict JSON, or one clear line; never a traceback, never a NaN."""

import copy
import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics.text import meteor
from tests.evaluation.score_runs import run, write

CAPTIONS = ("text", "dense_captioning", "soda", "live_score", None)
ACTIONS = ("instantaneous_accuracy", "average_precision")
NUMBERS = st.one_of(
    st.integers(-3, 30),
    st.floats(),
    st.sampled_from([10**400, -1, 0, 1e9, 1e-300, True, 5e-324, 2**63]),
)
WORDS = st.one_of(
    st.text(max_size=6), st.sampled_from(["a man runs", "", "...", "\ud800", "a\rb", "\x00", "|||", "abc123!@#"])
)
LEAVES = st.one_of(st.none(), NUMBERS, WORDS)
JSON = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
TIMES = st.lists(st.floats(-1, 12) | st.integers(0, 12), min_size=2, max_size=2)
IDS = st.sampled_from(["u", "v", "\ud800", "$x_[b]"])


def annotation(times: list, words: list) -> dict:
    number = min(len(times), len(words))
    return {"duration": 12.5, "timestamps": times[:number], "sentences": words[:number]}


ANNOTATED = st.dictionaries(
    IDS, st.builds(annotation, st.lists(TIMES, max_size=3), st.lists(WORDS, max_size=3)), max_size=3
)
ITEMS = st.lists(st.fixed_dictionaries({"timestamp": TIMES, "sentence": WORDS}), max_size=3)
PREDICTED = st.fixed_dictionaries({"results": st.dictionaries(IDS, ITEMS, max_size=3)})
SEGMENTS = st.lists(
    st.fixed_dictionaries({"segment": TIMES, "label": st.sampled_from(["A", "B", "Background", ""])}), max_size=3
)
RECORDS = st.fixed_dictionaries(
    {"duration": st.floats(0, 12), "annotations": SEGMENTS, "subset": st.sampled_from(["Test", "Train"])}
)
DATABASE = st.fixed_dictionaries({"database": st.dictionaries(IDS, RECORDS, max_size=3)})
DETECTED = st.fixed_dictionaries({"results": st.dictionaries(IDS, SEGMENTS, max_size=3)})


@st.composite
def damaged(draw: st.DrawFn, good: st.SearchStrategy[Any]) -> Any:
    """A good file, in half of the draws with one value somewhere in it replaced by anything."""
    content = copy.deepcopy(draw(good))
    if draw(st.booleans()):
        return content
    place: Any = {"": content}
    key: Any = ""
    while isinstance(place[key], dict | list) and place[key] and draw(st.integers(0, 3)):
        place = place[key]
        key = draw(st.sampled_from(sorted(place, key=repr) if isinstance(place, dict) else range(len(place))))
    outer = place[key]
    value = draw(JSON)
    if place == {"": outer} and key == "":
        return value
    place[key] = value
    return content


def attempt(folder: Path, metric: str | None, mode: str, predicted: Any, annotated: Any) -> None:
    options = {"metric": metric} if metric else {"segment_frames": 60}
    if metric != "instantaneous_accuracy" and metric != "average_precision":
        known = "METEOR" if meteor.available() else "ROUGE-L"
        options["scorers"] = known if metric == "soda" else f"BLEU-4,{known},CIDEr"
    if metric or mode == "paper":
        options["mode"] = mode
    files = [
        write(folder / name, json.dumps(content)) for name, content in (("p.json", predicted), ("r.json", annotated))
    ]
    message = ""
    try:
        found = run(folder, predictions=files[0], references=files[1], **options)
    except InputError as error:
        message = str(error)
    if message:
        assert "\n" not in message
        assert message.startswith("--") or any(str(file) in message for file in files)
        return
    assert {"metric", "mode", "signature", "scores", "per_video", "coverage"} <= set(found)
    if mode == "paper" and metric:
        numbers = list(found["scores"].values())
        assert all(value is not None and math.isfinite(value) for value in numbers)


@pytest.mark.parametrize("mode", ["reference", "paper"])
@pytest.mark.parametrize("metric", [m for m in CAPTIONS if m != "text"])
def test_captions(tmp_path_factory: pytest.TempPathFactory, metric: str | None, mode: str) -> None:
    folder = tmp_path_factory.mktemp("fuzz")

    @given(damaged(PREDICTED), damaged(ANNOTATED))
    def check(predicted: Any, annotated: Any) -> None:
        attempt(folder, metric, mode, predicted, annotated)

    check()


@pytest.mark.parametrize("mode", ["reference", "paper"])
def test_text(tmp_path_factory: pytest.TempPathFactory, mode: str) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    said = st.dictionaries(IDS, WORDS, max_size=3)
    meant = st.dictionaries(IDS, st.lists(WORDS, max_size=3), max_size=3)

    @given(damaged(said), damaged(meant))
    def check(predicted: Any, annotated: Any) -> None:
        attempt(folder, "text", mode, predicted, annotated)

    check()


@pytest.mark.parametrize("mode", ["reference", "paper"])
@pytest.mark.parametrize("metric", ACTIONS)
def test_actions(tmp_path_factory: pytest.TempPathFactory, metric: str, mode: str) -> None:
    folder = tmp_path_factory.mktemp("fuzz")

    @given(damaged(DETECTED), damaged(DATABASE))
    def check(predicted: Any, annotated: Any) -> None:
        attempt(folder, metric, mode, predicted, annotated)

    check()


@given(st.binary(max_size=40))
def test_bytes(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    good = write(folder / "r.json", {"v": annotation([[0, 2]], ["a man runs"])})
    for name in ("p.json", "p.npz", "p.txt"):
        path = write(folder / name, content)
        for metric in (*CAPTIONS[:4], *ACTIONS):
            for files in ((path, good), (good, path)):
                with pytest.raises(InputError):
                    run(folder, metric=metric, predictions=files[0], references=files[1])
