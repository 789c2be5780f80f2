"""The training loop: resume, step, log, guard, checkpoint, stop."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import jax
from flax import linen as nn
from jax.sharding import Mesh
from ml_collections import ConfigDict

from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.data.vocabulary import Vocabulary
from lvc_jax.errors import InputError
from lvc_jax.models.config import ModelConfig
from lvc_jax.training import guard
from lvc_jax.training.checkpoints import About, Checkpoints
from lvc_jax.training.loss_weights import LossWeights
from lvc_jax.training.metric_log import MetricLog
from lvc_jax.training.multihost import local_copy, of_first_process
from lvc_jax.training.optimizer import make_optimizer
from lvc_jax.training.preemption import Preemption
from lvc_jax.training.progress import TrainingProgress
from lvc_jax.training.run_config import check_same_run, claim_workdir, to_json
from lvc_jax.training.step import make_train_step
from lvc_jax.training.train_state import TrainState, check_batch_size, create, make_mesh, place_batch, replicated

SELECT_BY = "live_score_rouge_l"
"""The validation number that picks the best checkpoint; larger is better."""


class Evaluate(Protocol):
    """Scores parameters on validation videos."""

    def __call__(self, params: Any, step: int) -> dict[str, float]:
        """Numbers by name; `SELECT_BY` among them decides which checkpoint is the best."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """What a run is made of, beside its config.

    Attributes:
        model: a `LiveCaptioner`.
        model_config: what it was made from.
        init_params: key -> parameters.
        batches: start step -> iterator over this process's share of the batches from that step on; batch s is a
            function of the seed and s alone.
        vocabulary, feature_info: stored in every checkpoint.
        evaluate: runs every `config.eval.every` steps and at the end; None for no validation.
    """

    model: nn.Module
    model_config: ModelConfig
    init_params: Callable[[jax.Array], Any]
    batches: Callable[[int], Iterator[Any]]
    vocabulary: Vocabulary
    feature_info: FeatureInfo
    evaluate: Evaluate | None = None


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How a run ended: the last step, and whether SIGTERM stopped it before the end."""

    step: int
    preempted: bool


def train(config: ConfigDict, parts: Parts, workdir: Path, *, mesh: Mesh | None = None) -> Outcome:
    """Trains to `config.num_train_steps`, continuing what the workdir holds.

    Args:
        config: see `run_config.default_config`.
        parts: the model and the data.
        workdir: gets `config.json`, `checkpoints/`, `metrics.jsonl` and `tensorboard/`.
        mesh: default: all devices of all processes.

    Raises:
        InputError: for an impossible config, or a workdir that holds another run.
        guard.TrainingDivergedError: when a number is not finite; the bad state is not written.
    """
    mesh = make_mesh() if mesh is None else mesh
    check_batch_size(config.batch_size, mesh)
    for name in ("num_train_steps", "checkpoint_every", "log_every"):
        if config[name] < 1:
            raise InputError(f"{name}={config[name]}: must be at least 1")
    first, alone = jax.process_index() == 0, jax.process_count() == 1
    tx, learning_rate = make_optimizer(config.optimizer, config.accumulation_steps)
    weights = LossWeights.from_dict(config.loss.to_dict())
    claim_workdir(workdir, config, write=first)

    def initial(key: jax.Array) -> TrainState:
        return create(parts.init_params(key), tx)

    everywhere = replicated(mesh)
    checkpoints = Checkpoints(workdir / "checkpoints")
    progress = None
    try:
        if checkpoints.latest_step() is None:
            known: dict[str, float] = {}
            params = parts.init_params(jax.random.key(config.seed))
            state = jax.jit(lambda params: create(params, tx), out_shardings=everywhere)(params)
        else:
            shapes = jax.eval_shape(initial, jax.random.key(config.seed))
            target = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=everywhere), shapes)
            state, about = checkpoints.restore(target)
            _check_continues(about, parts, config, workdir)
            known = about.metrics
        start = int(state.step)
        step_fn = make_train_step(parts.model, tx, weights, mesh, seed=config.seed)
        log = MetricLog(workdir, start) if first else None
        with (
            Preemption(listens=alone) as preemption,
            TrainingProgress(config.num_train_steps, start, quiet=not first) as progress,
        ):
            if start:
                progress.say(f"continuing at step {start} of {workdir}")
            runner = _Runner(config, parts, checkpoints, log, progress, preemption, learning_rate, known)
            try:
                return runner.run(state, step_fn, mesh)
            finally:
                if log is not None:
                    log.close()
    finally:
        checkpoints.close()


