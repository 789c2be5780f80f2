"""Whatever comes in: an InputError of one line, or finite numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.errors import InputError
from lvc_jax.metrics import live_score, online, timeliness
from lvc_jax.metrics.live_score import Reading
from lvc_jax.metrics.timeliness import Rule

NUMBERS = st.sampled_from([0, -1, 2.5, 7.0, 20, 1e-9, 1e8, 1e300, math.nan, math.inf, -math.inf, 10**400, True, None])
SPANS = st.one_of(
    st.lists(NUMBERS, max_size=3),
    st.tuples(st.integers(-3, 25), st.integers(-3, 25)).map(list),
    st.sampled_from(["0 1", None, 3]),
)
TEXTS = st.one_of(
    st.sampled_from(
        ["", " ", ".", "a man", "!!", "é", "a\nb\rc", "\x00", "1 1/2", "a" * 300, "qxzvqxzvqxzvqxz", "x\u2028y"]
    ),
    st.text(max_size=8),
)
MAYBE_TEXTS = st.one_of(TEXTS, st.sampled_from([None, 3, ["a"]]))
REFERENCE = st.one_of(
    st.fixed_dictionaries(
        {
            "duration": st.one_of(st.sampled_from([10.0, 0, 3, 0.04]), NUMBERS),
            "references": st.lists(
                st.lists(st.tuples(st.integers(0, 9), st.integers(0, 12), TEXTS), max_size=3), min_size=1, max_size=2
            ),
        }
    ),
    st.sampled_from(
        [{}, {"duration": 3.0}, None, {"duration": 3.0, "references": []}, {"duration": "3", "references": [[]]}]
    ),
    st.tuples(SPANS, MAYBE_TEXTS).map(
        lambda e: {"duration": 9.0, "references": [[(*(e[0] or [0]), e[1])]]} if isinstance(e[0], list) else None
    ),
)
ITEM = st.one_of(
    st.fixed_dictionaries(
        {"timestamp": st.tuples(st.integers(0, 9), st.integers(0, 12)), "sentence": TEXTS},
        optional={"segment": st.integers(-3, 9), "score": st.floats(0, 1), "count": st.integers(0, 3)},
    ),
    st.fixed_dictionaries(
        {"timestamp": SPANS, "sentence": MAYBE_TEXTS},
        optional={"segment": NUMBERS, "score": NUMBERS, "count": NUMBERS},
    ),
    st.sampled_from([None, {}, [], "x"]),
)
GOOD_ITEM = st.fixed_dictionaries(
    {"timestamp": st.tuples(st.integers(-9, 99), st.integers(-9, 99)), "sentence": TEXTS},
    optional={"segment": st.integers(-3, 99), "score": st.floats(-9, 9), "count": st.integers(0, 3)},
)
READINGS = [
    Reading(60),
    Reading("video", gamma="aggregate"),
    Reading(24, silent="one", history="K"),
    Reading(clock="prediction"),
    Reading(mode="reference", scorers=("BLEU-1", "BLEU-4", "ROUGE-L", "CIDEr")),
]


def assert_finite_or_one_line(references: dict, predictions: dict, reading: Reading) -> None:
    try:
        videos = live_score.score_videos(references, predictions, reading)
        late = timeliness.score(references, predictions, Rule(60, match="ROUGE-L"))
        seen = online.score(references, predictions, reading.delta_t)
    except InputError as error:
        message = str(error)
    else:
        message = None
    if message is not None:
        assert "\n" not in message
        assert "video" in message
        return
    for video in videos.values():
        assert all(np.isfinite(values).all() for values in (video.time, video.gamma, *video.curves.values()))
    for value in (*live_score.summary(videos, reading.names).values(), *late.values(), *seen.values()):
        assert value is None or math.isfinite(value)


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: f"{reading.mode}-{reading.clock}-{reading.gamma}")
@given(reference=REFERENCE, items=st.lists(ITEM, max_size=4))
def test_malformed_input(reading: Reading, reference: object, items: list) -> None:
    assert_finite_or_one_line({"v": reference}, {"v": items}, reading)


@pytest.mark.parametrize("reading", READINGS, ids=lambda reading: f"{reading.mode}-{reading.clock}-{reading.gamma}")
@given(
    events=st.lists(st.tuples(st.integers(-9, 99), st.integers(-9, 99), TEXTS), max_size=4),
    items=st.lists(GOOD_ITEM, max_size=6),
    duration=st.sampled_from([0, 0.04, 1, 9.99, 60]),
)
def test_odd_but_scorable_input_is_scored(reading: Reading, events: list, items: list, duration: float) -> None:
    videos = live_score.score_videos({"v": {"duration": duration, "references": [events, []]}}, {"v": items}, reading)
    for video in videos.values():
        assert all(np.isfinite(values).all() for values in (video.time, video.gamma, *video.curves.values()))


@pytest.mark.parametrize(
    ("reference", "items", "message"),
    [
        ({"duration": math.nan, "references": [[]]}, [], "video v: duration"),
        ({"duration": 1e9, "references": [[]]}, [], "slots of 0.8 s"),
        ({"duration": 5.0, "references": [[(0, 1)]]}, [], "event 0"),
        ({"duration": 5.0, "references": [[(0, math.inf, "a")]]}, [], "event 0: timestamp"),
        ({"duration": 5.0, "references": [[]]}, [{"timestamp": [0, "1"], "sentence": "a"}], "item 0: timestamp"),
        ({"duration": 5.0, "references": [[]]}, [{"timestamp": [0, 1]}], "item 0: sentence"),
        ({"duration": 5.0, "references": [[]]}, [{"timestamp": [0, 1], "sentence": "", "segment": "1"}], "segment"),
        ({"duration": 5.0, "references": [[]]}, {"a": 1}, "list of items"),
    ],
)
def test_messages_name_the_video_and_the_field(reference: dict, items: list, message: str) -> None:
    with pytest.raises(InputError, match=message):
        live_score.score_videos({"v": reference}, {"v": items}, Reading(24))
