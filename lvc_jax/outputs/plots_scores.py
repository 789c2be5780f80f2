"""Pictures of scores that have no time axis: one bar each, or one line over tIoU thresholds."""

import math
from collections.abc import Mapping, Sequence

import matplotlib
from matplotlib.figure import Figure

from lvc_jax.outputs.plots_style import FAINT, FONT, bare, new_figure, plain

_BAR = "#2563eb"
_STYLES = ("-", "--", "-.", ":")
_SHADES = ("#93c5fd", "#2563eb")


def bars(title: str, scores: Mapping[str, float | None]) -> Figure:
    """A bar for each score.

    Args:
        title: of the picture.
        scores: {name: fraction}; one that is missing or not finite has no bar.

    Returns:
        The figure; `plots.save` writes it.
    """
    with matplotlib.rc_context(FONT):
        figure = new_figure(8, 1.2 + 0.26 * max(1, len(scores)))
        axes = figure.add_subplot()
        values = [100 * value if value is not None and math.isfinite(value) else 0.0 for value in scores.values()]
        drawn = axes.barh(range(len(values)), values, color=_BAR)
        labels = [f"{v:.2f}" if s is not None and math.isfinite(s) else "-" for v, s in zip(values, scores.values())]
        axes.bar_label(drawn, labels, padding=3, fontsize=8)
        axes.set_yticks(range(len(values)), [plain(name) for name in scores])
        axes.invert_yaxis()
        axes.set_xlim(0, 1.12 * max([1.0, *values]))
        axes.set(title=plain(title), xlabel="score (x 100)")
        axes.grid(axis="x", color=FAINT)
        axes.set_axisbelow(True)
        bare(axes)
    return figure


def over_thresholds(thresholds: Sequence[float], scores: Mapping[str, Sequence[float]], title: str = "") -> Figure:
    """Scores at each tIoU threshold, one line each; precision and recall beside the text scorers.

    Args:
        thresholds: tIoU.
        scores: {name: fractions, one for each threshold}.
        title: of the picture.

    Returns:
        The figure; `plots.save` writes it.
    """
    with matplotlib.rc_context(FONT):
        figure = new_figure(9, 3.6)
        figure.suptitle(plain(title))
        parts = figure.subplots(1, 2)
        where = {name: int(name in ("precision", "recall")) for name in scores}
        for index, (name, values) in enumerate(scores.items()):
            style = _STYLES[index % len(_STYLES)]
            parts[where[name]].plot(
                thresholds, [100 * value for value in values], style, marker="o", markersize=4, label=name
            )
        for axes, part in zip(parts, ("Captions", "Localisation")):
            axes.set(title=part, xlabel="tIoU", ylabel="score (x 100)")
            axes.set_xticks(list(thresholds))
            axes.set_ylim(bottom=0)
            axes.grid(axis="y", color=FAINT)
            bare(axes)
            if axes.get_lines():
                axes.legend(frameon=False, fontsize=8)
    return figure


def panels(title: str, values: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Bars in parts beside each other, one part for each thing that was varied.

    Args:
        title: of the picture.
        values: {part: {value of what is varied: {reading: fraction}}}; parts without a value are left out.

    Returns:
        The figure; `plots.save` writes it.
    """
    shown = {name: own for name, own in values.items() if own}
    with matplotlib.rc_context(FONT):
        figure = new_figure(9, 3.4)
        figure.suptitle(plain(title))
        sizes = [len(own) for own in shown.values()] or [1]
        parts = figure.subplots(1, len(sizes), sharey=True, squeeze=False, width_ratios=sizes)[0]
        for axes, (name, own) in zip(parts, shown.items()):
            readings = list(next(iter(own.values())))
            width = 0.8 / len(readings)
            for index, reading in enumerate(readings):
                places = [place + (index - (len(readings) - 1) / 2) * width for place in range(len(own))]
                heights = [100 * cells[reading] for cells in own.values()]
                drawn = axes.bar(places, heights, width, color=_SHADES[index % len(_SHADES)], label=reading)
                axes.bar_label(drawn, [f"{height:.1f}" for height in heights], padding=2, fontsize=7)
            axes.set_xticks(range(len(own)), list(own))
            axes.set(xlabel=name)
            axes.grid(axis="y", color=FAINT)
            axes.set_axisbelow(True)
            bare(axes)
            axes.margins(y=0.1)
        parts[0].set(ylabel="score (x 100)", ylim=(0, None))
        if shown:
            handles, labels = parts[0].get_legend_handles_labels()
            figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8)
    return figure
