"""Features of video files, into a feature folder that `prepare` reads.

    python -m lvc_jax.features --backbone=colour_moments FILE_OR_FOLDER... --output=DIR
    python -m lvc_jax.features --backbone=tsp --backbone_weights=WEIGHTS --batch_clips=4 FILE_OR_FOLDER... --output=DIR

Writes DIR/<file name without suffix>.npy, float32 [rows, dim], and DIR/features.json; with a network also the
fingerprint of its weights, DIR/weights.sha256, and features of other weights are not added to the folder. Videos whose
features are there are passed over, so an interrupted run goes on where it stopped. A video that cannot be read is
reported and skipped; the exit code is then 2.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from absl import flags
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lvc_jax import backbones, cli
from lvc_jax.backbones.weights import load_fingerprint
from lvc_jax.data.extraction import extract, feature_info
from lvc_jax.data.feature_store import FeatureInfo, load_info, save_info
from lvc_jax.data.feature_store_info import FILE_NAME
from lvc_jax.data.feature_store_npy import write_npy
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

# What counts as a video in a folder; a file named alone may have any suffix.
SUFFIXES = frozenset((".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ogv"))
SUFFIXES |= {".ts", ".webm", ".wmv"}
WEIGHTS_NOTE = "weights.sha256"

FLAGS = flags.FlagValues()
BACKBONE = flags.DEFINE_string("backbone", "colour_moments", f"One of {', '.join(backbones.NAMES)}.", flag_values=FLAGS)
BACKBONE_WEIGHTS = flags.DEFINE_string(
    "backbone_weights",
    None,
    f"Folder of weights for {' or '.join(sorted(backbones.NETWORKS))}; python -m lvc_jax.convert makes it.",
    flag_values=FLAGS,
)
BATCH_CLIPS = flags.DEFINE_integer(
    "batch_clips", 1, "Clips that a network describes at once.", lower_bound=1, flag_values=FLAGS
)
VIDEOS = flags.DEFINE_multi_string(
    "videos",
    None,
    "Video files, and folders that are searched with their subfolders; also without --videos=.",
    flag_values=FLAGS,
)
OUTPUT = flags.DEFINE_string("output", None, "The feature folder to write.", flag_values=FLAGS)


def find_videos(paths: Sequence[Path]) -> dict[str, Path]:
    """Video id (file name without suffix) -> file, in the order of the paths, those of a folder sorted.

    Raises:
        InputError: nothing is at a path, or two files would have the same id.
    """
    found: dict[str, Path] = {}
    for path in paths:
        for file in _files(path):
            known = found.setdefault(file.stem, file)
            if known.resolve() != file.resolve():
                raise InputError(f"--videos: {known} and {file} have the same id {file.stem!r}; rename one")
    return found


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise InputError(f"--videos={path}: no such file or folder; check the path")
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES)
    if not files:
        raise InputError(f"--videos={path}: holds no video file ({' '.join(sorted(SUFFIXES))})")
    return files


def claim(folder: Path, info: FeatureInfo, fingerprint: str | None = None) -> None:
    """Makes `folder` the place of these features.

    Args:
        folder: which may not exist yet.
        info: what is to be in its features.json.
        fingerprint: of the weights that make the features, if any do.

    Raises:
        InputError: it is a file, or holds features of another kind or of other weights.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output={folder}: is a file; name a folder")
    if (folder / FILE_NAME).exists() and load_info(folder) != info:
        raise InputError(f"{folder / FILE_NAME}: describes other features than {info}; name another --output")
    note = folder / WEIGHTS_NOTE
    before = note.read_text(encoding="utf-8").strip() if note.is_file() else None
    if before != fingerprint and (before or any(folder.glob("*.npy"))):
        raise InputError(
            f"{note if before else folder}: holds features of {'other' if before else 'unknown'} weights than "
            f"--backbone_weights; name another --output"
        )
    if fingerprint:
        with atomic_write(note) as file:
            file.write(f"{fingerprint}\n")
    save_info(folder, info)


def main() -> int:
    """Runs the command; returns the exit code."""
    if not VIDEOS.value:
        raise InputError("no videos: give video files, or folders of them")
    if not OUTPUT.value:
        raise InputError("--output is missing: give the feature folder to write")
    videos, output = find_videos([Path(path) for path in VIDEOS.value]), Path(OUTPUT.value)
    weights = BACKBONE_WEIGHTS.value
    extractor = backbones.get(BACKBONE.value, weights, batch_clips=BATCH_CLIPS.value)
    info = feature_info(extractor)
    claim(output, info, load_fingerprint(weights) if weights else None)
    todo = {name: file for name, file in videos.items() if not (output / f"{name}.npy").exists()}
    bad = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("features", total=len(videos), completed=len(videos) - len(todo))
        for name, file in todo.items():
            try:
                write_npy(output, info, [(name, extract(file, extractor))], "float32")
            except InputError as error:
                bad += 1
                print(f"error: {error}; skipped", file=sys.stderr)
            progress.advance(task)
    print(f"{output}: {len(todo) - bad} extracted, {len(videos) - len(todo)} there before, {bad} skipped")
    return cli.EXIT_BAD_INPUT if bad else cli.EXIT_OK


if __name__ == "__main__":
    cli.run(main, FLAGS, positional="videos")
