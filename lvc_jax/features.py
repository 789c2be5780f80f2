"""Features of video files, into a feature folder that `prepare` reads.

    python -m lvc_jax.features --backbone=colour_moments --videos=FILE_OR_FOLDER --output=DIR

Writes DIR/<file name without suffix>.npy, float32 [rows, dim], and DIR/features.json. Videos whose features are there
are passed over, so an interrupted run goes on where it stopped. A video that cannot be read is reported and skipped;
the exit code is then 2.
"""

import sys
from pathlib import Path

from absl import flags
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lvc_jax import backbones, cli
from lvc_jax.data.extraction import extract, feature_info
from lvc_jax.data.feature_store import FeatureInfo, load_info, save_info
from lvc_jax.data.feature_store_info import FILE_NAME
from lvc_jax.data.feature_store_npy import write_npy
from lvc_jax.errors import InputError

# What counts as a video in a folder; a file named alone may have any suffix.
SUFFIXES = frozenset((".3gp", ".avi", ".flv", ".m2ts", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".mts", ".ogv"))
SUFFIXES |= {".ts", ".webm", ".wmv"}

FLAGS = flags.FlagValues()
BACKBONE = flags.DEFINE_string(
    "backbone", "colour_moments", f"One of {', '.join(sorted(backbones.BACKBONES))}.", flag_values=FLAGS
)
VIDEOS = flags.DEFINE_string(
    "videos", None, "A video file, or a folder that is searched with its subfolders.", flag_values=FLAGS
)
OUTPUT = flags.DEFINE_string("output", None, "The feature folder to write.", flag_values=FLAGS)


def find_videos(path: Path) -> dict[str, Path]:
    """Video id (file name without suffix) -> file, sorted.

    Raises:
        InputError: nothing is there, or two files would have the same id.
    """
    if not path.exists():
        raise InputError(f"--videos={path}: no such file or folder; check the path")
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix.lower() in SUFFIXES)
    if not files:
        raise InputError(f"--videos={path}: holds no video file ({' '.join(sorted(SUFFIXES))})")
    found: dict[str, Path] = {}
    for file in files:
        if file.stem in found:
            raise InputError(f"--videos: {found[file.stem]} and {file} have the same id {file.stem!r}; rename one")
        found[file.stem] = file
    return found


def claim(folder: Path, info: FeatureInfo) -> None:
    """Makes `folder` the place of these features.

    Raises:
        InputError: it is a file, or holds features of another kind.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--output={folder}: is a file; name a folder")
    if (folder / FILE_NAME).exists() and load_info(folder) != info:
        raise InputError(f"{folder / FILE_NAME}: describes other features than {info}; name another --output")
    save_info(folder, info)


def main() -> int:
    """Runs the command; returns the exit code."""
    if not VIDEOS.value:
        raise InputError("--videos is missing: give a video file or a folder of them")
    if not OUTPUT.value:
        raise InputError("--output is missing: give the feature folder to write")
    extractor = backbones.get(BACKBONE.value)
    videos, output = find_videos(Path(VIDEOS.value)), Path(OUTPUT.value)
    info = feature_info(extractor)
    claim(output, info)
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
    cli.run(main, FLAGS)
