"""A score on the terminal: a table in percent, coverage, notes and the signature line."""

import math
from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lvc_jax.evaluation.scoring.scored import Scored

_MEAN, _VALUE = "mean", "score"
_MOST_ROWS = 60


def grid(scored: Scored) -> tuple[list[str], dict[str, dict[str, float | None]]]:
    """The scores as rows and columns: by tIoU, by variant of the Live Score, by part of SODA, or beside baselines.

    Returns:
        heads of the columns, {row: {column: value}}.
    """
    rows: dict[str, dict[str, float | None]] = {}
    for name, value in scored.scores.items():
        row, column = name, _VALUE
        if scored.metric == "dense_captioning":
            row, _, limit = name.partition("@")
            column = f"@{limit}" if limit else _MEAN
        elif scored.metric == "live_score":
            column, _, row = name.partition("/")
        elif scored.metric == "soda":
            row, _, part = name.partition("/")
            column = part or "F"
        rows.setdefault(row, {})[column] = value
    for baseline, values in scored.baselines.items():
        for name, value in values.items():
            rows.setdefault(name, {})[baseline.replace("_", " ")] = value
    return list(dict.fromkeys(column for row in rows.values() for column in row)), rows


def _cell(row: Mapping[str, float | None], column: str) -> str:
    if column not in row:
        return ""
    value = row[column]
    return "-" if value is None else f"{100 * value:.2f}" if math.isfinite(value) else "NaN"


def printable(text: str) -> str:
    """Text from files as any terminal can print it."""
    return text.encode("utf-8", "backslashreplace").decode()


def table(scored: Scored) -> Table:
    """The table; numbers x 100."""
    columns, rows = grid(scored)
    labels = scored.more.get("toolkit_labels", {})
    made = Table(box=box.SIMPLE_HEAD)
    made.add_column("x 100", no_wrap=True)
    for column in columns:
        made.add_column(column, justify="right", no_wrap=True)
    for name, row in list(rows.items())[:_MOST_ROWS]:
        renamed = name in labels and labels[name].replace("_", "-").upper() != name
        shown = f"{name} (toolkit: {labels[name]})" if renamed else name
        made.add_row(Text(printable(shown)), *(_cell(row, column) for column in columns))
    return made


def show(scored: Scored, title: str) -> None:
    """Prints table, coverage, notes and signature."""
    console = Console()
    if not console.is_terminal or console.width < 40:
        console = Console(width=160)
    console.print(Text(printable(title), style="bold"))
    console.print(table(scored))
    hidden = len(grid(scored)[1]) - _MOST_ROWS
    if hidden > 0:
        print(f"{hidden} more rows are in the output file")
    show_rest(scored)


def show_rest(scored: Scored) -> None:
    """Prints what stands below the table."""
    print("; ".join(f"{name.replace('_', ' ')}: {number}" for name, number in scored.coverage.items()))
    java = scored.more.get("java")
    if java:
        print(
            f"METEOR beside the original program: {java['items']} pairs, {java['differing']} with other statistics, "
            f"largest difference of a score {java['largest']:.3g}"
        )
    for note in scored.notes:
        print(printable(f"note: {note}"))
    print(printable(scored.signature))
