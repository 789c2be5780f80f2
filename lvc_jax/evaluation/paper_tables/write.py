"""The tables as Markdown and as JSON."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lvc_jax.evaluation.paper_tables.layout import PaperTable
from lvc_jax.evaluation.paper_tables.measure import READINGS, Measured
from lvc_jax.files import atomic_write
from lvc_jax.version import __version__

NAMES = ("tables.md", "tables.json")
_HEADER = (
    "Each cell: `reference` / `paper`, percent. `reference` is what the original programs print, `paper` our reading, "
    "in which every odd case is defined; docs/metrics.md explains both. BLEU-1 is what the paper prints as Bleu4 for "
    "live models."
)


def _percent(value: float) -> str:
    return f"{100 * value:.2f}" if math.isfinite(value) else "NaN"


def _cell(values: Mapping[str, float] | None, missing: str) -> str:
    return missing if values is None else " / ".join(_percent(values[reading]) for reading in READINGS)


def _plain(text: str) -> str:
    return text.replace("|", r"\|").replace("\n", " ")


def grid(header: Sequence[str], lines: Sequence[Sequence[str]], labels: int) -> str:
    """A Markdown table; the first `labels` columns are aligned left."""
    rule = [":---" if place < labels else "---:" for place in range(len(header))]
    return "\n".join("| " + " | ".join(line) + " |" for line in ([*header], rule, *lines))


def as_markdown(table: PaperTable, missing: Mapping[str, str]) -> str:
    """One table with its signature lines.

    Args:
        table: the table.
        missing: {scorer: what stands in its empty cells}, for scorers that were not measured.
    """
    lines = []
    for line in table.lines:
        # A scorer is the head of a column, or the last label of a line.
        names = [column if column in missing else line.labels[-1] for column in table.columns]
        cells = [_cell(own, missing.get(name, "-")) for own, name in zip(line.cells, names, strict=True)]
        lines.append([*map(_plain, line.labels), *cells])
    signatures = [f"- {reading}: `{text}`" for reading, texts in table.signatures.items() for text in texts]
    parts = [f"### Table {table.number}: {table.title}", "", grid([*table.heads, *table.columns], lines, 3)]
    note = [_plain(table.note), ""] if table.note else []
    return "\n".join([*parts, "", *note, *signatures, ""])


def coverage(measured: Sequence[Measured]) -> str:
    """What the numbers cover, as a Markdown table: by file, part and reading."""
    header = ["model", "Δt", "part", "reading", "videos scored", "missing", "extra", "predictions", "other counts"]
    known = ("videos_scored", "videos_missing", "videos_extra", "predictions")
    lines = []
    for own in measured:
        for (part, reading), values in own.values.items():
            counts = dict(values.coverage)
            first = [str(counts.pop(name, "")) for name in known]
            rest = "; ".join(f"{name.replace('_', ' ')} {number}" for name, number in counts.items() if number)
            lines.append([_plain(own.row.model), str(own.row.segment_frames), part, reading, *first, rest])
    return "\n".join(["### Coverage", "", grid(header, lines, 4), ""])


def document(
    measured: Sequence[Measured],
    tables: Sequence[PaperTable],
    references: Sequence[str],
    notes: Sequence[str],
    missing: Mapping[str, str],
) -> str:
    """The whole Markdown file."""
    head = ["# Tables 2 to 6 of the Live Video Captioning paper", "", _HEADER, ""]
    given = [f"- references: {', '.join(map(_plain, references))}", *(f"- {_plain(note)}" for note in notes), ""]
    return "\n".join([*head, *given, *(as_markdown(table, missing) for table in tables), coverage(measured)])


def content(
    measured: Sequence[Measured], tables: Sequence[PaperTable], references: Sequence[str], notes: Sequence[str]
) -> dict[str, Any]:
    """The content of the JSON file: the tables cell by cell, and everything that was measured; fractions."""
    return {
        "version": __version__,
        "references": list(references),
        "notes": list(notes),
        "tables": {str(table.number): _table(table) for table in tables},
        "files": [_file(own) for own in measured],
    }


def _table(table: PaperTable) -> dict[str, Any]:
    rows = []
    for line in table.lines:
        cells = {
            column: None if cell is None else _finite(cell)
            for column, cell in zip(table.columns, line.cells, strict=True)
        }
        rows.append({**dict(zip(table.heads, line.labels, strict=True)), "cells": cells})
    note = {"note": table.note} if table.note else {}
    return {"title": table.title, "signatures": table.signatures, "rows": rows, **note}


def _file(own: Measured) -> dict[str, Any]:
    content: dict[str, Any] = {
        "model": own.row.model,
        "segment_frames": own.row.segment_frames,
        "path": own.row.path,
    }
    for (part, reading), values in own.values.items():
        content.setdefault(part, {})[reading] = {
            "signature": values.signature,
            "scores": _finite(values.scores),
            "coverage": dict(values.coverage),
        }
    return content


def _finite(values: Mapping[str, float]) -> dict[str, float | None]:
    return {name: value if math.isfinite(value) else None for name, value in values.items()}


def write(folder: str, markdown: str, numbers: Mapping[str, Any]) -> tuple[Path, Path]:
    """Writes the two files of `NAMES`; returns their paths."""
    paths = Path(folder) / NAMES[0], Path(folder) / NAMES[1]
    # ASCII in JSON, and escapes in Markdown: a name may hold half of a surrogate pair.
    texts = markdown.encode("utf-8", "backslashreplace").decode(), json.dumps(numbers, indent=1, allow_nan=False) + "\n"
    for path, text in zip(paths, texts, strict=True):
        with atomic_write(path) as file:
            file.write(text)
    return paths
