"""The Live Score: equations by hand, readings, invariances."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics import live_score
from lvc_jax.metrics.live_score import VARIANTS, Reading
from lvc_jax.metrics.live_score.pairs import collect
from lvc_jax.metrics.text import rouge
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER

DAY = {
    "duration": 20.0,
    "references": [[(0.0, 5.0, "a man runs"), (10.0, 15.0, "a dog barks")], [(0.0, 5.0, "a man walks")]],
}


def item(segment: int, sentence: str) -> dict:
    return {"timestamp": [5.0 * segment, 5.0 * segment + 5], "sentence": sentence, "segment": segment}


def test_equations_by_hand() -> None:
    gamma = np.array([[1.0], [0.0], [0.5], [0.25]])
    false = np.array([0.0, 1, 0, 2])
    result = live_score.curves(gamma, false, window=2, history="min(K,w)")
    np.testing.assert_allclose(result["LS"][:, 0], [1, 0.5, 0.5, 0.4375])
    np.testing.assert_allclose(result["hLS"][:, 0], [1, 0.5, 0.25, 0.375])
    damping = np.exp(-np.array([0, 1 / 2, 1 / 3, 3 / 4]))
    np.testing.assert_allclose(result["wLS"][:, 0], [1, 0.5, 0.5, 0.4375] * damping)
    recent = np.exp(-np.array([0, 1 / 2, 1 / 2, 1]))
    np.testing.assert_allclose(result["whLS"][:, 0], [1, 0.5, 0.25, 0.375] * recent)
    printed = live_score.curves(gamma, false, window=2, history="K")
    np.testing.assert_allclose(printed["hLS"][:, 0], [1, 0.5, 0.5 / 3, 0.75 / 4])


def test_the_defaults_on_a_small_video() -> None:
    # Slot 0: right for one annotator; slot 1: false caption; slot 2: missed; slot 3: rightly silent, left out.
    video = live_score.score_videos({"v": DAY}, {"v": [item(0, "a man runs"), item(1, "a cat")]}, Reading())["v"]
    assert video.time.tolist() == [5, 10, 15]
    np.testing.assert_allclose(video.gamma[:, 4], [(1 + 2 / 3) / 2, 0, 0])
    assert video.false_positives.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    ("options", "scores"),
    [
        ({"silent": "one"}, [1, 0, 0, 1]),
        ({"silent": "zero"}, [1, 0, 0, 0]),
        ({"missed": "skip"}, [1, 0]),
    ],
)
def test_readings_of_silent_and_missed_slots(options: dict, scores: list[float]) -> None:
    reading = Reading(references="first", **options)
    video = live_score.score_videos({"v": DAY}, {"v": [item(0, "a man runs"), item(1, "a cat")]}, reading)["v"]
    np.testing.assert_allclose(video.gamma[:, 4], scores)


EXAMPLE = {"duration": 30.0, "references": [[(0.0, 10.0, "a man runs"), (15.0, 25.0, "a dog barks")]]}
SAID = [item(0, "a man runs"), item(1, "a man runs"), item(2, "a cat sleeps"), item(4, "a dog barks")]


@pytest.mark.parametrize(
    ("options", "gamma", "last", "mean"),
    [
        ({"mode": "reference"}, [1, 1, 0, 1], [0.917, 0.677, 0.750, 0.395], 0.896),
        ({"clock": "prediction", "gamma": "aggregate"}, [1, 1, 0, 1], [0.750, 0.584, 0.250, 0.195], 0.854),
        ({}, [1, 1, 0, 0, 1], [0.600, 0.491, 0.500, 0.500], 0.753),
        ({"silent": "one"}, [1, 1, 0, 0, 1, 1], [0.667, 0.564, 1.0, 1.0], 0.739),
        ({"missed": "skip"}, [1, 1, 0, 1], [0.750, 0.584, 0.500, 0.303], 0.854),
    ],
)
def test_the_example_of_the_documentation(options: dict, gamma: list, last: list, mean: float) -> None:
    videos = live_score.score_videos({"v": EXAMPLE}, {"v": SAID}, Reading(window=2, scorers=("ROUGE-L",), **options))
    assert videos["v"].gamma[:, 0].tolist() == gamma
    assert [videos["v"].curves[variant][-1, 0] for variant in VARIANTS] == pytest.approx(last, abs=5e-4)
    assert live_score.summary(videos)["LS/ROUGE-L"] == pytest.approx(mean, abs=5e-4)


def test_the_figure_set_as_data() -> None:
    video = live_score.score_videos({"v": EXAMPLE}, {"v": SAID}, Reading(scorers=("BLEU-1", "ROUGE-L")))["v"]
    data = json.loads(json.dumps(video.data(), allow_nan=False))
    names = [f"{variant}/{scorer}" for scorer in ("BLEU-1", "ROUGE-L") for variant in VARIANTS]
    assert list(data) == ["time_s", "false_positives", *names]
    assert data["time_s"] == [5, 10, 15, 20, 25]
    assert data["LS/ROUGE-L"] == pytest.approx([1, 1, 2 / 3, 1 / 2, 3 / 5])


def test_pairs_are_shared_between_readings(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = []
    shared = live_score.pair_scorer(Reading(scorers=("ROUGE-L", "CIDEr")))
    original = rouge.score
    monkeypatch.setattr(rouge, "score", lambda said, *rest: scored.extend(said) or original(said, *rest))
    for options in ({}, {"silent": "one"}, {"missed": "skip"}):
        reading = Reading(scorers=("ROUGE-L", "CIDEr"), **options)
        live_score.score_videos({"v": EXAMPLE}, {"v": SAID}, reading, shared)
    assert len(scored) == 2
    with pytest.raises(InputError, match="has no BLEU-1"):
        live_score.score_videos({"v": EXAMPLE}, {"v": SAID}, Reading(scorers=("BLEU-1",)), shared)


def test_a_caption_cannot_say_the_word_that_matches_nothing() -> None:
    word = collect({"v": DAY}, {}, Reading()).sentences[-1]
    said = [{"timestamp": [15.0, 20.0], "sentence": f"{word} {word}q"}]
    video = live_score.score_videos({"v": DAY}, {"v": said}, Reading(mode="reference", scorers=("BLEU-1", "ROUGE-L")))[
        "v"
    ]
    assert video.false_positives.tolist() == [1]
    assert video.gamma.max() < 1e-12


def test_cider_does_not_depend_on_other_videos_or_later_captions() -> None:
    reading = Reading(scorers=("CIDEr",))
    alone = live_score.score_videos({"v": EXAMPLE}, {"v": SAID[:2]}, reading)["v"].gamma[:2]
    both = live_score.score_videos({"w": DAY, "v": EXAMPLE}, {"v": SAID, "w": SAID}, reading)["v"].gamma[:2]
    np.testing.assert_array_equal(alone, both)
    # A copy: 10 times the mean over four orders, of which three words have three.
    assert alone[0, 0] == pytest.approx(7.5)


def test_the_printed_denominator_falls_without_a_fault() -> None:
    result = live_score.curves(np.ones((100, 1)), np.zeros(100), window=5, history="K")
    assert result["hLS"][-1, 0] == pytest.approx(0.05)


def test_several_captions_in_a_slot_are_all_paired() -> None:
    video = live_score.score_videos(
        {"v": DAY}, {"v": [item(0, "a man runs"), item(0, "x y"), item(1, "a"), item(1, "b")]}, Reading()
    )["v"]
    np.testing.assert_allclose(video.gamma[0, 4], (1 + 2 / 3 + 0 + 0) / 4)
    assert video.false_positives.tolist() == [0, 2, 0]


def test_nothing_to_score_is_zero_not_nan() -> None:
    silent = {"v": {"duration": 10.0, "references": [[]]}}
    videos = live_score.score_videos(silent, {}, Reading())
    assert videos == {}
    assert live_score.summary(videos) == {}
    assert set(live_score.summary(videos, ("ROUGE-L", "CIDEr")).values()) == {0.0}


def test_missing_video_counts_as_missed() -> None:
    videos = live_score.score_videos({"v": DAY, "w": DAY}, {"v": [item(0, "a man runs")]}, Reading())
    assert videos["w"].gamma.sum() == 0
    one = live_score.summary({"v": videos["v"]})["LS/ROUGE-L"]
    np.testing.assert_allclose(live_score.summary(videos)["LS/ROUGE-L"], one / 2)


CAPTIONS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["a man runs", "a dog", "barks"])), max_size=6)


@given(st.lists(CAPTIONS, min_size=1, max_size=4))
def test_bounds_order_and_independence(captions: list) -> None:
    references = {f"v{i}": DAY for i in range(len(captions))}
    predictions = {f"v{i}": [item(*one) for one in sorted(own)] for i, own in enumerate(captions)}
    together = live_score.score_videos(references, predictions, Reading())
    backwards = {name: references[name] for name in reversed(references)}
    summary = live_score.summary(together)
    again = live_score.summary(live_score.score_videos(backwards, predictions, Reading()))
    assert summary == pytest.approx(again, abs=1e-15)
    for name, video in together.items():
        alone = live_score.score_videos({name: DAY}, predictions, Reading())[name]
        for variant in VARIANTS:
            np.testing.assert_array_equal(video.curves[variant], alone.curves[variant])
            assert (video.curves[variant] >= 0).all()
            assert (video.curves[variant][:, :-1] <= 1).all()
            assert (video.curves[variant][:, -1] <= 10).all()
        assert (video.curves["wLS"] <= video.curves["LS"]).all()
        assert (video.curves["whLS"] <= video.curves["hLS"]).all()


@given(CAPTIONS, CAPTIONS)
def test_later_captions_change_no_earlier_score(first: list, later: list) -> None:
    early = [item(k, s) for k, s in first if k < 2]
    both = early + [item(k, s) for k, s in later if k >= 2]
    before = live_score.score_videos({"v": DAY}, {"v": early}, Reading())["v"]
    after = live_score.score_videos({"v": DAY}, {"v": both}, Reading())["v"]
    old, new = before.time <= 10, after.time <= 10
    for variant in VARIANTS:
        np.testing.assert_array_equal(before.curves[variant][old], after.curves[variant][new])


def test_signature_holds_every_choice() -> None:
    assert Reading().signature.startswith(
        f"livescore|mode:paper|clock:dt150|gamma:mean|hist:min(K,w)|w:5|silent:skip|miss:0|refs:both|df:video|tok:{TOKENIZER}"
        "|scorers:BLEU-1,BLEU-2,BLEU-3,BLEU-4,ROUGE-L,CIDEr|v:"
    )
    assert Reading(mode="reference").signature.startswith(
        "livescore|mode:reference|clock:prediction|gamma:aggregate|hist:min(K,w)|w:5|silent:skip|miss:skip|refs:first|"
        f"tok:{TOKENIZER}|scorers:BLEU-1,METEOR,ROUGE-L|v:"
    )
    changed = [
        {"segment_frames": 24},
        {"segment_frames": "video"},
        {"mode": "reference"},
        {"clock": "prediction"},
        {"gamma": "aggregate"},
        {"history": "K"},
        {"silent": "one"},
        {"missed": "skip"},
        {"references": "first"},
        {"window": 3},
        {"fps": 25},
        {"scorers": ("ROUGE-L",)},
    ]
    assert len({Reading(**options).signature for options in [{}, *changed]}) == len(changed) + 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clock": "sun"}, "choose one of"),
        ({"mode": "toolkit"}, "choose one of"),
        ({"window": 0}, "at least 1"),
        ({"window": 10**30}, "at most"),
        ({"segment_frames": 0}, "segment_frames"),
        ({"segment_frames": "day"}, "segment_frames"),
        ({"fps": float("nan")}, "fps"),
        ({"scorers": ()}, "one or more"),
        ({"scorers": "ROUGE-L"}, "one or more"),
        ({"scorers": ("rouge",)}, "choose from"),
        ({"mode": "reference", "clock": "dt"}, "mode 'reference' has clock='prediction'"),
        ({"mode": "reference", "history": "K"}, "mode 'reference'"),
        ({"clock": "prediction", "missed": "zero"}, "need clock 'dt'"),
    ],
)
def test_bad_choices_are_refused(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Reading(**options)
