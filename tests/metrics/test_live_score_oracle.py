"""The Live Score against plain loops, on random videos, in every reading."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lvc_jax.metrics import live_score
from lvc_jax.metrics.live_score import VARIANTS, Reading
from tests.metrics.live_cases import DATA, oracle_curves, oracle_gamma, oracle_slots

SCORERS = ("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr")
READINGS = [
    Reading(60, scorers=SCORERS),
    Reading("video", scorers=SCORERS),
    Reading(45, silent="one", history="K", references="first", scorers=SCORERS),
    Reading(60, silent="zero", missed="skip", window=1, scorers=SCORERS),
    Reading(60, gamma="aggregate", window=3, scorers=SCORERS),
    Reading(clock="prediction", scorers=SCORERS),
    Reading(clock="prediction", gamma="aggregate", references="both", scorers=SCORERS),
    Reading(mode="reference", scorers=SCORERS),
    Reading(mode="reference", window=1, scorers=SCORERS),
    Reading(mode="reference", window=2, scorers=SCORERS),
]


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.signature.partition("|tok")[0][10:])
@settings(max_examples=10)
@given(data=DATA)
def test_equal_to_plain_loops(reading: Reading, data: tuple[dict, dict]) -> None:
    references, predictions = data
    actual = live_score.score_videos(references, predictions, reading)
    used = 1 if reading.references == "first" else None
    for name, reference in references.items():
        slots = oracle_slots(reference, predictions[name], reading)
        assert (name in actual) == bool(slots)
        if not slots:
            continue
        wrong = [false for _, false, _ in slots]
        assert actual[name].false_positives.tolist() == wrong
        events = [sentence for group in reference["references"][:used] for _, _, sentence in group]
        for column, scorer in enumerate(SCORERS):
            gamma = [oracle_gamma(pairs, scorer, events, reading.gamma) + more for pairs, _, more in slots]
            np.testing.assert_allclose(actual[name].gamma[:, column], gamma, rtol=0, atol=1e-12)
            for variant, values in oracle_curves(gamma, wrong, reading).items():
                np.testing.assert_allclose(actual[name].curves[variant][:, column], values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: reading.signature.partition("|tok")[0][10:])
@settings(max_examples=10)
@given(data=DATA, seed=st.integers(0, 99))
def test_order_of_videos_batches_and_strangers_change_nothing(
    reading: Reading, data: tuple[dict, dict], seed: int
) -> None:
    references, predictions = data
    together = live_score.score_videos(references, predictions, reading)
    names = list(references)
    np.random.default_rng(seed).shuffle(names)
    apart = {}
    for batch in (names[:1], names[1:]):
        strangers = {"stranger": [{"timestamp": [0, 1], "sentence": "a man"}]}
        own = {name: references[name] for name in batch}
        apart.update(live_score.score_videos(own, predictions | strangers, reading))
    assert set(apart) == set(together)
    for name, video in together.items():
        for variant in VARIANTS:
            np.testing.assert_array_equal(apart[name].curves[variant], video.curves[variant])
    assert live_score.summary(apart, SCORERS) == pytest.approx(live_score.summary(together, SCORERS), abs=1e-14)


@given(data=DATA)
def test_a_caption_said_twice_changes_its_false_positives_only(data: tuple[dict, dict]) -> None:
    references, predictions = data
    twice = {name: [item for item in items for _ in range(2)] for name, items in predictions.items()}
    reading = Reading(60, scorers=SCORERS)
    once, double = (live_score.score_videos(references, said, reading) for said in (predictions, twice))
    assert set(once) == set(double)
    for name, video in once.items():
        np.testing.assert_allclose(double[name].gamma, video.gamma, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(double[name].false_positives, 2 * video.false_positives)


@given(data=DATA)
def test_the_toolkit_counts_a_caption_said_twice_as_two_slots(data: tuple[dict, dict]) -> None:
    references, predictions = data
    twice = {name: [item for item in items for _ in range(2)] for name, items in predictions.items()}
    reading = Reading(mode="reference", scorers=SCORERS)
    once, double = (live_score.score_videos(references, said, reading) for said in (predictions, twice))
    for name, video in once.items():
        np.testing.assert_array_equal(double[name].gamma, np.repeat(video.gamma, 2, axis=0))
