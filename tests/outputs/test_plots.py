"""Pictures are PNG files and hold what they were given."""

import io
from pathlib import Path

import matplotlib.image
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.outputs import plots

EVENTS = [(0.0, 6.0, "A red square enters."), (4.0, 9.0, "A blue circle grows."), (12.0, 15.0, "It blinks.")]


def captions(*spans: tuple[float, float, str]) -> list[dict]:
    return [{"timestamp": [start, end], "sentence": sentence} for start, end, sentence in spans]


def test_lanes_keep_overlapping_events_apart() -> None:
    assert plots._lanes([(0, 6), (4, 9), (6, 7), (12, 15)]) == [0, 1, 0, 0]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(1, 9)), max_size=8))
def test_no_two_events_share_a_place(pairs: list) -> None:
    spans = [(float(start), float(start + length)) for start, length in pairs]
    lanes = plots._lanes(spans)
    for i in range(len(spans)):
        for j in range(i):
            overlap = min(spans[i][1], spans[j][1]) > max(spans[i][0], spans[j][0])
            assert not (overlap and lanes[i] == lanes[j])


def test_repeated_captions_become_one_bar() -> None:
    runs = plots._merge(captions((0, 2, "a"), (2, 4, "a"), (4, 6, "b"), (8, 10, "b"), (2, 4, "c")))
    assert sorted(runs) == [(0, 4, "a"), (2, 4, "c"), (4, 6, "b"), (8, 10, "b")]


def test_timeline(tmp_path: Path) -> None:
    said = captions((2, 4, "A red square enters."), (4, 6, "A blue circle grows."), (16, 18, "A dog."))
    figure = plots.timeline("Video", 20.0, EVENTS, said, 2.0)
    (axes,) = figure.axes
    assert len(axes.patches) == len(EVENTS) + 3
    assert axes.get_xlim() == (0, 20)
    texts = [text.get_text().replace("\n", " ") for text in axes.texts]
    assert "A red square enters." in texts
    plots.save(figure, tmp_path / "t.png")
    assert matplotlib.image.imread(io.BytesIO((tmp_path / "t.png").read_bytes())).shape[2] == 4


def test_captions_fill_their_segments_and_the_picture_can_end_early() -> None:
    said = [
        {"timestamp": [2.5, 3.0], "sentence": "a", "segment": 1},
        {"timestamp": [8, 9], "sentence": "b", "segment": 4},
    ]
    (axes,) = plots.timeline("Video", 20.0, EVENTS, said, 2.0, until=8.0).axes
    assert axes.get_xlim() == (0, 8)
    assert [(bar.get_x(), bar.get_width()) for bar in axes.patches] == [(0, 6), (4, 4), (2, 2)]


@pytest.mark.parametrize(("events", "said"), [([], []), (EVENTS, []), ([], captions((0, 2, "a $x_ b")))])
def test_empty_timelines_are_drawn(events: list, said: list) -> None:
    assert plots.png(plots.timeline("Nothing", 5.0, events, said)).startswith(b"\x89PNG")


def test_score_over_time() -> None:
    time = np.arange(1.0, 6.0)
    curves = {name: np.linspace(0.1, 0.5, 5) for name in plots.CURVES}
    figure = plots.score_over_time(time, curves, "T", others={"silent": (time, 0 * time)}, videos=np.arange(5, 0, -1))
    lines = figure.axes[0].get_lines()
    assert [line.get_label() for line in lines] == ["LS, silent", "LS", "wLS", "hLS", "whLS"]
    np.testing.assert_allclose(lines[1].get_ydata(), 100 * curves["LS"])
    assert plots.png(figure).startswith(b"\x89PNG")


def test_no_curve_has_the_colour_of_another() -> None:
    time = np.arange(1.0, 30.0)
    same = np.full(29, 0.4)

    def colours(*names: str) -> set[tuple[int, ...]]:
        picture = matplotlib.image.imread(
            io.BytesIO(plots.png(plots.score_over_time(time, dict.fromkeys(names, same), "")))
        )
        line = picture[: picture.shape[0] * 3 // 4]  # without the legend
        return {tuple(colour) for colour in (255 * line[..., :3]).round().astype(int).reshape(-1, 3)}

    seen = colours(*plots.CURVES)
    for name, curve in plots.CURVES.items():
        own = tuple(int(curve.colour[i : i + 2], 16) for i in (1, 3, 5))
        assert own in seen, name
        others = [other for other in plots.CURVES if other != name]
        assert own not in colours(*others), name


def test_score_without_any_video_is_drawn() -> None:
    nothing = np.zeros(0)
    figure = plots.score_over_time(nothing, dict.fromkeys(plots.CURVES, nothing), "T", videos=nothing)
    assert plots.png(figure).startswith(b"\x89PNG")


@pytest.mark.parametrize("slots", [1, 2, 6])
def test_curves_that_coincide_are_all_seen(slots: int) -> None:
    time = np.arange(1.0, slots + 1)
    figure = plots.score_over_time(time, dict.fromkeys(plots.CURVES, np.full(slots, 0.5)), "T")
    for text in figure.legends:
        text.set_visible(False)
    pixels = (matplotlib.image.imread(io.BytesIO(plots.png(figure)))[..., :3] * 255).round().astype(int)
    for colour, _ in plots.CURVES.values():
        wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
        assert (np.abs(pixels - wanted).max(axis=-1) <= 2).sum() >= 10, colour


def test_the_figure_set_of_a_video() -> None:
    time = np.arange(1.0, 5.0)
    names = [f"{variant}/{scorer}" for scorer in ("BLEU-1", "METEOR", "CIDEr") for variant in plots.CURVES]
    figures = {name: np.full(4, index / 20) for index, name in enumerate(names)}
    figure = plots.live_scores_of_video(time, figures, "v", xlabel="prediction")
    assert [axes.get_ylabel() for axes in figure.axes] == ["BLEU-1 (%)", "METEOR (%)", "CIDEr (x 100)"]
    assert figure.axes[-1].get_xlabel() == "prediction"
    for row, axes in enumerate(figure.axes):
        assert [line.get_label() for line in axes.get_lines()] == ["LS", "wLS", "hLS", "whLS"]
        levels = [line.get_ydata()[0] for line in axes.get_lines()]
        np.testing.assert_allclose(levels, 100 * np.arange(4 * row, 4 * row + 4) / 20)
    assert plots.png(figure).startswith(b"\x89PNG")
    assert plots.png(plots.live_scores_of_video(np.zeros(0), {}, "nothing")).startswith(b"\x89PNG")
