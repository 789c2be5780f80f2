"""Pictures: Live Scores over time, and one video's reference events above its live captions."""

import colorsys
import io
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lvc_jax.files import atomic_write
from lvc_jax.outputs.plots_style import FAINT, FONT, GREY, INK, bare, new_figure, plain


class Curve(NamedTuple):
    """How a curve is drawn: its colour and the width of its line in points."""

    colour: str
    width: float


# The four variants in the paper's order. Curves often coincide: a weighted one lies on
# its plain one where nothing false was said, and all four are one at first. So each is narrower than those below it.
CURVES = {
    "LS": Curve("#bfdbfe", 9.0),
    "wLS": Curve("#3b82f6", 3.4),
    "hLS": Curve("#fdba74", 6.0),
    "whLS": Curve("#7c2d12", 1.2),
}
_WRONG = "#dc2626"


def save(figure: Figure, path: str | os.PathLike) -> None:
    """Writes a figure as PNG."""
    with atomic_write(path, "wb") as file:
        file.write(png(figure))


def png(figure: Figure) -> bytes:
    """A figure as the bytes of a PNG file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _bare(axes: Axes, *hidden: str) -> None:
    bare(axes, *hidden)
    axes.tick_params(colors=INK, length=3)


def score_over_time(
    time: Float[np.ndarray, " k"],
    curves: Mapping[str, Float[np.ndarray, " k"]],
    title: str,
    *,
    others: Mapping[str, tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]] | None = None,
    videos: Float[np.ndarray, " k"] | None = None,
    ylabel: str = "score (%)",
    xlabel: str = "time (s)",
) -> Figure:
    """The four Live Scores over time.

    Args:
        time: of each value: seconds, or the number of the prediction where a slot is a prediction.
        curves: {variant: fractions [k]}; variants as in `CURVES`.
        title: of the picture.
        others: baselines {name: (time, LS)}, drawn thin and grey.
        videos: how many videos each value is the mean of, drawn as a pale area.
        ylabel: of the scores.
        xlabel: what `time` is.

    Returns:
        The figure; `save` writes it.
    """
    with matplotlib.rc_context(FONT):
        figure = new_figure(8, 3.6)
        axes = figure.add_subplot()
        if videos is not None and len(videos):
            count = axes.twinx()
            count.fill_between(time, videos, step="pre", color=FAINT, alpha=0.7, linewidth=0)
            count.set_ylim(0, 2.5 * float(np.max(videos)))
            count.set_ylabel("videos (grey area)", color=GREY)
            count.set_zorder(axes.get_zorder() - 1)
            axes.patch.set_visible(False)
            _bare(count, "left")
        for style, (name, (when, values)) in zip((":", "-.", (0, (1, 3)), (0, (5, 5))), (others or {}).items()):
            axes.plot(when, 100 * values, color=GREY, linestyle=style, linewidth=1.1, label=f"LS, {plain(name)}")
        _draw_curves(axes, time, curves)
        axes.set(xlabel=xlabel, ylabel=plain(ylabel), title=plain(title))
        figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _draw_curves(axes: Axes, time: Float[np.ndarray, " k"], curves: Mapping[str, Float[np.ndarray, " k"]]) -> None:
    for variant, values in curves.items():
        colour, width = CURVES[variant]
        # A line of one or two values is hard to see.
        dots: dict[str, Any] = {"marker": "o", "markersize": 2 + 1.6 * width, "markeredgewidth": 0}
        marker = dots if len(time) < 3 else {}
        order = 3 - width / 100
        axes.plot(time, 100 * np.asarray(values), color=colour, linewidth=width, label=variant, zorder=order, **marker)
    axes.set_xlim(0, float(np.max(time)) * 1.02 if len(time) else 1)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=FAINT, linewidth=0.8)
    _bare(axes)


def live_scores_of_video(
    time: Float[np.ndarray, " k"],
    figures: Mapping[str, Float[np.ndarray, " k"]],
    title: str,
    *,
    xlabel: str = "time (s)",
) -> Figure:
    """The figure set of one video: a row for each scorer, with its four Live Scores over time.

    Args:
        time: of each value: seconds, or the number of the prediction where a slot is a prediction.
        figures: {"LS/BLEU-1": fractions [k], ...}, as `live_score.VideoScore.figures` gives them.
        title: of the picture.
        xlabel: what `time` is.

    Returns:
        The figure; `save` writes it.
    """
    scorers = list(dict.fromkeys(name.partition("/")[2] for name in figures))
    with matplotlib.rc_context(FONT):
        figure = new_figure(8, 1.2 + 2.1 * max(1, len(scorers)))
        rows = figure.subplots(max(1, len(scorers)), 1, sharex=True, squeeze=False)[:, 0]
        for axes, scorer in zip(rows, scorers):
            own = {name: figures[f"{name}/{scorer}"] for name in CURVES if f"{name}/{scorer}" in figures}
            _draw_curves(axes, time, own)
            axes.set_ylabel(f"{scorer} (x 100)" if scorer == "CIDEr" else f"{scorer} (%)")
        rows[0].set_title(plain(title))
        rows[-1].set_xlabel(xlabel)
        handles, labels = rows[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8)
    return figure


def _colours(sentences: Sequence[str]) -> dict[str, tuple[float, float, float]]:
    names = list(dict.fromkeys(sentences))
    # Golden-ratio steps around the colour circle keep neighbours apart for any number of sentences.
    return {name: colorsys.hls_to_rgb((0.58 + 0.618034 * i) % 1, 0.80, 0.65) for i, name in enumerate(names)}


def _lanes(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The lowest free lane of each interval, in order of their starts."""
    ends: list[float] = []
    lanes = [0] * len(spans)
    for index in sorted(range(len(spans)), key=lambda i: spans[i]):
        start, end = spans[index]
        lane = next((i for i, free in enumerate(ends) if free <= start + 1e-9), len(ends))
        ends[lane : lane + 1] = [end]
        lanes[index] = lane
    return lanes


