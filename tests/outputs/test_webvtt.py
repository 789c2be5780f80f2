"""WebVTT: the format, hostile text, and a file that is valid at every moment."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.outputs.webvtt import WebVttWriter, cue, timestamp

CUE = re.compile(r"(\d{2,}):(\d\d):(\d\d)\.(\d{3}) --> (\d{2,}):(\d\d):(\d\d)\.(\d{3})\n([^\n]+)\n\n")


@pytest.mark.parametrize(
    ("milliseconds", "text"),
    [(0, "00:00:00.000"), (59_999, "00:00:59.999"), (3_723_004, "01:02:03.004"), (360_000_000, "100:00:00.000")],
)
def test_timestamp(milliseconds, text):
    assert timestamp(milliseconds) == text


def test_rounding_goes_outwards_and_carries_into_the_minutes():
    assert cue(0.9996, 59.9991, "a").startswith("00:00:00.999 --> 00:01:00.000\n")
    assert cue(1.9996, 2.0000000001, "a").startswith("00:00:01.999 --> 00:00:02.000\n")


@given(start=st.floats(0, 1e6), length=st.floats(0, 1e4), text=st.text(min_size=1).filter(str.strip))
def test_any_text_gives_one_well_formed_cue(start, length, text):
    found = cue(start, start + length, text)
    match = CUE.fullmatch(found)
    assert match
    assert "<" not in match[9]
    assert "-->" not in match[9]
    hours, minutes, seconds, millis = (int(match[i]) for i in range(1, 5))
    later = [int(match[i]) for i in range(5, 9)]
    assert [hours, minutes, seconds, millis] < later
    assert ((hours * 60 + minutes) * 60 + seconds) * 1000 + millis == pytest.approx(start * 1000, abs=1.01)


def test_markup_is_escaped():
    assert cue(0, 1, "a <b> & c --> d").endswith("\na &lt;b&gt; &amp; c --&gt; d\n\n")


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (2, 1), (float("nan"), 1)])
def test_impossible_times_are_refused(start, end):
    with pytest.raises(ValueError, match="cue from"):
        cue(start, end, "a")


def test_the_file_is_whole_after_every_write(tmp_path):
    path = tmp_path / "new" / "captions.vtt"
    with WebVttWriter(path) as writer:
        assert path.read_text() == "WEBVTT\n\n"
        writer.write(0, 1, "one\n\ntwo")
        assert path.read_text() == "WEBVTT\n\n00:00:00.000 --> 00:00:01.000\none two\n\n"
        writer.write(1, 1, " \n")
        writer.write(1, 1, "ünï")
    assert path.read_text(encoding="utf-8").endswith("\n\n00:00:01.000 --> 00:00:01.001\nünï\n\n")
