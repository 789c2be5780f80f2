"""The datasets by name, and what each is made from."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from lvc_jax.data.datasets import fifty_salads
from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source
from lvc_jax.errors import InputError


@dataclasses.dataclass(frozen=True)
class Options:
    """What the user gave to `prepare`; None where nothing was given.

    Attributes:
        data_dir: the folder of all datasets.
        annotations: caption file or folder.
        features: feature folder or file, or "oracle:FOLDER" of action segments.
        feature_dtype: "float32" or "float16" on disk.
    """

    data_dir: Path
    annotations: str | None = None
    features: str | None = None
    feature_dtype: str = "float32"


def _fifty_salads(options: Options) -> Source:
    return fifty_salads.source(
        _given(options.features or options.annotations, "--features", "the folder of .mat files")
    )


BUILDERS: dict[str, tuple[type[CaptionBuilder], Callable[[Options], Source]]] = {
    "fifty_salads": (fifty_salads.FiftySalads, _fifty_salads),
}


def make(name: str, options: Options) -> tuple[type[CaptionBuilder], Source]:
    """The builder and the source of a dataset.

    Raises:
        InputError: for an unknown name, a missing option or unusable input.
    """
    if name not in BUILDERS:
        raise InputError(f"--dataset={name}: unknown; choose one of {', '.join(sorted(BUILDERS))}")
    builder, make_source = BUILDERS[name]
    return builder, make_source(options)


def _given(value: str | None, flag: str, what: str) -> str:
    if not value:
        raise InputError(f"{flag} is missing: give {what}")
    return value
