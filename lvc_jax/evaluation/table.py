"""The table of an evaluation: for the terminal, as text, as Markdown and for the report."""

import io
from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from lvc_jax.evaluation.baselines import NAMES
from lvc_jax.outputs import report

# (header, metric, how to print it)
COLUMNS = (
    ("LS ROUGE-L", "LS/ROUGE-L", "percent"),
    ("wLS ROUGE-L", "wLS/ROUGE-L", "percent"),
    ("LS BLEU-1", "LS/BLEU-1", "percent"),
    ("LS BLEU-4", "LS/BLEU-4", "percent"),
    ("recall @.5", "recall_0.5", "percent"),
    ("prec. @.5", "precision_0.5", "percent"),
    ("split rec. @.5", "split_recall_0.5", "percent"),
    ("split prec. @.5", "split_precision_0.5", "percent"),
    ("exact caption", "exact_match", "percent"),
    ("silence kept", "silent_kept", "percent"),
    ("count right", "count_accuracy", "percent"),
    ("false per silent min", "false_captions_per_silent_minute", "number"),
    ("delay (s)", "delay_mean_s", "number"),
    ("never capt.", "delay_missed_share", "percent"),
)
WIDTH = 150
Rows = Mapping[str, Mapping[str, Mapping[str, float | None]]]


def _cell(value: float | None, kind: str) -> str:
    if value is None:
        return "-"
    return f"{100 * value:.1f}" if kind == "percent" else f"{value:.1f}"


def _lines(rows: Rows) -> list[list[str]]:
    return [
        [frames, NAMES.get(name, name), *(_cell(metrics.get(key), kind) for _, key, kind in COLUMNS)]
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
    for header, _, _ in COLUMNS:
        table.add_column(header, justify="right", vertical="bottom")
    for line in _lines(rows):
        table.add_row(*line, style="bold" if line[1] == NAMES["model"] else None)
    return table


def tall_table(title: str, frames: str, methods: Mapping[str, Mapping[str, float | None]]) -> Table:
    """One Δt with a row a metric, for a narrow terminal."""
    table = Table(title=f"{title}; Δt = {frames}", title_justify="left", header_style="bold", box=None)
    table.add_column("metric", no_wrap=True)
    for name in methods:
        table.add_column(NAMES.get(name, name), justify="right")
    for header, key, kind in COLUMNS:
        table.add_row(header, *(_cell(metrics.get(key), kind) for metrics in methods.values()))
    return table


def show(title: str, rows: Rows) -> None:
    """Prints the table; on a terminal that is too narrow for it, one tall table for each Δt."""
    console = Console()
    if console.is_terminal and console.width < WIDTH:
        for frames, methods in rows.items():
            console.print(tall_table(title, frames, methods))
    else:
        print(as_text(title, rows), end="")


def as_text(title: str, rows: Rows) -> str:
    """The table as plain text."""
    buffer = io.StringIO()
    Console(file=buffer, width=WIDTH, color_system=None, legacy_windows=False).print(rich_table(title, rows))
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"


def as_markdown(title: str, rows: Rows) -> str:
    """The table as Markdown."""
    header = ["Δt", "captions by", *(name for name, _, _ in COLUMNS)]
    rule = ["---:", ":---", *("---:" for _ in COLUMNS)]
    return (
        "\n".join([f"**{title}**", "", *("| " + " | ".join(line) + " |" for line in (header, rule, *_lines(rows)))])
        + "\n"
    )


def for_report(title: str, rows: Rows) -> report.Table:
    """The table for the HTML report; the model's rows stand out."""
    lines = _lines(rows)
    emphasised = frozenset(number for number, line in enumerate(lines) if line[1] == NAMES["model"])
    return report.Table(title, ["Δt", "captions by", *(name for name, _, _ in COLUMNS)], lines, emphasised)


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
