"""Which predictions files make the rows of the tables."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lvc_jax.errors import InputError
from lvc_jax.evaluation.scoring import inputs
from lvc_jax.evaluation.suite import SegmentFrames, parse_segment_frames

_NAME = re.compile(r"predictions_(video|[1-9][0-9]*)\.json")
_EXPECTED = "expected predictions_<Δt>.json, as evaluate writes them"


@dataclasses.dataclass(frozen=True)
class Row:
    """One predictions file: whose captions it holds, and the Δt of its segments in frames ("video": offline)."""

    model: str
    segment_frames: SegmentFrames
    path: str

    @property
    def live(self) -> bool:
        """Whether the captions are those of segments."""
        return self.segment_frames != "video"


def find(entries: Sequence[str]) -> list[Row]:
    """The rows that the flag `--predictions` names.

    Args:
        entries: each a folder, a predictions file, or NAME=one of both. A folder's files are named
            predictions_<Δt>.json; a single file says Δt in its header or by such a name, or holds captions of whole
            videos.

    Returns:
        In the order of the entries, each by rising Δt, whole videos first. A single file whose name says no Δt counts
        as captions of whole videos until `read` knows its header.

    Raises:
        InputError: nothing there, an entry without a path, a name given twice.
    """
    rows: list[Row] = []
    for entry in entries:
        name, path = _placed(entry)
        name = name or (path.stem if path.is_file() else path.resolve().name)
        if any(row.model == name for row in rows):
            raise InputError(f"--predictions: two rows are called {name!r}; give names, as NAME=FOLDER")
        if path.is_file():
            rows.append(Row(name, _named(path) or "video", str(path)))
        elif path.is_dir():
            rows += _of_folder(name, path)
        else:
            raise InputError(f"--predictions: {path}: no such folder or file; {_EXPECTED}")
    if not rows:
        raise InputError("--predictions is missing: give a folder, or NAME=FOLDER,NAME=FOLDER")
    return rows


def overlooked(entries: Sequence[str]) -> list[str]:
    """Notes on files of the folders that are called nearly as predictions files are, and are none."""
    notes = []
    for _, path in map(_placed, entries):
        if path.is_dir():
            odd = sorted(file.name for file in path.glob("predictions*.json") if _named(file) is None)
            notes += [f"{path}: {', '.join(odd)}: left out; {_EXPECTED}."] if odd else []
    return notes


def _placed(entry: str) -> tuple[str, Path]:
    """The name of an entry, or nothing, and its path."""
    # Folders of runs may have "=" in their names, as in salads_fold=1.
    name, _, place = ("", "", entry) if "=" not in entry or Path(entry).exists() else entry.partition("=")
    if not place:
        raise InputError(f"--predictions: an entry without a path ({entry!r}): a comma too many?")
    return name, Path(place)


def _of_folder(name: str, folder: Path) -> list[Row]:
    rows = [Row(name, frames, str(path)) for path in folder.iterdir() if (frames := _named(path)) is not None]
    if not rows:
        raise InputError(f"--predictions: {folder}: no predictions file there; {_EXPECTED}")
    return sorted(rows, key=lambda row: 0 if row.segment_frames == "video" else row.segment_frames)


def _named(path: Path) -> SegmentFrames | None:
    """The Δt that a file's name says."""
    match = _NAME.fullmatch(path.name)
    return None if match is None else parse_segment_frames(match[1])[0]


def read(row: Row, references: Mapping[str, Any]) -> tuple[Row, inputs.Predicted]:
    """The predictions of a row, and the row with the Δt that the file's header names.

    Raises:
        InputError: a malformed file; a header that contradicts the file's name.
    """
    found = inputs.read_predictions(row.path, references)
    frames = found.segment_frames()
    if frames is None:
        return row, found
    if _named(Path(row.path)) not in (None, frames):
        raise InputError(f"{row.path}: its header says Δt = {frames}, its name {row.segment_frames}; rename the file")
    return dataclasses.replace(row, segment_frames=frames), found