def _check_continues(about: About, parts: Parts, config: ConfigDict, workdir: Path) -> None:
    check_same_run(to_json(about.config), to_json(config), str(workdir))
    if about.model_config != parts.model_config:
        raise InputError(
            f"{workdir}: its checkpoint holds another model ({about.model_config}): give another --workdir"
        )
    if about.vocabulary.fingerprint != parts.vocabulary.fingerprint:
        raise InputError(
            f"{workdir}: its checkpoint holds another vocabulary: prepare the same data, or another --workdir"
        )


@dataclasses.dataclass
class _Runner:
    """The steps of one call of `train`."""

    config: ConfigDict
    parts: Parts
    checkpoints: Checkpoints
    log: MetricLog | None
    progress: TrainingProgress
    preemption: Preemption
    learning_rate: Callable[[Any], Any]
    metrics: dict[str, float]
    best: float | None = None

    def run(self, state: TrainState, step_fn: Any, mesh: Mesh) -> Outcome:
        config, start, total = self.config, int(state.step), self.config.num_train_steps
        best = self.checkpoints.best_about()
        self.best = None if best is None else best.metrics.get(SELECT_BY)
        if start >= total:
            self.progress.say(f"nothing to do: step {start} of {total} is reached")
            return Outcome(start, preempted=False)
        clock, since = time.monotonic(), start
        batches = self.parts.batches(start)
        previous: Any = None
        try:
            for step in range(start + 1, total + 1):
                state, metrics = step_fn(state, place_batch(next(batches), mesh))
                # One step late, so that the next batch is made while the device works.
                if previous is not None:
                    guard.check(step - 1, previous)
                previous = metrics
                self.progress.advance(step)
                stop = self._must_stop(step)
                last = step == total
                # Also when stopping: the next call starts behind this step and would never come back to it.
                evaluates = self.parts.evaluate is not None and (last or _due(step, config.eval.every))
                logs = last or evaluates or _due(step, config.log_every)
                if logs or stop or _due(step, config.checkpoint_every):
                    guard.check(step, metrics)
                if stop:
                    # Before a validation, which may take longer than there is between SIGTERM and the kill behind it.
                    self.checkpoints.save(state, self._about(step))
                if logs:
                    values = self._numbers(step, metrics)
                    values["videos_per_s"] = (step - since) * config.batch_size / max(1e-9, time.monotonic() - clock)
                    if evaluates:
                        values |= self._evaluate(state, step)
                    self._write(step, values)
                    clock, since = time.monotonic(), step
                if last or _due(step, config.checkpoint_every):
                    self.checkpoints.save(state, self._about(step))
                if stop and not last:
                    self.progress.say(f"stopped by SIGTERM; step {step} is saved, run the same command to continue")
                    return Outcome(step, preempted=True)
        finally:
            if hasattr(batches, "close"):
                batches.close()
        return Outcome(total, preempted=False)

    def _must_stop(self, step: int) -> bool:
        if jax.process_count() > 1:
            return self.checkpoints.reached_preemption(step)
        return self.preemption.requested

    def _numbers(self, step: int, metrics: Any) -> dict[str, float]:
        values = {name: float(x) for name, x in jax.device_get(metrics).items() if name != "finite"}
        order = sorted(values, key=lambda name: (name != "loss", name == "grad_norm", name))
        return {**{name: values[name] for name in order}, "lr": float(self.learning_rate(step - 1))}

    def _evaluate(self, state: TrainState, step: int) -> dict[str, float]:
        assert self.parts.evaluate is not None
        self.metrics = of_first_process(self.parts.evaluate(local_copy(state.params), step))
        score = self.metrics.get(SELECT_BY)
        if score is not None and (self.best is None or score > self.best):
            self.best = score
            self.checkpoints.save_best(state, self._about(step))
            self.progress.say(f"step {step}: best {SELECT_BY} so far, {score:.4f}")
        return self.metrics

    def _write(self, step: int, values: dict[str, float]) -> None:
        if self.log is not None:
            self.log.write(step, values)
        self.progress.show(step, values)

    def _about(self, step: int) -> About:
        parts = self.parts
        return About(step, self.config, parts.model_config, parts.vocabulary, parts.feature_info, self.metrics)


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0
