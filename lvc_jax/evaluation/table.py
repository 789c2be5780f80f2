"""The table of an evaluation: for the terminal, as text, as Markdown and for the report."""

import io
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from rich.console import Console
from rich.table import Table

from lvc_jax.evaluation.baselines import NAMES
from lvc_jax.outputs import report


class Column(NamedTuple):
    """A metric of the table: what stands above it, how its values are printed, and what it says in one line."""

    header: str
    metric: str
    kind: Literal["percent", "number"]
    meaning: str


COLUMNS = (
    Column("LS ROUGE-L", "LS/ROUGE-L", "percent", "Live Score: mean ROUGE-L of all segments up to now"),
    Column("wLS ROUGE-L", "wLS/ROUGE-L", "percent", "Live Score, lowered by captions in silence"),
    Column("LS BLEU-1", "LS/BLEU-1", "percent", "Live Score with BLEU-1, right words, in place of ROUGE-L"),
    Column("LS BLEU-4", "LS/BLEU-4", "percent", "Live Score with BLEU-4, right runs of four words"),
    Column("recall @.5", "recall_0.5", "percent", "events that some caption's times overlap with tIoU above 0.5"),
    Column("prec. @.5", "precision_0.5", "percent", "captions whose times overlap some event with tIoU above 0.5"),
    Column("split rec. @.5", "split_recall_0.5", "percent", "the same recall, of events cut at the segments' borders"),
    Column("split prec. @.5", "split_precision_0.5", "percent", "the same precision, on events cut at those borders"),
    Column("exact caption", "exact_match", "percent", "segments with events whose best caption is a reference's words"),
    Column("silence kept", "silent_kept", "percent", "segments without events that got no caption"),
    Column("count right", "count_accuracy", "percent", "segments with as many captions as events"),
    Column("counter right", "counter_accuracy", "percent", "segments whose number of events the model's counter knew"),
    Column("false per silent min", "false_captions_per_silent_minute", "number", "captions in a minute without events"),
    Column(
        "delay (s)", "delay_mean_s", "number", "from an event's start to the first caption while it lasts, any words"
    ),
    Column("never capt.", "delay_missed_share", "percent", "events without any caption while they lasted"),
)
LEGEND = {
    "Δt": "length of a segment in frames at 30 per second; video: the whole video is one segment",
    "captions by": "the model, or a baseline that knows less: what the model has to beat",
    **{column.header: column.meaning for column in COLUMNS},
}
WIDTH = 150
Rows = Mapping[str, Mapping[str, Mapping[str, float | None]]]


def _cell(value: float | None, kind: str) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" if kind == "percent" else f"{value:.1f}"


def _lines(rows: Rows) -> list[list[str]]:
    return [
        [frames, NAMES.get(name, name), *(_cell(metrics.get(c.metric), c.kind) for c in COLUMNS)]
        for frames, methods in rows.items()
        for name, metrics in methods.items()
    ]


def rich_table(title: str, rows: Rows) -> Table:
    """The table for a terminal; scores in percent.

    Args:
        title: stands above it; says what the captions and features are.
        rows: {Δt: {method: {metric: value}}}.
    """
    table = Table(title=title, title_justify="left", header_style="bold", padding=(0, 1, 0, 0), box=None)
    table.add_column("Δt", justify="right", no_wrap=True)
    table.add_column("captions by", no_wrap=True)
    for column in COLUMNS:
        table.add_column(column.header, justify="right", vertical="bottom")
    for line in _lines(rows):
        table.add_row(*line, style="bold" if line[1] == NAMES["model"] else None)
    return table


def tall_table(title: str, frames: str, methods: Mapping[str, Mapping[str, float | None]]) -> Table:
    """One Δt with a row a metric, for a narrow terminal."""
    table = Table(title=f"{title}; Δt = {frames}", title_justify="left", header_style="bold", box=None)
    table.add_column("metric", no_wrap=True)
    for name in methods:
        table.add_column(NAMES.get(name, name), justify="right")
    for column in COLUMNS:
        table.add_row(column.header, *(_cell(m.get(column.metric), column.kind) for m in methods.values()))
    return table


def show(title: str, rows: Rows) -> None:
    """Prints the table; on a terminal that is too narrow for it, one tall table for each Δt."""
    console = Console()
    if console.is_terminal and console.width < WIDTH:
        for frames, methods in rows.items():
            console.print(tall_table(title, frames, methods))
    else:
        print(as_text(title, rows), end="")


def as_text(title: str, rows: Rows, notes: Sequence[str] = ()) -> str:
    """The table as plain text, and the notes below it."""
    buffer = io.StringIO()
    Console(file=buffer, width=WIDTH, color_system=None, legacy_windows=False).print(rich_table(title, rows))
    return "\n".join([*(line.rstrip() for line in buffer.getvalue().splitlines()), *notes]) + "\n"


def as_markdown(title: str, rows: Rows, notes: Sequence[str] = ()) -> str:
    """The table as Markdown, and the notes below it."""
    header = list(LEGEND)
    rule = ["---:", ":---", *("---:" for _ in COLUMNS)]
    lines = ["| " + " | ".join(line) + " |" for line in (header, rule, *_lines(rows))]
    below = ["", *(f"- {note}" for note in notes)] if notes else []
    return "\n".join([f"**{title}**", "", *lines, *below]) + "\n"


def for_report(title: str, rows: Rows) -> report.Table:
    """The table for the HTML report; the model's rows stand out, every head is explained below."""
    lines = _lines(rows)
    emphasised = frozenset(number for number, line in enumerate(lines) if line[1] == NAMES["model"])
    return report.Table(title, list(LEGEND), lines, emphasised, legend=LEGEND)


def all_metrics(rows: Rows) -> list[report.Table]:
    """For each Δt every metric of every method, fractions and seconds."""
    tables = []
    for frames, methods in rows.items():
        names = list(dict.fromkeys(name for metrics in methods.values() for name in metrics))
        lines = [
            [name, "", *("-" if (v := m.get(name)) is None else f"{v:.4f}" for m in methods.values())] for name in names
        ]
        header = ["metric", "", *(NAMES.get(method, method) for method in methods)]
        tables.append(report.Table(f"Everything, Δt = {frames}", header, lines))
    return tables
