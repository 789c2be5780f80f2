"""A report that is one HTML file: tables, pictures and how to make them again; nothing is loaded from elsewhere."""

import base64
import html
import os
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from types import MappingProxyType
from typing import NamedTuple

from lvc_jax.files import atomic_write
from lvc_jax.version import __version__

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; max-width: 1100px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.kind { display: inline-block; background: #fef3c7; border-radius: .3rem; padding: .1rem .5rem; }
table { border-collapse: collapse; font-size: .85rem; display: block; overflow-x: auto; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid #e5e7eb; white-space: nowrap; }
th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; }
tr.model td { font-weight: 600; background: #eff6ff; }
img { max-width: 100%; }
code, pre { font-size: .8rem; background: #f3f4f6; border-radius: .3rem; padding: .1rem .3rem; }
pre { padding: .6rem; overflow-x: auto; } dt { font-weight: 600; } dd { margin: 0 0 .4rem 0; }
.legend { font-size: .8rem; line-height: 1.35; } .legend dt, .legend dd { display: inline; margin: 0; }
.legend dt::after { content: ": "; }
"""


class Table(NamedTuple):
    """A table of text cells; `emphasised` are the numbers of the rows that stand out, `legend` explains the heads."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    emphasised: frozenset[int] = frozenset()
    legend: Mapping[str, str] = MappingProxyType({})


class Picture(NamedTuple):
    """A PNG and its caption."""

    title: str
    png: bytes


def versions() -> dict[str, str]:
    """Versions of the program and of what its numbers depend on."""
    result = {"lvc_jax": __version__, "python": platform.python_version(), "machine": platform.platform()}
    for name in ("jax", "flax", "numpy"):
        result[name] = metadata.version(name)
    return result


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in table.header)
    body = "".join(
        ('<tr class="model">' if number in table.emphasised else "<tr>")
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
        + "</tr>"
        for number, row in enumerate(table.rows)
    )
    return f"<h2>{html.escape(table.title)}</h2><table><tr>{head}</tr>{body}</table>{_legend(table.legend)}"


def _legend(legend: Mapping[str, str]) -> str:
    """One line a head."""
    lines = "".join(
        f"<div><dt>{html.escape(head)}</dt><dd>{html.escape(meaning)}</dd></div>" for head, meaning in legend.items()
    )
    return f'<dl class="legend">{lines}</dl>' if lines else ""


def _picture(picture: Picture) -> str:
    data = base64.b64encode(picture.png).decode("ascii")
    title = html.escape(picture.title)
    return f'<h2>{title}</h2><img alt="{title}" src="data:image/png;base64,{data}">'


def write(
    path: str | os.PathLike,
    *,
    title: str,
    kind: str,
    tables: Sequence[Table] = (),
    pictures: Sequence[Picture] = (),
    notes: Sequence[str] = (),
    provenance: Mapping[str, str] | None = None,
) -> None:
    """Writes the report.

    Args:
        path: the HTML file.
        title: first line.
        kind: where the captions come from ("synthetic", "verbalised labels", "human captions"); stands under the title.
        tables: in order.
        pictures: after the tables.
        notes: sentences between tables and pictures.
        provenance: {what: value}: the command, the checkpoint, the versions, the signatures.
    """
    points = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    origin = "".join(
        f"<dt>{html.escape(name)}</dt><dd><code>{html.escape(value)}</code></dd>"
        for name, value in (provenance or {}).items()
    )
    page = "".join(
        [
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>',
            f"<style>{_STYLE}</style></head><body><h1>{html.escape(title)}</h1>",
            f'<p class="kind">captions: {html.escape(kind)}</p>',
            *(_table(table) for table in tables),
            f"<ul>{points}</ul>" if points else "",
            *(_picture(picture) for picture in pictures),
            f"<h2>How this was made</h2><dl>{origin}</dl>" if origin else "",
            "</body></html>\n",
        ]
    )
    with atomic_write(path) as file:
        file.write(page)
