"""The datasets by name, and what each is made from."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from lvc_jax.data.datasets import activitynet_captions, clips, fifty_salads, shapes_builder, youcook2
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
        feature_dtype: "float32" or "float16" on disk; None: float16 for action segments, float32 for all else.
        backbone: clips: the extractor to use where no features are given.
        backbone_weights: clips: the folder of its weights, where it needs any.
        sizes: moving_shapes: number of videos by split.
        seed: moving_shapes.
        workers: moving_shapes: rendering processes.
        progress: called with (done, total) while videos are made.
    """

    data_dir: Path
    annotations: str | None = None
    features: str | None = None
    feature_dtype: str | None = None
    backbone: str = "colour_moments"
    backbone_weights: str | None = None
    sizes: dict[str, int] = dataclasses.field(default_factory=dict)
    seed: int = shapes_builder.DEFAULT_SEED
    workers: int | None = None
    progress: Callable[[int, int], None] = lambda done, total: None


def _activitynet_captions(options: Options) -> Source:
    folder = _given(options.annotations, "--annotations", "the folder with train.json, val_1.json and val_2.json")
    features = _given(options.features, "--features", "a feature folder or file, or oracle:FOLDER of action segments")
    return activitynet_captions.source(folder, features, options.feature_dtype)


def _youcook2(options: Options) -> Source:
    folder = _given(options.annotations, "--annotations", "the folder with train.json and val.json")
    return youcook2.source(
        folder, _given(options.features, "--features", "a feature folder or file"), options.feature_dtype or "float32"
    )


def _fifty_salads(options: Options) -> Source:
    return fifty_salads.source(
        _given(options.features or options.annotations, "--features", "the folder of .mat files"),
        options.feature_dtype or "float32",
    )


def _clips(options: Options) -> Source:
    path = _given(options.annotations, "--annotations", "the annotation file, or its folder")
    return clips.source(
        path,
        options.data_dir,
        features=options.features,
        backbone=options.backbone,
        weights=options.backbone_weights,
        dtype=options.feature_dtype or "float32",
    )


def _moving_shapes(options: Options) -> Source:
    return shapes_builder.source(
        options.data_dir,
        sizes=options.sizes,
        seed=options.seed,
        workers=options.workers,
        dtype=options.feature_dtype or "float32",
        progress=options.progress,
    )


BUILDERS: dict[str, tuple[type[CaptionBuilder], Callable[[Options], Source]]] = {
    "activitynet_captions": (activitynet_captions.ActivitynetCaptions, _activitynet_captions),
    "clips": (clips.Clips, _clips),
    "fifty_salads": (fifty_salads.FiftySalads, _fifty_salads),
    "moving_shapes": (shapes_builder.MovingShapes, _moving_shapes),
    "youcook2": (youcook2.Youcook2, _youcook2),
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
