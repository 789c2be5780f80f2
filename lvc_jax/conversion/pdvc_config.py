"""The configuration of a PDVC checkpoint: what its shapes tell, and what they cannot."""

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ml_collections import ConfigDict

from lvc_jax.conversion.entries import vote
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError
from lvc_jax.models.config import ModelConfig
from lvc_jax.training.loss_weights import PDVC
from lvc_jax.training.run_config import default_config

Shapes = Mapping[str, tuple[int, ...]]

_TSP_SECONDS = 16 / 15  # a clip of 16 frames at 15 per second; clips follow each other without a gap
FEATURES = {500: "C3D", 512: "TSP", 2176: "I3D and VGGish", 3072: "TSN"}
_YOUCOOK2_COUNTS, _YOUCOOK2_QUERIES = 21, 100


@dataclasses.dataclass(frozen=True)
class Given:
    """What the user says of a checkpoint; None is filled in by `read_model` or `read_run`."""

    num_heads: int | None = None
    num_points: int | None = None
    num_frames: int | None = None
    ec_alpha: float | None = None
    padding: str | None = None
    dataset: str | None = None


def read_model(shapes: Shapes, given: Given) -> tuple[ModelConfig, dict[str, Any]]:
    """The model that a state dict belongs to, and what of it was assumed (name -> value).

    A size is what most of the entries that have it say; entries that disagree come out as wrongly shaped later. What
    nothing tells has the PDVC reference's value for its ActivityNet and YouCook2 configurations.

    Raises:
        InputError: sizes that fit no model, or heads and points that do not fit the shapes.
    """
    attends = any(name.startswith("caption_head.0.core.deformable_att.") for name in shapes)
    levels = vote([_count(shapes, "base_encoder.input_proj."), *_axis(shapes, r"transformer\.level_embed", 0)], 4)
    words = vote(_axis(shapes, r"caption_head\.\d+\.(embed\.weight|logit\.weight|logit\.bias)", 0), 1)
    counts = vote(_axis(shapes, r"count_head\.\d+\.(weight|bias)", 0), 11)
    queries = vote(_axis(shapes, r"query_embed\.weight", 0), 10)
    youcook2 = counts == _YOUCOOK2_COUNTS and queries == _YOUCOOK2_QUERIES
    spread = vote(_axis(shapes, r"transformer\..*\.sampling_offsets\.(weight|bias)", 0), 0)
    heads, points = _heads_and_points(spread, levels, given)
    dims = list(_axis(shapes, r"base_encoder\.input_proj\.[01]\.0\.weight", 1))
    hidden = vote(_axis(shapes, r"transformer\.(level_embed|.*_proj\.weight)|class_head.*weight", 1), 512)
    # The word, the event and, in the standard head, what it attends to go into the recurrence.
    other = (2 if attends else 1) * hidden
    word = [size - other for size in _axis(shapes, r"caption_head\.\d+\.core\.rnn\.weight_ih_l0", 1)]
    word += _axis(shapes, r"caption_head\.\d+\.embed\.weight", 1)
    frames = given.num_frames or (200 if youcook2 else 100)
    padding = given.padding or "zeros"
    model = ModelConfig.from_dict(
        {
            # Only two entries tell it: if they disagree, the one of a known kind of features counts.
            "feature_dim": vote([dim for dim in dims if dim in FEATURES] or dims, 512),
            "vocab_size": max(words - 1, 1),
            "hidden_dim": hidden,
            "num_frames": frames,
            "num_levels": levels,
            "num_heads": heads,
            "num_points": points,
            "encoder_layers": _count(shapes, "transformer.encoder.layers.") or 2,
            "decoder_layers": _count(shapes, "transformer.decoder.layers.") or 2,
            "ff_dim": vote(_axis(shapes, r"transformer\..*\.linear1\.(weight|bias)", 0), 512),
            "num_queries": queries,
            "max_events": max(counts - 1, 1),
            "box_refine": any(name.startswith("transformer.decoder.bbox_head.") for name in shapes),
            "padding": padding,
            "caption_head": "lstm_dsa" if attends else "lstm",
            "embed_dim": vote(word, 512),
            "rnn_dim": vote(_axis(shapes, r"caption_head\.\d+\.(logit\.weight|core\.rnn\.weight_hh_l0)", 1), 512),
            "attention_dim": vote(_axis(shapes, r"caption_head\.\d+\.core\.(ctx2att|h2att)\.(weight|bias)", 0), 512),
        }
    )
    assumed = {"num_heads": heads, "num_points": points, "num_frames": frames, "padding": padding}
    return model, {name: value for name, value in assumed.items() if getattr(given, name) is None}


