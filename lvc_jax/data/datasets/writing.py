"""Prepares a dataset on disk: all of it or nothing, once.

<data_dir>/<dataset>/<feature set>/<version>/   array_record files, features.json and dataset_info.json of TFDS,
    index_<split>.json (everything but the features, in record order), prepared.json (what, from what, how much)
"""

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import tensorflow_datasets as tfds
from absl import logging

from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source
from lvc_jax.data.feature_store import FeatureStore
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write
from lvc_jax.version import __version__

PREPARED = "prepared.json"


def feature_set_name(backbone: str) -> str:
    """The backbone's name as a folder name."""
    return re.sub(r"[^A-Za-z0-9_.]+", "_", backbone).strip("._") or "features"


def digest(path: str | os.PathLike) -> str:
    """SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def stat_digest(files: Mapping[str, Path]) -> str:
    """A digest of names, sizes and modification times: tells replaced files without reading gigabytes.

    Args:
        files: name -> path; a path that is no file counts as missing.
    """
    state = []
    for name, path in sorted(files.items()):
        stat = path.stat() if path.is_file() else None
        state.append([name, stat and stat.st_size, stat and stat.st_mtime_ns])
    return hashlib.sha256(json.dumps(state).encode()).hexdigest()


def store_digest(store: FeatureStore) -> str:
    """`stat_digest` of the files of a feature store."""
    return stat_digest({path.name: path for path in store.files()})


def prepared_summary(folder: Path, inputs: dict[str, Any]) -> dict[str, Any] | None:
    """The summary of a dataset that is there already, or None. InputError where it was made from other inputs."""
    path = folder / PREPARED
    if not path.exists():
        return None
    try:
        summary = json.loads(path.read_text(encoding="utf-8"))
        found = dict(summary["inputs"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: not what prepare wrote ({error}): add --overwrite to replace it") from None
    wanted = json.loads(json.dumps(inputs))
    if found != wanted:
        names = sorted(set(wanted) | set(found))
        changed = [name for name in names if wanted.get(name) != found.get(name)]
        raise InputError(
            f"{folder}: was prepared from other inputs ({', '.join(changed)} differ): add --overwrite to replace it, "
            "or choose another --data_dir"
        )
    return summary


def write(
    builder_class: type[CaptionBuilder],
    source: Source,
    data_dir: str | os.PathLike,
    *,
    skip_missing: bool = False,
    overwrite: bool = False,
    progress: Callable[[int], None] = lambda count: None,
) -> tuple[Path, dict[str, Any], bool]:
    """Prepares `source` unless it is there already.

    A killed run leaves only a hidden folder beside the dataset, which the next run removes: the finished folder is
    renamed into place as the last act.

    Args:
        builder_class: the dataset's builder.
        source: the videos.
        data_dir: the folder of all datasets.
        skip_missing: skip and count the videos without usable features.
        overwrite: replace what is there.
        progress: called with the number of videos done.

    Returns:
        The dataset's folder, its summary (`prepared.json`), and whether it was there already.

    Raises:
        InputError: for unusable input, or where the dataset was prepared from other inputs.
    """
    inputs = {**source.inputs, "features": dataclasses.asdict(source.info), "dtype": source.dtype}
    parent = Path(data_dir) / builder_class.name / feature_set_name(source.info.backbone)
    folder = parent / str(builder_class.VERSION)
    summary = None if overwrite else prepared_summary(folder, inputs)
    if summary is not None:
        return folder, summary, True
    staging = parent / ".preparing"
    shutil.rmtree(staging, ignore_errors=True)
    builder = builder_class(
        source=source,
        skip_missing=skip_missing,
        progress=progress,
        data_dir=staging,
        file_format="array_record",
    )
    with _quiet():
        builder.download_and_prepare()
    made = Path(builder.data_dir)
    summary = {
        "dataset": builder_class.name,
        "caption_kind": builder_class.CAPTION_KIND,
        "feature_info": dataclasses.asdict(source.info),
        "inputs": inputs,
        "splits": {
            name: {
                "videos": len(builder.index[name]),
                "captions": [sum(map(len, sets)) for sets in _by_set(builder.index[name])],
                "skipped": builder.skipped[name],
                "repairs": dict(split.repairs),
            }
            for name, split in source.splits.items()
        },
        "lvc_jax": __version__,
    }
    for name, rows in builder.index.items():
        with atomic_write(made / f"index_{name}.json") as file:
            json.dump(rows, file)
    with atomic_write(made / PREPARED) as file:
        json.dump(summary, file, indent=1)
    if folder.exists():
        os.rename(folder, staging / "replaced")
    os.rename(made, folder)
    shutil.rmtree(staging)
    return folder, summary, False


def _by_set(rows: list[dict]) -> list[list[list]]:
    """Reference sets across videos: [set][video] -> events."""
    count = max((len(row["references"]) for row in rows), default=0)
    return [[row["references"][number] for row in rows if number < len(row["references"])] for number in range(count)]


@contextlib.contextmanager
def _quiet():
    """Silences the download messages of TFDS: nothing is downloaded here."""
    tfds.disable_progress_bar()
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.WARNING)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(verbosity)
