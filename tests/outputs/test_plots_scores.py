"""Pictures of scores without a time axis."""

import pytest

from lvc_jax.outputs import plots, plots_scores


def test_bars() -> None:
    figure = plots_scores.bars("T", {"BLEU-1": 0.25, "a $x_ [b]": None, "METEOR": float("nan"), "CIDEr": 3.0})
    (axes,) = figure.axes
    assert [bar.get_width() for bar in axes.patches] == [25, 0, 0, 300]
    assert [text.get_text() for text in axes.texts] == ["25.00", "-", "-", "300.00"]
    assert plots.png(figure).startswith(b"\x89PNG")
    assert plots.png(plots_scores.bars("nothing", {})).startswith(b"\x89PNG")


@pytest.mark.parametrize("names", [("BLEU-4", "recall"), ("precision", "recall"), ()])
def test_over_thresholds(names: tuple[str, ...]) -> None:
    figure = plots_scores.over_thresholds([0.3, 0.5], {name: [0.5, 0.25] for name in names}, "T $x")
    assert figure.get_suptitle() == r"T \$x"
    lines = [line for axes in figure.axes for line in axes.get_lines()]
    assert sorted(line.get_label() for line in lines) == sorted(names)
    assert all(line.get_ydata().tolist() == [50, 25] for line in lines)
    assert plots.png(figure).startswith(b"\x89PNG")
