"""PDVC checkpoints to checkpoints of this package, and back."""

import dataclasses
import os
from pathlib import Path
from typing import Any

import numpy as np

from lvc_jax.conversion import pdvc_vocabulary
from lvc_jax.conversion.entries import collect
from lvc_jax.conversion.new_folder import new_folder
from lvc_jax.conversion.pdvc_config import Given, read_features, read_model, read_run
from lvc_jax.conversion.weight_files import read, write
from lvc_jax.data.feature_store import load_info
from lvc_jax.data.feature_store_info import FILE_NAME
from lvc_jax.errors import InputError
from lvc_jax.models import pdvc_names
from lvc_jax.training.checkpoints import Loaded, load_for_inference, save_for_inference


@dataclasses.dataclass(frozen=True)
class Converted:
    """A converted checkpoint, what was assumed of it (name -> value), and the epoch that its file names."""

    loaded: Loaded
    assumed: dict[str, Any]
    epoch: int | None


def load(
    path: str | os.PathLike,
    given: Given,
    vocabulary: str | os.PathLike | None = None,
    features: str | os.PathLike | None = None,
) -> Converted:
    """Reads a PDVC checkpoint.

    Args:
        path: a torch or .safetensors file.
        given: what the user says of it.
        vocabulary: file of its words; None: beside it.
        features: folder whose features.json tells their clock; None: known for TSP features alone.

    Raises:
        InputError: the file, the vocabulary or the features are damaged or do not fit each other.
    """
    described = None if features is None else load_info(features)
    file = read(path)
    model, assumed = read_model({name: tuple(entry.shape) for name, entry in file.entries.items()}, given)
    kind = "standard (LSTM-DSA)" if model.caption_head == "lstm_dsa" else "light"
    expected = pdvc_names.shapes(model)
    state = collect(file, expected, pdvc_names.duplicates(model, expected), f"a {kind} PDVC captioner")
    words = pdvc_vocabulary.find(file.path, model.vocab_size, vocabulary)
    info = read_features(model, described, f"{Path(features or '') / FILE_NAME}")
    config, of_run = read_run(model, given)
    loaded = Loaded(
        step=0,
        config=config,
        model_config=model,
        vocabulary=words,
        feature_info=info,
        metrics={},
        params=pdvc_names.from_state_dict(state, model),
    )
    return Converted(loaded, assumed | of_run, file.epoch)


def save(converted: Converted, folder: str | os.PathLike) -> None:
    """Writes `<folder>/checkpoints`, whole or not at all; the folder must be new."""
    with new_folder(folder) as place:
        save_for_inference(converted.loaded, place / "checkpoints")


def export(folder: str | os.PathLike, path: str | os.PathLike) -> Path:
    """Writes a checkpoint of this package under PDVC's names, and its vocabulary beside it; returns that file.

    Raises:
        InputError: its model or vocabulary has no counterpart in PDVC, or another vocabulary lies there.
    """
    loaded = load_for_inference(folder)
    try:
        state = pdvc_names.to_state_dict(loaded.params, loaded.model_config)
    except InputError as error:
        raise InputError(f"{folder}: {error}") from None
    words = pdvc_vocabulary.beside(path)
    if not pdvc_vocabulary.holds(words, loaded.vocabulary):
        pdvc_vocabulary.write(words, loaded.vocabulary)
    write(path, {name: np.asarray(array) for name, array in state.items()})
    return words
