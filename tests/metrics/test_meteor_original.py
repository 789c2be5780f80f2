"""METEOR against the original program: recorded values, and the program itself where Java is there."""

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from lvc_jax.metrics.text import meteor
from tests.extras import needs_java, needs_meteor

pytestmark = needs_meteor


@pytest.fixture(scope="module")
def recorded(shared: Path) -> list[dict]:
    pairs = json.loads((shared / "golden/text/sentence_scores.json").read_text(encoding="utf-8"))["pairs"]
    return [pair for pair in pairs if "sentence" in pair]


def test_recorded_statistics_and_scores(recorded: list[dict]) -> None:
    stats = meteor.statistics([p["hyp_tok"] for p in recorded], [p["refs_tok"] for p in recorded])
    assert len(stats) > 100
    assert np.array_equal(stats, [p["sentence"]["METEOR_stats23"] for p in recorded])
    np.testing.assert_allclose(meteor.sentence(stats), [p["sentence"]["METEOR"] for p in recorded], rtol=0, atol=1e-12)


def test_recorded_swapped_scores(recorded: list[dict]) -> None:
    single = [p for p in recorded if "METEOR_swapped_ref_and_hyp" in p["sentence"]]
    stats = meteor.statistics([p["refs_tok"][0] for p in single], [[p["hyp_tok"]] for p in single])
    expected = [p["sentence"]["METEOR_swapped_ref_and_hyp"] for p in single]
    np.testing.assert_allclose(meteor.sentence(stats), expected, rtol=0, atol=1e-12)


def videos(path: Path) -> Iterator[dict]:
    for threshold in json.loads(path.read_text(encoding="utf-8"))["per_video"].values():
        yield from (video for video in threshold.values() if video.get("pairs"))


@pytest.mark.parametrize("name", ["edge_2018", "real50_bmt_2018", "real50_bmt_2021"])
def test_recorded_aggregates(shared: Path, name: str) -> None:
    found = list(videos(shared / f"golden/dense_captioning/{name}.json"))
    pairs = [
        (pair["pred_tok"], [pair["gt_tok"]], index) for index, video in enumerate(found) for pair in video["pairs"]
    ]
    stats = meteor.statistics([p for p, _, _ in pairs], [r for _, r, _ in pairs])
    scores = meteor.aggregate(stats, np.array([index for _, _, index in pairs]), len(found))
    np.testing.assert_allclose(scores, [video["METEOR"] for video in found], rtol=0, atol=1e-12)
    sentences = [score for video in found for score in video.get("sent_METEOR", [])]
    if sentences:
        np.testing.assert_allclose(meteor.sentence(stats), sentences, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_building_takes_less_than_a_gigabyte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = (
        "from lvc_jax.metrics.text.meteor import resources; resources.load()\nprint(open('/proc/self/status').read())"
    )
    # Not ru_maxrss, which counts the process that started this one too.
    status = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True).stdout
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    assert int(peak.split()[1]) < 1e6


def odd_strings(number: int) -> list[str]:
    words = [
        "the",
        "a",
        "is",
        "man",
        "men",
        "walks",
        "walking",
        "begins",
        "to",
        "start",
        "once",
        "again",
        "in",
        "order",
    ]
    pieces = [
        *"aB1 .,'`-\"  cX5..''--!?&½ж日…",
        "é",
        "É",
        "Mr",
        "No",
        "e.g",
        "v1",
        "\u00a0",
        *(f" {w} " for w in words),
    ]
    draw = random.Random(7)
    return ["".join(draw.choices(pieces, k=draw.randint(0, 14))) for _ in range(number)]


@needs_java
@pytest.mark.slow
def test_the_program_itself_agrees() -> None:
    texts = odd_strings(4000)
    comparison = meteor.verify_with_java(texts[:2000], [[text] for text in texts[2000:]], timeout=600)
    assert comparison == meteor.Comparison(items=2000, differing=0, largest=0.0)
