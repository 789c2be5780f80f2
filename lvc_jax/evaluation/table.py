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
    kind: Literal["percent", "number", "count"]
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
    Column(
        "right after (s)",
        "timeliness/delay_mean_s",
        "number",
        "from an event's start to its first right caption, where it gets one; right as the signature says",
    ),
    Column("never right", "timeliness/never", "percent", "events without a right caption"),
    Column(
        "right by half",
        "timeliness/before_half",
        "percent",
        "events captioned rightly by the time half of them was over",
    ),
)
_READINGS = (
    ("paper", "our reading, in which every odd case is defined"),
    ("reference", "the original programs' reading"),
)
_ACTION_SCORES = (
    ("maIA", "share of right half seconds so far, mean over each video, then over videos"),
    ("weighted_maIA", "the same, with action and background weighted by the other's share so far"),
    ("mAP", "average precision of the half seconds, mean over the actions"),
    ("cmAP", "the same, calibrated as if each action were as frequent as all else"),
)
ACTION_COLUMNS = (
    *(
        Column(f"{metric.replace('_', ' ')}, {mode}", f"{mode}/{metric}", "percent", f"{meaning}; {reading}")
        for mode, reading in _READINGS
        for metric, meaning in _ACTION_SCORES
    ),
    Column("no action", "unknown", "count", "captions that are the sentence of no action, so never right"),
)
METHODS = {
    "model": "the checkpoint",
    "always_silent": "no caption at all",
    "most_frequent": "the training split's most frequent sentence in every segment",
    "shuffled_features": "the model, given another video's features",
    "verbalised_argmax": "the label with the best mean score of the segment, put into words",
    "all_background": "detects nothing: every half second is background",
    "perfect_model": "says what is annotated",
}
"""What stands behind the name of each row."""
_NAMES = {**NAMES, "all_background": "all background", "perfect_model": "perfect model"}
WIDTH = 170
Rows = Mapping[str, Mapping[str, Mapping[str, float | None]]]


def legend(columns: Sequence[Column] = COLUMNS) -> dict[str, str]:
    """One line for the head of each column, and for rows that are in no other table."""
    rows = ("all_background", "perfect_model") if columns is ACTION_COLUMNS else ()
    return {
        "Δt": "length of a segment in frames at 30 per second; video: the whole video is one segment",
        "captions by": "the model, or a baseline that knows less: what the model has to beat",
        **{column.header: column.meaning for column in columns},
        **{_NAMES[row]: METHODS[row] for row in rows},
    }


def _header(columns: Sequence[Column]) -> list[str]:
    return ["Δt", "captions by", *(column.header for column in columns)]


def _cell(value: float | None, kind: str) -> str:
    if value is None:
        return "-"
    return {"percent": f"{100 * value:.1f}", "number": f"{value:.1f}", "count": f"{value:.0f}"}[kind]


def _lines(rows: Rows, columns: Sequence[Column]) -> list[list[str]]:
    return [
        [frames, _NAMES.get(name, name), *(_cell(metrics.get(c.metric), c.kind) for c in columns)]
        for frames, methods in rows.items()
        for name, metrics in methods.items()
    ]


def rich_table(title: str, rows: Rows, columns: Sequence[Column] = COLUMNS) -> Table:
    """The table for a terminal; scores in percent.

    Args:
        title: stands above it; says what the captions and features are.
        rows: {Δt: {method: {metric: value}}}.
        columns: what to show of each row.
    """
    table = Table(title=title, title_justify="left", header_style="bold", padding=(0, 1, 0, 0), box=None)
    table.add_column("Δt", justify="right", no_wrap=True)
    table.add_column("captions by", no_wrap=True)
    for column in columns:
        table.add_column(column.header, justify="right", vertical="bottom")
    for line in _lines(rows, columns):
        table.add_row(*line, style="bold" if line[1] == NAMES["model"] else None)
    return table


def tall_table(
    title: str, frames: str, methods: Mapping[str, Mapping[str, float | None]], columns: Sequence[Column] = COLUMNS
) -> Table:
    """One Δt with a row a metric, for a narrow terminal."""
    table = Table(title=f"{title}; Δt = {frames}", title_justify="left", header_style="bold", box=None)
    table.add_column("metric", no_wrap=True)
    for name in methods:
        table.add_column(_NAMES.get(name, name), justify="right")
    for column in columns:
        table.add_row(column.header, *(_cell(m.get(column.metric), column.kind) for m in methods.values()))
    return table


def show(title: str, rows: Rows, columns: Sequence[Column] = COLUMNS) -> None:
    """Prints the table; on a terminal that is too narrow for it, one tall table for each Δt."""
    console = Console()
    if console.is_terminal and console.width < WIDTH:
        for frames, methods in rows.items():
            console.print(tall_table(title, frames, methods, columns))
    else:
        print(as_text(title, rows, columns=columns), end="")


def as_text(
    title: str,
    rows: Rows,
    notes: Sequence[str] = (),
    columns: Sequence[Column] = COLUMNS,
    meanings: Mapping[str, str] | None = None,
) -> str:
    """The table as plain text, the notes below it, and a line on each head if `meanings` has them."""
    buffer = io.StringIO()
    console = Console(file=buffer, width=WIDTH, color_system=None, legacy_windows=False)
    console.print(rich_table(title, rows, columns))
    below = [f"{head}: {meaning}" for head, meaning in (meanings or {}).items()]
    lines = [*(line.rstrip() for line in buffer.getvalue().splitlines()), *notes, *below]
    return "\n".join(lines) + "\n"


def as_markdown(title: str, rows: Rows, notes: Sequence[str] = (), columns: Sequence[Column] = COLUMNS) -> str:
    """The table as Markdown, below it the notes, and a line on each head."""
    meanings = legend(columns)
    rule = ["---:", ":---", *("---:" for _ in columns)]
    lines = ["| " + " | ".join(line) + " |" for line in (_header(columns), rule, *_lines(rows, columns))]
    below = [f"- {line}" for line in (*notes, *(f"*{head}*: {meaning}" for head, meaning in meanings.items()))]
    return "\n".join([f"**{title}**", "", *lines, "", *below]) + "\n"


def for_report(title: str, rows: Rows, columns: Sequence[Column] = COLUMNS) -> report.Table:
    """The table for the HTML report; the model's rows stand out, every head is explained below."""
    lines = _lines(rows, columns)
    emphasised = frozenset(number for number, line in enumerate(lines) if line[1] == NAMES["model"])
    return report.Table(title, _header(columns), lines, emphasised, legend=legend(columns))


def all_metrics(rows: Rows) -> list[report.Table]:
    """For each Δt every metric of every method, fractions and seconds."""
    tables = []
    for frames, methods in rows.items():
        names = list(dict.fromkeys(name for metrics in methods.values() for name in metrics))
        lines = [
            [name, "", *("-" if (v := m.get(name)) is None else f"{v:.4f}" for m in methods.values())] for name in names
        ]
        header = ["metric", "", *(_NAMES.get(method, method) for method in methods)]
        meanings = {
            "metric": "as in scores.json and docs/metrics.md: fractions; names that end in _s are seconds",
            **{_NAMES[method]: METHODS[method] for method in methods if method in METHODS},
        }
        tables.append(report.Table(f"Everything, Δt = {frames}", header, lines, legend=meanings))
    return tables
