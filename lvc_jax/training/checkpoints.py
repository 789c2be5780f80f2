"""Checkpoints on disk: the last few, the best one, and all that captioning with them needs.

    <workdir>/checkpoints/<step>/            params, training (step, optimiser state), about (JSON)
    <workdir>/checkpoints/best/<step>/       the same, best by the validation metric

A step's folder appears under its own name only when it is complete, so a killed save leaves the ones before it intact.
"""

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import jax
import orbax.checkpoint as ocp
from ml_collections import ConfigDict

from lvc_jax.data import vocabulary as vocabularies
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError
from lvc_jax.models import ModelConfig, init_params
from lvc_jax.training.reason import first_line
from lvc_jax.training.run_config import from_json, to_json
from lvc_jax.training.train_state import TrainState
from lvc_jax.version import __version__

BEST = "best"


@dataclasses.dataclass(frozen=True)
class About:
    """What a checkpoint says of itself beside its arrays; all of it JSON-able."""

    step: int
    config: ConfigDict
    model_config: ModelConfig
    vocabulary: Any
    feature_info: FeatureInfo
    metrics: dict[str, float]
    version: str = __version__

    def to_json(self) -> dict[str, Any]:
        """The content of the checkpoint's JSON part."""
        return {
            "step": self.step,
            "config": to_json(self.config),
            "model_config": dataclasses.asdict(self.model_config),
            "vocabulary": self.vocabulary.to_dict(),
            "feature_info": self.feature_info.to_dict(),
            "metrics": dict(self.metrics),
            "version": self.version,
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "About":
        """The inverse of `to_json`."""
        return cls(
            step=int(content["step"]),
            config=from_json(content["config"]),
            model_config=ModelConfig.from_dict(content["model_config"]),
            vocabulary=vocabularies.from_dict(content["vocabulary"]),
            feature_info=FeatureInfo.from_dict(content["feature_info"]),
            metrics=dict(content["metrics"]),
            version=content["version"],
        )


@dataclasses.dataclass(frozen=True)
class Loaded(About):
    """A checkpoint ready to caption: `About`, the parameters on one device, and which one it is.

    Attributes:
        params: parameters.
        which: "best" by the validation metric, "latest", or "step" where one was asked for by its number.
    """

    params: Any = None
    which: str = "latest"


class Checkpoints:
    """The checkpoints of one run.

    Args:
        folder: usually `<workdir>/checkpoints`; made if missing.
        keep: how many of the latest steps stay; the best one stays besides.
    """

    def __init__(self, folder: str | os.PathLike, keep: int = 2):
        self.folder = Path(folder).absolute()
        # Saving waits for the files. The training step donates its state, so a save in the background would read
        # buffers that are being overwritten.
        self._latest = _manager(self.folder, keep)
        self._best = _manager(self.folder / BEST, 1)

    def latest_step(self) -> int | None:
        """The newest complete step, or None."""
        return self._latest.latest_step()

    def best_about(self) -> About | None:
        """What the best checkpoint says of itself, or None."""
        step = self._best.latest_step()
        return None if step is None else read_about(self.folder, BEST, step)

    def save(self, state: TrainState, about: About) -> None:
        """Writes the state of `about.step`; a step that is there already is left as it is."""
        if about.step not in self._latest.all_steps():
            _save(self._latest, about, _split(state))

    def save_best(self, state: TrainState, about: About) -> None:
        """Writes the state as the best one, then removes the best one before it."""
        if about.step in self._best.all_steps():
            self._best.delete(about.step)
        _save(self._best, about, _split(state))

    def restore(self, target: TrainState, step: int | None = None) -> tuple[TrainState, About]:
        """Reads a step (default: the latest) into the shapes, types and shardings of `target`.

        Args:
            target: a TrainState of arrays or `jax.ShapeDtypeStruct` with shardings; any number of devices will do,
                whatever the number that wrote it.

        Raises:
            InputError: if there is none, or its arrays are not those of `target`.
        """
        step = self.latest_step() if step is None else step
        if step is None:
            raise InputError(f"{self.folder}: no checkpoint here; train first")
        about = read_about(self.folder, "latest", step)
        found = _restore(self.folder, step, jax.tree.map(_abstract, _split(target)))
        training = found["training"]
        return TrainState(step=training["step"], params=found["params"], opt_state=training["opt_state"]), about

    def reached_preemption(self, step: int) -> bool:
        """Whether any process of a multi-process run was told to end; the answer is the same in all of them."""
        return self._latest.reached_preemption(step)

    def close(self) -> None:
        self._latest.close()
        self._best.close()


def load_for_inference(folder: str | os.PathLike, which: str | int = BEST) -> Loaded:
    """Loads all that captioning needs; neither the dataset nor the optimiser state is touched.

    Args:
        folder: a workdir, or its `checkpoints` folder.
        which: "best" (by the validation metric; the latest where no validation ran), "latest", or a step.

    Raises:
        InputError: if there is no such checkpoint or it cannot be read.
    """
    root = resolve(folder)
    if which == BEST and not _steps(root / BEST):
        which = "latest"
    place = root / BEST if which == BEST else root
    steps = _steps(place)
    if which not in (BEST, "latest"):
        if not str(which).isdigit() or int(which) not in steps:
            raise InputError(f"{root}: no checkpoint {which!r}; choose best, latest or one of {steps}")
        steps = [int(which)]
    if not steps:
        raise InputError(f"{root}: no checkpoint of that kind; choose another or train first")
    step = steps[-1]
    about = read_about(root, BEST if which == BEST else "latest", step)
    target = jax.tree.map(_abstract, _abstract_params(about.model_config))
    params = _restore(place, step, {"params": target})["params"]
    which = which if which in (BEST, "latest") else "step"
    return Loaded(**{f.name: getattr(about, f.name) for f in dataclasses.fields(About)}, params=params, which=which)


def save_for_inference(loaded: Loaded, folder: str | os.PathLike) -> None:
    """Writes a checkpoint without optimiser state, small enough to hand on; `load_for_inference` reads it."""
    with _manager(Path(folder).absolute(), None) as manager:
        _save(manager, loaded, {"params": loaded.params})


def resolve(folder: str | os.PathLike) -> Path:
    """The folder that holds the steps, given it or the workdir around it.

    Raises:
        InputError: if neither holds a checkpoint.
    """
    given = Path(folder).absolute()
    for place in (given / "checkpoints", given):
        if _steps(place) or _steps(place / BEST):
            return place
    raise InputError(f"{folder}: no checkpoint here; give the --workdir of a training, or its checkpoints folder")


def read_about(folder: Path, which: str, step: int) -> About:
    """The JSON part of one checkpoint."""
    return _read_description(folder / BEST if which == BEST else folder, step)[0]


def _read_description(place: Path, step: int) -> tuple[About, dict[str, str]]:
    """What a checkpoint says of itself, and the types of its arrays."""
    try:
        content = json.loads((place / str(step) / "about" / "metadata").read_text(encoding="utf-8"))
        return About.from_json(content), dict(content["arrays"])
    except InputError as error:
        raise InputError(f"{place / str(step)}: {error}") from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{place / str(step)}: not a checkpoint of lvc_jax, or damaged: {first_line(error)}") from None


def _manager(folder: Path, keep: int | None) -> ocp.CheckpointManager:
    options = ocp.CheckpointManagerOptions(
        max_to_keep=keep, enable_async_checkpointing=False, cleanup_tmp_directories=True
    )
    return ocp.CheckpointManager(folder, options=options)


def _save(manager: ocp.CheckpointManager, about: About, arrays: dict[str, Any]) -> None:
    description = about.to_json() | {"arrays": _types(arrays)}
    items = {name: ocp.args.StandardSave(tree) for name, tree in arrays.items()}
    manager.save(about.step, args=ocp.args.Composite(about=ocp.args.JsonSave(description), **items), force=True)


def _restore(place: Path, step: int, wanted: dict[str, Any]) -> Any:
    """Reads arrays into the shapes and shardings of `wanted`; their types are compared before any file is opened."""
    _, stored = _read_description(place, step)
    expected = _types(wanted)
    stored = {name: kind for name, kind in stored.items() if name.split("[")[0] in wanted}
    for name in sorted({*expected, *stored}):
        if expected.get(name) != stored.get(name):
            raise InputError(
                f"{place / str(step)}: its arrays are not those of this model or optimiser: {name} is "
                f"{stored.get(name, 'missing')}, not {expected.get(name, 'known here')}; use the config that it was "
                "trained with, or another --workdir"
            )
    args = {name: ocp.args.StandardRestore(tree) for name, tree in wanted.items()}
    try:
        with ocp.Checkpointer(ocp.CompositeCheckpointHandler()) as reader:
            return reader.restore(place / str(step), args=ocp.args.Composite(**args))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{place / str(step)}: cannot be read: {first_line(error)}; use another checkpoint") from None


def _types(arrays: dict[str, Any]) -> dict[str, str]:
    """`name[path]` to type and shape of every array."""
    return {
        name + jax.tree_util.keystr(path): f"{leaf.dtype}{list(leaf.shape)}"
        for name, tree in arrays.items()
        for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _split(state: TrainState) -> dict[str, Any]:
    """The parts that are stored apart, so that captioning reads the parameters alone."""
    return {"params": state.params, "training": {"step": state.step, "opt_state": state.opt_state}}


def _abstract(x: Any) -> jax.ShapeDtypeStruct:
    sharding = getattr(x, "sharding", None) or jax.sharding.SingleDeviceSharding(jax.devices()[0])
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)


def _abstract_params(config: ModelConfig) -> Any:
    return jax.eval_shape(lambda key: init_params(config, key), jax.random.key(0))


def _steps(folder: Path) -> list[int]:
    return sorted(int(p.name) for p in folder.iterdir() if p.name.isdigit()) if folder.is_dir() else []
