"""The config of a run: defaults, JSON form, and what must not change between a run and its continuation."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import ml_collections
from ml_collections import ConfigDict

from lvc_jax.data.json_fields import kind_of
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write
from lvc_jax.models.config import ModelConfig
from lvc_jax.training.loss_weights import LossWeights

FROM_DATA = 0
"""Value of `model.feature_dim` and `model.vocab_size` in a config: filled in from the data."""

# The model, the data and their order: a run that continues with another value would be a different run.
_FIXED = (
    "seed",
    "dataset",
    "train_split",
    "batch_size",
    "accumulation_steps",
    "model",
    "segment_frames",
    "memory",
    "silent_share",
    "mode",
    "max_events",
    "vocabulary",
)


def default_config() -> ConfigDict:
    """Every key that a config may hold, with the Live Video Captioning paper's values where it gives any.

    Keys (units): `segment_frames` Δt set in frames at 30 per second; `memory` segments in the window, the current one
    included; `silent_share` share of training samples without an event (-1: as in the data); `max_events` event slots
    of a sample; `num_train_steps`, `eval.every`, `checkpoint_every`, `log_every` and the schedule count batches.
    """
    model = dataclasses.asdict(ModelConfig()) | {"feature_dim": FROM_DATA, "vocab_size": FROM_DATA}
    return ConfigDict(
        {
            "seed": 777,
            "dataset": "activitynet_captions",
            "data_dir": "data",
            "train_split": "train",
            "num_workers": 0,
            "batch_size": 16,
            "accumulation_steps": 1,
            "num_train_steps": 10_000,
            "checkpoint_every": 500,
            "log_every": 10,
            "model": model,
            "segment_frames": (24, 48, 72, 96, 120, 150),
            "memory": 1,
            "silent_share": -1.0,
            "mode": "segment",
            "max_events": 10,
            "vocabulary": {"kind": "words", "path": "", "min_count": 1, "size": 1000},
            "loss": dataclasses.asdict(LossWeights()),
            "optimizer": {
                "name": "adamw",
                "learning_rate": 1e-4,
                "transformer_factor": 1.0,
                "weight_decay": 1e-4,
                "clip_norm": 1.0,
                "b1": 0.9,
                "b2": 0.999,
                "eps": 1e-8,
                "schedule": "warmup_cosine",
                "warmup_steps": 500,
                "decay_steps": 10_000,
                "end_factor": 0.05,
                "boundaries": (),
                "decay_factor": 0.5,
            },
            "streaming": {
                "segment_frames": 48,
                "memory": 1,
                "consolidation": "events",
                "ec_alpha": 0.3,
                "min_events": 0,
                "mode": "paper",
                "beam_size": 1,
            },
            "eval": {"every": 0, "split": "val", "segment_frames": 48, "max_videos": 32},
        }
    )


def to_json(config: ConfigDict) -> dict[str, Any]:
    """Plain dicts and lists."""
    return json.loads(json.dumps(config.to_dict()))


def from_json(content: dict[str, Any]) -> ConfigDict:
    """The inverse of `to_json`: lists become the tuples they were; keys that are not there have their default.

    `streaming.memory` alone is left out if it is not there: what it is then depends on who asks.

    Raises:
        TypeError: if the config, or a part that should be one, is no object.
    """
    return ml_collections.ConfigDict(_tuples(_completed(content)))


def _completed(content: dict[str, Any]) -> dict[str, Any]:
    """The saved config with the defaults of keys that came into use after it was saved.

    Raises:
        TypeError: if it, or a part that should be one, is no object.
    """
    if not isinstance(content, dict):
        raise TypeError(f"expected an object, found {kind_of(content)}")
    defaults = to_json(default_config())
    # A config that is silent about M stays so: evaluation and the live program have each a default of their own.
    del defaults["streaming"]["memory"]
    for key, default in defaults.items():
        if isinstance(default, dict) and not isinstance(content.get(key, {}), dict):
            raise TypeError(f"field {key!r}: expected an object, found {kind_of(content[key])}")
    return {
        key: {**default, **content.get(key, {})} if isinstance(default, dict) else content.get(key, default)
        for key, default in {**content, **defaults}.items()
    }


def _tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _tuples(item) for key, item in value.items()}
    return tuple(_tuples(item) for item in value) if isinstance(value, list) else value


def claim_workdir(workdir: Path, config: ConfigDict, *, write: bool = True) -> None:
    """Saves the config in the workdir, or checks that what is there may be continued with it.

    Args:
        workdir: the run's folder.
        config: of the run.
        write: false checks only (processes other than the first).

    Raises:
        InputError: if the workdir holds a run whose model, data or data order differ, naming the first such key.
    """
    path = workdir / "config.json"
    now = to_json(config)
    if path.exists():
        try:
            saved = _completed(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise InputError(f"{path}: cannot be read: {error}; remove it or give another --workdir") from None
        check_same_run(saved, now, str(workdir))
    if not write:
        return
    with atomic_write(path) as file:
        file.write(json.dumps(now, indent=1) + "\n")


def check_same_run(saved: dict[str, Any], now: dict[str, Any], where: str) -> None:
    """Raises `InputError` if two configs differ in a key that decides the model, the data or their order."""
    before, after = _flat(saved), _flat(now)
    for key in sorted({*before, *after}):
        if key.split(".")[0] in _FIXED and before.get(key) != after.get(key):
            raise InputError(
                f"{where}: holds a run with {key}={before.get(key)!r}, not {after.get(key)!r}: "
                "give another --workdir, or the same value to continue that run"
            )


def _flat(config: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
