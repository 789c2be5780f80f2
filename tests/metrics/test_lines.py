"""Captions as lines of one call: what the original tokenizer makes of the end of one depends on the next."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.metrics import live_score, soda
from lvc_jax.metrics.live_score import Reading
from lvc_jax.metrics.text.lines import as_read, lists_as_read
from lvc_jax.metrics.text.tokenizer import tokenize
from tests.evaluation.score_runs import run, write

# Hand-made lines and what the original makes of them: the PTBTokenizer of stanford-corenlp-3.4.1.jar inside
# pycocoevalcap 1.2, -preserveLines -lowerCase, one call a row, then the toolkits' punctuation filter.
ROWS = [
    (["a capital T.", "The end"], ["a capital t", "the end"]),
    (["a capital T.", "the end"], ["a capital t.", "the end"]),
    (["a capital T.", "She runs."], ["a capital t", "she runs"]),
    (["a capital T.", "MS. X runs"], ["a capital t", "ms. x runs"]),
    (["a capital T.", "Mr. X runs"], ["a capital t", "mr. x runs"]),
    (["a capital T.", "Mrs. X runs"], ["a capital t.", "mrs. x runs"]),
    (["a capital T.", "Earlier he ran"], ["a capital t", "earlier he ran"]),
    (["a capital T.", "The, end"], ["a capital t.", "the end"]),
    (["a capital T.", " A man"], ["a capital t", "a man"]),
    (["a capital T.  ", "", "  ", "An end"], ["a capital t", "", "", "an end"]),
    (["a capital T."], ["a capital t."]),
    (["a capital T.", ""], ["a capital t.", ""]),
    (["a capital T.", "T. The end"], ["a capital t.", "t the end"]),
    (["a capital T.", '"The end"'], ["a capital t.", "the end"]),
    (["person b.", "This"], ["person b.", "this"]),
    (["(x-T.", "The end"], ["-lrb- x-t", "the end"]),
    (["a 'T.", "The end"], ["a t", "the end"]),
    (["HE DOESN'T.", "The end"], ["he does n't", "the end"]),
    (["the ski's.", "The end"], ["the ski 's", "the end"]),
    (["m.t.", "The end"], ["m.t.", "the end"]),
    (["T..", "The end"], ["t.", "the end"]),
    (["a T.", "<p> end"], ["a t", "<p> end"]),
    (["a T.", '<a href="x"> end'], ["a t", '<a\u00a0href="x"> end']),
    (["a T.", "<p>The end"], ["a t.", "<p> the end"]),
    (["the AT&T.", "The end"], ["the at&t", "the end"]),
    (["some M&Ms.", "The end"], ["some m&m s", "the end"]),
    (["at 10a.m.", "The end"], ["at 10a m", "the end"]),
    (["a/B.", "The end"], ["a/b", "the end"]),
    (["...B.", "The end"], ["b", "the end"]),
    (["an art.", "5 dogs"], ["an art.", "5 dogs"]),
    (["an art.", "5th"], ["an art.", "5th"]),
    (["an art.", " 5 dogs"], ["an art", "5 dogs"]),
    (["an art. ", "5 dogs"], ["an art", "5 dogs"]),
    (["an art.", "", "5 dogs"], ["an art", "", "5 dogs"]),
    (["an art.", "five dogs"], ["an art", "five dogs"]),
    (["an art."], ["an art"]),
    (["The FIGS.", "1/2"], ["the figs.", "1/2"]),
    (["he says no.", "2 men"], ["he says no.", "2 men"]),
    (["x-no.", "2 men"], ["x-no", "2 men"]),
    (["a/no.", "2 men"], ["a/no", "2 men"]),
    (["1.no.", "2 men"], ["1 no.", "2 men"]),
    (["x'no.", "2 men"], ["x no.", "2 men"]),
    (["(op.", "2 men"], ["-lrb- op.", "2 men"]),
    (["pp.", "2"], ["pp.", "2"]),
    (["ca.", "2"], ["ca.", "2"]),
    (["prop.", "2"], ["prop.", "2"]),
    (["nos.", "2"], ["nos.", "2"]),
    (["etc.", "2"], ["etc.", "2"]),
    (["Dr.", "The end"], ["dr.", "the end"]),
    (["1", "1/2"], ["1", "1/2"]),
    (["(555)", "123-4567"], ["-lrb- 555 -rrb-", "123-4567"]),
]


@pytest.mark.parametrize(("lines", "tokens"), ROWS)
def test_lines_of_a_call(lines: list[str], tokens: list[str]) -> None:
    assert [" ".join(tokenize(line)) for line in as_read(lines)] == tokens


def test_calls_are_apart() -> None:
    lines = ["a T.", "The end", "a T.", "", " Then b. ", "on", "an art.", "5 dogs", "a T.\u00e9", "an art.", "The end"]
    call = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 3, 3])
    changed = {0: "a T", 2: "a T"}
    assert as_read(lines, call) == [changed.get(place, line) for place, line in enumerate(lines)]
    assert as_read(lines)[6] == "an art.,"
    assert as_read(["a T.\u00e9", "The end"]) == ["a T\u00e9", "The end"]
    assert lists_as_read([["a T.", "b T."], ["The end"], []]) == [["a T.", "b T"], ["The end"], []]
    assert as_read([]) == lists_as_read([]) == []


@given(st.lists(st.text(st.sampled_from("aAT.5 h"), max_size=6), max_size=5))
def test_only_the_last_word_of_a_line_changes(lines: list[str]) -> None:
    for before, after in zip(lines, as_read(lines), strict=True):
        first, second = tokenize(before), tokenize(after)
        assert len(first) == len(second) and first[:-1] == second[:-1]
        assert [token.rstrip(".") for token in first[-1:]] == [token.rstrip(".") for token in second[-1:]]


SCORERS = ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr")
EVENTS = [
    (0.0, 10.0, "She marks it with a capital T."),
    (2.0, 12.0, "The man shows his art."),
    (5.0, 14.0, "5 dogs bark at his art."),
]
SAID = [
    {"timestamp": [4.0, 9.0], "sentence": "He draws the letter T."},
    {"timestamp": [11.0, 12.0], "sentence": "5 men show his art."},
    {"timestamp": [15.0, 16.0], "sentence": "A T."},
]
# By pycocoevalcap 1.2: its tokenizer, Bleu, Rouge and Cider in one call for each of the first two slots, made of the
# slot's pairs.
GAMMA = [
    [0.10916410039584244, 5.514193934874778e-13, 0.12060123784261716, 0.3164920204458815],
    [0.4524187089274962, 7.686794036179868e-09, 0.46832844574780064, 1.4519598073500504],
]
ANNOTATED = {"v": {"duration": 20.0, "references": [EVENTS]}}


def test_live_score_of_the_toolkit_reads_the_pairs_of_a_slot_as_lines() -> None:
    video = live_score.score_videos(ANNOTATED, {"v": SAID}, Reading(mode="reference", scorers=SCORERS))["v"]
    np.testing.assert_allclose(video.gamma[:2], GAMMA, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(video.gamma[2], 0, atol=1e-9)


def test_live_score_of_the_paper_reads_every_caption_alone() -> None:
    def gamma(events: list[tuple[float, float, str]], clock: str) -> np.ndarray:
        reading = Reading(clock=clock, gamma="aggregate", scorers=("ROUGE-L",))
        annotated = {"v": {"duration": 20.0, "references": [events]}}
        return live_score.score_videos(annotated, {"v": SAID}, reading)["v"].gamma

    for clock in ("dt", "prediction"):
        np.testing.assert_allclose(gamma(EVENTS, clock), gamma(EVENTS[::-1], clock), rtol=1e-12)


SODA_EVENTS = {
    "v": {"references": [[(0.0, 10.0, "The man draws a capital T."), (10.0, 20.0, "She shows his art.")]]},
    "silent": {"references": [[(0.0, 5.0, "Nobody is here.")]]},
    "w": {"references": [[(0.0, 5.0, "5 dogs bark.")]]},
}
SODA_SAID = {
    "v": [
        {"timestamp": [10.0, 20.0], "sentence": "She shows art."},
        {"timestamp": [0.0, 10.0], "sentence": "a man draws a T."},
    ],
    "w": [{"timestamp": [0.0, 5.0], "sentence": "the dogs bark"}],
}
# ROUGE-L of the three pairs of event and caption by pycocoevalcap 1.2, tokenizer and score in one call.
SODA_PAIRS = [0.7393939393939394, 0.5865384615384615, 0.6666666666666666]


@pytest.mark.parametrize("sets", soda.REFERENCE_SETS)
def test_soda_reads_a_run_as_lines(sets: str) -> None:
    result = soda.evaluate(SODA_EVENTS, SODA_SAID, scorer="ROUGE-L", reference_sets=sets)
    expected = {"v": np.mean(SODA_PAIRS[:2]), "w": SODA_PAIRS[2]}
    for video, value in expected.items():
        assert result.per_video[video]["SODA_c_ROUGE-L"] == pytest.approx(value, abs=1e-8)
    strict = soda.evaluate(SODA_EVENTS, SODA_SAID, scorer="ROUGE-L", reference_sets=sets, mode="strict")
    assert strict.per_video["v"]["SODA_c_ROUGE-L"] != pytest.approx(expected["v"], abs=1e-3)


def test_every_annotation_set_is_a_run_of_its_own() -> None:
    events = SODA_EVENTS["v"]["references"][0]
    said = {"v": SODA_SAID["v"]}
    apart = soda.evaluate({"v": {"references": [events[:1], events[1:]]}}, said, scorer="ROUGE-L").scores
    together = soda.evaluate({"v": {"references": [events]}}, said, scorer="ROUGE-L").scores
    # Alone the event's last word is "t." and meets the caption's "t" no more.
    assert apart["SODA_c_ROUGE-L/set_1"] < together["SODA_c_ROUGE-L"]


# Captions, references and each caption's ROUGE-L by pycocoevalcap 1.2 in one call; the call's other scores.
TEXT = [
    ("He draws a T.", ["A letter T."], 0.2932692307692307),
    ("The art.", ["His art."], 0.5),
    ("9 men talk.", ["9 men talk about art.", "7 men"], 0.7176470588235294),
]
TEXT_CALL = {"BLEU-1": 0.5555555554938273, "BLEU-4": 8.863826491338166e-05, "CIDEr": 1.34684907893672}


def test_captions_without_times_are_lines(tmp_path) -> None:
    said = write(tmp_path / "said.json", {str(place): row[0] for place, row in enumerate(TEXT)})
    meant = write(tmp_path / "meant.json", {str(place): row[1] for place, row in enumerate(TEXT)})
    files = {"predictions": said, "references": meant, "scorers": ",".join(SCORERS)}
    found = run(tmp_path, metric="text", **files)
    for name, value in TEXT_CALL.items():
        assert found["scores"][name] == pytest.approx(value, rel=1e-12)
    for place, (_, _, value) in enumerate(TEXT):
        assert found["per_video"][str(place)]["ROUGE-L"] == pytest.approx(value, rel=1e-12)
    alone = run(tmp_path, metric="text", mode="paper", **files)
    assert alone["per_video"]["0"]["ROUGE-L"] != pytest.approx(TEXT[0][2], abs=1e-3)
