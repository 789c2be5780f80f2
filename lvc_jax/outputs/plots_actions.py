"""Figure 2 of the Instantaneous Accuracy paper: one detector on one video over time, and several side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from lvc_jax.outputs.plots_style import FAINT, FONT, GREY, bare, new_figure, plain

# The first detector is solid and on top; where others coincide with it, their dashes still show.
_STYLES = (("#2563eb", "-"), ("#db2777", "--"), ("#059669", "-."), (GREY, ":"), ("#d97706", "--"), (GREY, "-."))
_TRACK = 0.34

Curve = Mapping[str, Sequence[float]]


def instantaneous_accuracy(
    title: str,
    slot: float,
    curves: Mapping[str, Curve],
    annotated: Sequence[Mapping[str, Any]] = (),
    detected: Sequence[Mapping[str, Any]] = (),
) -> Figure:
    """The instantaneous accuracy of one video.

    Left: IA and weighted IA of the first detector, above strips of what was annotated and what it said. Right: the
    weighted IA of every detector.

    Args:
        title: of the picture; names the video.
        slot: Δt in seconds.
        curves: {detector: {"IA": [n], "weighted_IA": [n]}}, fractions after each slot, as `per_video` of a result.
        annotated: segments {"segment": [start, end] seconds, "label"}.
        detected: the same, of the first detector.

    Returns:
        The figure; `plots.save` writes it.
    """
    with matplotlib.rc_context(FONT):
        figure = new_figure(11, 4)
        axes = figure.subplot_mosaic([["one", "all"], ["strips", "all"]], height_ratios=[4, 1])
        axes["strips"].sharex(axes["one"])
        name = next(iter(curves), None)
        first = curves[name] if name is not None else {"IA": [], "weighted_IA": []}
        end = max([slot, *(slot * len(curve["IA"]) for curve in curves.values())])
        _lines(
            axes["one"],
            slot,
            {"weighted IA": first["weighted_IA"], "IA": first["IA"]},
            (("#2563eb", "-"), (GREY, "-")),
        )
        if name is not None:
            axes["one"].legend(frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
        axes["one"].set_title(f"(a) {plain(name or 'no detector')}", pad=22)
        axes["one"].set_ylabel("accuracy so far (%)")
        axes["one"].tick_params(labelbottom=False)
        axes["one"].set_xlim(0, end)
        _strips(axes["strips"], annotated, detected)
        _lines(axes["all"], slot, {key: curve["weighted_IA"] for key, curve in curves.items()}, _STYLES)
        axes["all"].set(title="(b) weighted IA", xlabel="time (s)")
        axes["all"].set_xlim(0, end)
        if curves:
            # Beside the panel, whose curves may be anywhere.
            lines = axes["all"].get_legend_handles_labels()
            figure.legend(*lines, frameon=False, fontsize=8, loc="outside right upper")
        figure.suptitle(plain(title))
    return figure


def _lines(axes: Axes, slot: float, lines: Mapping[str, Sequence[float]], styles: Sequence[tuple[str, str]]) -> None:
    for number, (name, values) in enumerate(lines.items()):
        colour, style = styles[number % len(styles)]
        percent: Float[np.ndarray, " n"] = 100 * np.asarray(values, np.float64)
        time = slot * (np.arange(len(percent)) + 1.0)
        marker = "o" if len(time) < 3 else ""
        axes.plot(
            time,
            percent,
            color=colour,
            linestyle=style,
            linewidth=1.6 if style == "-" else 2.2,
            label=plain(name),
            marker=marker,
            zorder=3 - 0.01 * number,
        )
    axes.set_ylim(0, 102)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    bare(axes)


def _strips(axes: Axes, annotated: Sequence[Mapping[str, Any]], detected: Sequence[Mapping[str, Any]]) -> None:
    annotated, detected = (
        [item for item in segments if item["segment"][1] > item["segment"][0]] for segments in (annotated, detected)
    )
    labels = list(dict.fromkeys(item["label"] for item in (*annotated, *detected)))
    colours = {label: matplotlib.colormaps["tab20"](i % 20) for i, label in enumerate(labels)}
    for height, segments in ((1.0, annotated), (0.5, detected)):
        for item in segments:
            start, end = item["segment"]
            axes.barh(height, end - start, left=start, height=_TRACK, color=colours[item["label"]], linewidth=0)
    axes.set_ylim(0.25, 1.25)
    axes.set_yticks([1.0, 0.5], ["annotated", "detected"])
    axes.set_xlabel("time (s)")
    bare(axes, "left")
    axes.tick_params(axis="y", length=0)
    if 0 < len(labels) <= 20:
        handles = [Patch(color=colours[label], label=plain(label.replace("_", " "))) for label in labels]
        axes.legend(
            handles=handles,
            ncols=3,
            frameon=False,
            fontsize=6,
            loc="upper left",
            bbox_to_anchor=(0, -0.95),
            borderpad=0,
        )
