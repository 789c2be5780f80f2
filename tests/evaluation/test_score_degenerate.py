"""What makes the original programs crash, hang or print NaN has a defined answer; the cases are the golden file's."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from lvc_jax.errors import InputError
from lvc_jax.metrics.text import meteor
from tests.evaluation.score_runs import run, write

WORDS = "a man runs"
METEOR = "METEOR" if meteor.available() else "ROUGE-L"
ALL = ",".join(dict.fromkeys(["BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", METEOR, "ROUGE-L", "CIDEr"]))


def video(*sentences: str, duration: float = 10) -> dict[str, Any]:
    return {"duration": duration, "timestamps": [[0, 10] for _ in sentences], "sentences": list(sentences)}


def said(*sentences: str) -> list[dict[str, Any]]:
    return [{"timestamp": [0, 10], "sentence": sentence} for sentence in sentences]


class Case(NamedTuple):
    """A degenerate input: metric, predictions, annotations; what is expected in `reference`, or the refusal."""

    metric: str
    predicted: dict[str, Any]
    annotated: dict[str, Any]
    expected: Mapping[str, float] = MappingProxyType({})
    refused: str = ""
    scorers: str = ALL
    more: tuple[str, ...] = ()
    refused_in: tuple[str, ...] = ("reference", "paper")


NOTHING = dict.fromkeys((*ALL.split(","), "precision", "recall"), 0.0)
GOOD = {"v": video(WORDS)}
STRANGER = "none of its videos is annotated"
SODA = {"scorers": METEOR}
MANY = [{"timestamp": [k / 50, k / 50 + 1], "sentence": WORDS} for k in range(1000)]
STEPS = {"duration": 20, "timestamps": [[k, k + 1] for k in range(20)], "sentences": [WORDS] * 20}
CASES = {
    "densevid(PDVC2018): video with empty prediction list (first/only video), all scorers": Case(
        "dense_captioning", {"v": []}, GOOD, NOTHING
    ),
    "densevid(PDVC2018): no predicted video at all": Case("dense_captioning", {}, GOOD, NOTHING),
    # The file of every case here has neither field.
    "densevid(PDVC2018): missing version/external_data fields": Case(
        "dense_captioning", {"v": said(WORDS)}, GOOD, {"ROUGE-L": 1, "precision": 1, "recall": 1}
    ),
    "densevid(PDVC2018): blank caption vs blank reference (CIDEr on)": Case(
        "dense_captioning", {"v": said("")}, {"v": video("")}, {"ROUGE-L": 1, "CIDEr": 0, "recall": 1}
    ),
    "densevid(PDVC2018): blank caption vs blank reference (METEOR only)": Case(
        "dense_captioning",
        {"v": said("")},
        {"v": video("")},
        {"precision": 1, "recall": 1} | {METEOR: float(METEOR != "METEOR")},
    ),
    "densevid(PDVC2018): carriage return inside caption shifts tokenised lines": Case(
        "dense_captioning", {"v": said("a man\rruns", WORDS)}, GOOD, {"ROUGE-L": 1, "precision": 1}
    ),
    "densevid(PDVC2018): gt video with zero events": Case("dense_captioning", {"v": said(WORDS)}, {"v": video()}),
    "densevid(PDVC2018): prediction for unknown video only": Case(
        "dense_captioning", {"x": said(WORDS)}, GOOD, NOTHING, refused=STRANGER, refused_in=("paper",)
    ),
    "SODA_c: empty prediction list": Case("soda", {"v": []}, GOOD, **SODA),
    "SODA_c: no common video": Case("soda", {"x": said(WORDS)}, GOOD, refused=STRANGER, **SODA),
    "SODA_c: blank vs blank": Case("soda", {"v": said("")}, {"v": video("")}, **SODA),
    "SODA_c: gt with zero events": Case("soda", {"v": said(WORDS)}, {"v": video()}, **SODA),
    "SODA_d: 1000 predictions x 20 gt (recursion depth)": Case(
        "soda", {"v": MANY}, {"v": STEPS}, {}, more=("--variants=d",), **SODA
    ),
    "LVC: empty prediction list": Case("live_score", {"v": []}, GOOD, {"LS/ROUGE-L": 0}),
    "LVC: first video not in gt": Case("live_score", {"x": said(WORDS), "v": said(WORDS)}, GOOD, {"LS/ROUGE-L": 1}),
    "LVC: no predictions": Case("live_score", {}, GOOD, {"LS/ROUGE-L": 0}),
    "Meteor.compute_score with empty dicts": Case("text", {}, {}, refused="p.json", scorers=METEOR),
    # Nothing here asks for the locale.
    "Meteor under LANG=de_DE.UTF-8 (decimal comma)": Case(
        "text", {"v": WORDS}, {"v": WORDS}, {METEOR: 1}, scorers=METEOR
    ),
    "Meteor newline inside hypothesis": Case("text", {"v": "a man\nruns"}, {"v": WORDS}, {METEOR: 1}, scorers=METEOR),
    "Rouge blank vs blank / blank vs text / text vs blank": Case(
        "text", {"a": "", "b": "", "c": WORDS}, {"a": "", "b": WORDS, "c": ""}, {"ROUGE-L": 1 / 3}
    ),
    "Bleu blank cases": Case(
        "text", {"a": "", "b": "", "c": WORDS, "d": WORDS}, {"a": "", "b": WORDS, "c": "", "d": WORDS}
    ),
    "Cider single document => 0": Case("text", {"v": WORDS}, {"v": WORDS}, {"CIDEr": 0}),
    "Cider all refs blank": Case("text", {"v": WORDS}, {"v": ""}, {"CIDEr": 0}),
}


def test_they_are_the_cases_of_the_golden_file(shared: Path) -> None:
    content = json.loads((shared / "golden/dense_captioning/crashes.json").read_text(encoding="utf-8"))
    assert [case["case"] for case in content["cases"]] == list(CASES)


@pytest.mark.parametrize("mode", ["reference", "paper"])
@pytest.mark.parametrize("name", CASES)
def test_a_defined_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, mode: str) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    case = CASES[name]
    text = case.metric == "text"
    files = {
        "predictions": write(tmp_path / "p.json", case.predicted if text else {"results": case.predicted}),
        "references": write(tmp_path / "r.json", case.annotated),
    }
    flags = [f"--metric={case.metric}", f"--mode={mode}", f"--scorers={case.scorers}", *case.more]
    if case.refused and mode in case.refused_in:
        with pytest.raises(InputError, match=case.refused) as caught:
            run(tmp_path, *flags, **files)
        assert "\n" not in str(caught.value)
        return
    scores = run(tmp_path, *flags, **files)["scores"]
    assert scores
    assert all(value is not None and math.isfinite(value) for value in scores.values())
    for score, value in case.expected.items() if mode == "reference" else ():
        assert scores[score] == pytest.approx(value, abs=1e-6), score
