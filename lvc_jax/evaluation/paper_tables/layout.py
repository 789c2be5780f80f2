"""Tables 2 to 6 of the Live Video Captioning paper: which numbers stand where."""

import dataclasses
from collections.abc import Sequence

from lvc_jax.evaluation.paper_tables.measure import LIVE, ORIGINAL, READINGS, SPLIT, Measured
from lvc_jax.evaluation.suite import SegmentFrames
from lvc_jax.metrics.dense_captioning import THRESHOLDS

SCORERS = ("BLEU-1", "BLEU-4", "METEOR", "ROUGE-L")
"""The paper's; its column "Bleu4" is BLEU-1 in the rows of live models."""

_ANNOTATIONS = {ORIGINAL: "original annotations", SPLIT: "annotations cut at Δt"}
_PARTS = ("recall", "precision")
LOCALISATION = tuple(f"{name}{end}" for name in _PARTS for end in (*(f"@{t:g}" for t in THRESHOLDS), ""))
_NOTHING_LIVE = (
    "Empty: {} takes a Δt in frames; the captions here are all of whole videos, for no file names a Δt, in its header "
    '("segment_frames") or by its name (predictions_150.json).'
)
_CUTTING, _LIVE_SCORE = "cutting the annotations", "a Live Score over time"
_HEADS = {name: f"{name} avg" for name in _PARTS}


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of a table: its labels, and for each column {reading: fraction}; None where nothing was measured."""

    labels: tuple[str, ...]
    cells: tuple[dict[str, float] | None, ...]


@dataclasses.dataclass(frozen=True)
class PaperTable:
    """One table.

    Attributes:
        number: in the paper.
        title: what stands above it.
        heads: of the label columns.
        columns: heads of the value columns.
        lines: from top to bottom.
        signatures: by reading.
        note: why there is no line; nothing where there are lines.
    """

    number: int
    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    signatures: dict[str, list[str]]
    note: str = ""


def all_tables(measured: Sequence[Measured], scorers: Sequence[str]) -> list[PaperTable]:
    """Tables 2 to 6.

    Args:
        measured: every row; captions of whole videos are in tables 2 and 3 only, as in the paper.
        scorers: columns of tables 2 and 5, lines of table 6; one that was not measured has empty cells.
    """
    live = [own for own in measured if own.row.live]
    return [
        _by_row(2, "Captions, offline metrics", measured, (ORIGINAL,), tuple(scorers)),
        _by_row(3, "Localisation, offline metrics", measured, (ORIGINAL,), LOCALISATION),
        _by_row(4, "Localisation, original and cut annotations", live, (ORIGINAL, SPLIT), LOCALISATION),
        _by_row(5, "Captions, original and cut annotations", live, (ORIGINAL, SPLIT), tuple(scorers)),
        _over_time(live, scorers),
    ]


def _cell(own: Measured, part: str, name: str) -> dict[str, float] | None:
    if any(name not in own.values[part, reading].scores for reading in READINGS):
        return None
    return {reading: own.values[part, reading].scores[name] for reading in READINGS}


def _frames(own: Measured) -> str:
    return str(own.row.segment_frames) if own.row.live else ""


def _by_row(
    number: int, title: str, measured: Sequence[Measured], parts: Sequence[str], names: tuple[str, ...]
) -> PaperTable:
    lines = []
    for part in parts:
        for own in measured:
            last = _ANNOTATIONS[part] if len(parts) > 1 else ("yes" if own.row.live else "no")
            labels = (own.row.model, last, _frames(own))
            lines.append(Line(labels, tuple(_cell(own, part, name) for name in names)))
    heads = ("model", "annotations" if len(parts) > 1 else "live", "Δt")
    columns = tuple(_HEADS.get(name, name) for name in names)
    note = "" if lines else _NOTHING_LIVE.format(_CUTTING)
    return PaperTable(number, title, heads, columns, tuple(lines), _signatures(measured, parts), note)


def _over_time(live: Sequence[Measured], scorers: Sequence[str]) -> PaperTable:
    clocks: list[SegmentFrames] = list(dict.fromkeys(own.row.segment_frames for own in live))
    clocks.sort(key=lambda frames: 0 if frames == "video" else frames)
    lines = []
    for model in dict.fromkeys(own.row.model for own in live):
        by_clock = {own.row.segment_frames: own for own in live if own.row.model == model}
        for variant in ("LS", "wLS"):
            for scorer in scorers:
                cells = tuple(
                    _cell(by_clock[frames], LIVE, f"{variant}/{scorer}") if frames in by_clock else None
                    for frames in clocks
                )
                lines.append(Line((model, variant, scorer), cells))
    columns = tuple(f"Δt = {frames}" for frames in clocks)
    heads = ("model", "score", "scorer")
    note = "" if lines else _NOTHING_LIVE.format(_LIVE_SCORE)
    return PaperTable(6, "Live Score", heads, columns, tuple(lines), _signatures(live, (LIVE,)), note)


def _signatures(measured: Sequence[Measured], parts: Sequence[str]) -> dict[str, list[str]]:
    """By reading every signature once."""
    return {
        reading: list(dict.fromkeys(own.values[part, reading].signature for part in parts for own in measured))
        for reading in READINGS
    }