def read_run(model: ModelConfig, given: Given) -> tuple[ConfigDict, dict[str, Any]]:
    """The run that such a checkpoint comes from, as `configs/anet_pdvc.py` has it, and what of it was assumed.

    Captioning with it is the PDVC reference's: all queries reranked, the counter's number kept, at least one.
    """
    youcook2 = model.max_events + 1 == _YOUCOOK2_COUNTS
    assumed = {
        "ec_alpha": 1.0 if model.caption_head == "lstm_dsa" else 0.3,
        "dataset": "youcook2" if youcook2 else "activitynet_captions",
    }
    assumed = {name: value for name, value in assumed.items() if getattr(given, name) is None}
    values = {**dataclasses.asdict(given), **assumed}
    config = default_config()
    config.dataset = values["dataset"]
    config.mode = "video"
    config.max_events = 30
    config.batch_size = 1
    config.model.update(dataclasses.asdict(model))
    config.loss.update(dataclasses.asdict(PDVC))
    optimizer = {"name": "adam", "learning_rate": 5e-5, "clip_norm": 100.0, "schedule": "piecewise"}
    config.optimizer.update(optimizer)
    streaming = {"consolidation": "rerank", "mode": "reference", "min_events": 1, "ec_alpha": float(values["ec_alpha"])}
    config.streaming.update(streaming)
    return config, assumed


def read_features(model: ModelConfig, described: FeatureInfo | None, where: str) -> FeatureInfo:
    """The features that the model takes.

    Args:
        model: of the checkpoint.
        described: what the user's features.json says, if one was given.
        where: it was.

    Raises:
        InputError: another dimension, or nothing tells the clock.
    """
    if described is not None:
        if described.dim != model.feature_dim:
            raise InputError(f"{where}: features of {described.dim} numbers, the checkpoint takes {model.feature_dim}")
        return described
    if FEATURES.get(model.feature_dim) == "TSP":
        return FeatureInfo("tsp", model.feature_dim, _TSP_SECONDS, _TSP_SECONDS)
    kind = f" ({FEATURES[model.feature_dim]})" if model.feature_dim in FEATURES else ""
    raise InputError(
        f"the checkpoint takes features of {model.feature_dim} numbers{kind} and does not tell their clock: "
        "give --features=DIR, a folder whose features.json has backbone, dim, stride_s and window_s"
    )


def _heads_and_points(spread: int, levels: int, given: Given) -> tuple[int, int]:
    """Splits heads * levels * points, the outputs of every offset layer."""
    product = spread // levels if spread else 32
    heads = given.num_heads or (product // given.num_points if given.num_points else 8)
    points = given.num_points or max(product // max(heads, 1), 1)
    if spread and heads * points * levels != spread:
        raise InputError(
            f"--num_heads={heads} --num_points={points}: with {levels} levels they make {heads * points * levels} "
            f"offsets, the checkpoint has {spread}; give others"
        )
    return heads, points


def _axis(shapes: Shapes, pattern: str, axis: int) -> Iterator[int]:
    """The size of one axis in every entry whose whole name matches."""
    compiled = re.compile(pattern)
    return (shape[axis] for name, shape in shapes.items() if len(shape) > axis and compiled.fullmatch(name))


def _count(shapes: Shapes, prefix: str) -> int:
    """How many numbered parts there are: 0, 1, ... without a gap after `prefix`."""
    numbers = {name.removeprefix(prefix).split(".")[0] for name in shapes if name.startswith(prefix)}
    return next(count for count in itertools.count() if str(count) not in numbers)