def _fill_segments(
    captions: Sequence[Mapping[str, Any]], duration: float, segment_seconds: float | None
) -> list[Mapping[str, Any]]:
    """Captions with the span of their segment, where both are known."""
    if segment_seconds is None:
        return list(captions)
    filled = []
    for item in captions:
        if "segment" in item:
            start = item["segment"] * segment_seconds
            item = {**item, "timestamp": [start, min(start + segment_seconds, duration)]}
        filled.append(item)
    return filled


def _merge(captions: Sequence[Mapping[str, Any]]) -> list[tuple[float, float, str]]:
    """Runs of the same caption in touching segments as one span."""
    runs: list[tuple[float, float, str]] = []
    for item in sorted(captions, key=lambda item: tuple(item["timestamp"])):
        start, end = item["timestamp"]
        for index, (first, last, sentence) in enumerate(runs):
            if sentence == item["sentence"] and start - last < 1e-6 and end > last:
                runs[index] = (first, end, sentence)
                break
        else:
            runs.append((start, end, item["sentence"]))
    return runs


def _bar(axes: Axes, span: tuple[float, float], y: float, text: str, face: object, edge: str, scale: float) -> None:
    start, end = span
    axes.barh(y, end - start, left=start, height=0.82, color=face, edgecolor=edge, linewidth=0.9, align="center")
    room = int((end - start) * scale)
    if room >= 4:
        lines = textwrap.wrap(text, room, break_long_words=False)
        shown = lines[:3]
        if len(lines) > 3 or any(len(line) > room for line in shown):
            shown = [line if len(line) <= room else line[: room - 1] + "…" for line in shown]
            if len(lines) > 3 and not shown[-1].endswith("…"):
                shown[-1] = shown[-1][: room - 1] + "…"
        words = plain("\n".join(shown))
        axes.text((start + end) / 2, y, words, ha="center", va="center", fontsize=7, clip_on=True, linespacing=1.1)


def timeline(
    title: str,
    duration: float,
    events: Sequence[tuple[float, float, str]],
    captions: Sequence[Mapping[str, Any]],
    segment_seconds: float | None = None,
    until: float | None = None,
) -> Figure:
    """One video: its reference events as bars, and underneath what was said live, on the same clock.

    A caption has the colour of the event whose sentence it is; a caption that overlaps no event has a red edge.
    Captions with a `segment` fill their segment if Δt is given, else the time they speak of.

    Args:
        title: of the picture.
        duration: of the video in seconds.
        events: reference (start, end, sentence).
        captions: prediction items with timestamp [start, end] in seconds and sentence.
        segment_seconds: Δt; draws the grid of segments.
        until: draws the first seconds only.

    Returns:
        The figure; `save` writes it.
    """
    shown = duration if until is None else min(until, duration)
    events = [event for event in events if event[0] < shown]
    runs = [run for run in _merge(_fill_segments(captions, duration, segment_seconds)) if run[0] < shown]
    above = _lanes([(start, end) for start, end, _ in events])
    below = _lanes([(start, end) for start, end, _ in runs])
    height_above, height_below = max(above, default=0) + 1, max(below, default=0) + 1
    colours = _colours([sentence.lower().strip() for _, _, sentence in events])
    with matplotlib.rc_context(FONT):
        figure = new_figure(11, 1.3 + 0.42 * (height_above + height_below))
        axes = figure.add_subplot()
        scale = 165 / shown
        gap = 0.7
        for (start, end, sentence), lane in zip(events, above):
            y = gap + height_above - 1 - lane
            _bar(axes, (start, min(end, shown)), y, sentence, colours[sentence.lower().strip()], GREY, scale)
        for (start, end, sentence), lane in zip(runs, below):
            silent = not any(min(end, b) - max(start, a) > 1e-6 for a, b, _ in events)
            face = colours.get(sentence.lower().strip(), "#f9fafb")
            _bar(axes, (start, min(end, shown)), -gap - lane, sentence, face, _WRONG if silent else GREY, scale)
        if segment_seconds:
            for k in range(int(shown / segment_seconds) + 1):
                axes.axvline(k * segment_seconds, color=FAINT, linewidth=0.6, zorder=0)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_xlim(0, shown)
        axes.set_ylim(-gap - height_below + 0.4, gap + height_above - 0.4)
        axes.set_yticks(
            [gap + (height_above - 1) / 2, -gap - (height_below - 1) / 2], ["reference\nevents", "live\ncaptions"]
        )
        axes.set(xlabel="time (s)", title=plain(title))
        _bare(axes, "left")
        axes.tick_params(axis="y", length=0)
    return figure
