"""Batches of training samples, a function of (seed, step) alone.

The shuffle is global and its unit is one window per video per epoch; every element of the endless shuffled sequence has
its own random generator. Step s of a run takes elements [s * batch, (s + 1) * batch); host p of n takes every n-th of
them. So the batch of a step is the same for any number of hosts or worker processes, and a run resumes from its step.
"""

import atexit
import functools
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import grain
import numpy as np
from absl import flags

from lvc_jax.data.datasets.reading import Dataset
from lvc_jax.data.pipeline_draws import Draw, DrawPlan
from lvc_jax.data.pipeline_samples import SampleConfig, Targets, empty, encode_targets, fill, make_sample
from lvc_jax.data.vocabulary import Vocabulary
from lvc_jax.errors import InputError

__all__ = ["SampleConfig", "eval_batches", "make_sample", "train_batches"]

Batch = dict[str, Any]


class _BatchMaker:
    """Turns draws into one batch; features come from the dataset, captions are encoded once."""

    def __init__(self, dataset: Dataset, vocab: Vocabulary, cfg: SampleConfig):
        self._dataset = dataset
        self._cfg = cfg
        spans = [dataset.spans(i) for i in range(len(dataset))]
        self._durations = [span.duration for span in spans]
        self._targets: list[Targets] = [encode_targets(span.references, vocab, cfg.max_len) for span in spans]

    def plan(self) -> DrawPlan:
        """Draws segments of these videos."""
        return DrawPlan(self._durations, [(t.starts, t.ends) for t in self._targets], self._cfg, self._dataset.info)

    def __call__(self, draws: list[Draw]) -> Batch:
        out = empty((len(draws),), self._dataset.info.dim, self._cfg)
        for row, (video, k, frames) in enumerate(draws):
            sample = {name: array[row, ...] for name, array in out.items()}
            features, duration, targets = self._dataset.features(video), self._durations[video], self._targets[video]
            fill(sample, features, self._dataset.info, duration, targets, k, frames, self._cfg)
        events = {name: out.pop(name) for name in ("boxes", "tokens", "mask")}
        return {**out, "events": events}


@functools.lru_cache(maxsize=8)
def _epoch_order(seed: int, size: int, epoch: int) -> list[int]:
    return np.random.default_rng([seed, epoch]).permutation(size).tolist()


def _shuffled(seed: int, size: int, index: int, _: int) -> int:
    """The video at place `index` of the endless sequence: a new order in each epoch.

    grain's own shuffle does the same but takes a millisecond an element where the dataset is small.
    """
    epoch, place = divmod(index, size)
    return _epoch_order(seed, size, epoch)[place]


class TrainBatches(Iterator[Batch]):
    """An endless stream of batches; `close` ends its threads and processes, at the latest when the program ends."""

    def __init__(self, stream: Any):
        self._stream = stream
        _open_streams.add(self)

    def __next__(self) -> Batch:
        if self._stream is None:
            raise StopIteration
        return next(self._stream)

    def close(self) -> None:
        """Ends the stream; there are no batches afterwards."""
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()


_open_streams: weakref.WeakSet[TrainBatches] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    # Worker processes that outlive the modules of the interpreter end in tracebacks and leaked shared memory.
    for stream in list(_open_streams):
        stream.close()


def _copied(batch: Batch) -> Batch:
    """The batch in memory of its own: arrays from worker processes lie in memory that is shared and then freed."""
    events = {name: np.array(value) for name, value in batch["events"].items()}
    return {**{name: np.array(value) for name, value in batch.items() if name != "events"}, "events": events}


def train_batches(
    dataset: Dataset,
    vocab: Vocabulary,
    cfg: SampleConfig,
    *,
    seed: int,
    batch_size: int,
    start_step: int = 0,
    process_index: int = 0,
    process_count: int = 1,
    num_workers: int = 0,
    epochs_shuffle: bool = True,
) -> TrainBatches:
    """Endless batches, from `start_step` on.

    Args:
        dataset: the training videos.
        vocab: encodes the captions.
        cfg: what a sample is.
        seed: of the order and of the drawn segments.
        batch_size: B of all hosts together.
        start_step: the first step to produce.
        process_index: this host, 0 <= process_index < process_count.
        process_count: hosts; each gets batch_size / process_count samples of a step.
        num_workers: processes that make samples; 0 makes them in threads of this one.
        epochs_shuffle: a new order of videos in each epoch; False keeps the dataset's own order.

    Returns:
        Iterator over {features [B, T, C] f32, duration [B] f32, events {boxes [B, G, 2] f32, tokens [B, G, W] i32,
        mask [B, G] bool}, count [B] i32}.

    Raises:
        InputError: if there is no video or the batch does not divide by the hosts.
    """
    local = _local_batch(dataset, batch_size, process_index, process_count)
    make = _BatchMaker(dataset, vocab, cfg)
    elements = grain.MapDataset.range(len(dataset)).seed(seed).repeat()
    if epochs_shuffle:
        elements = elements.map_with_index(functools.partial(_shuffled, seed, len(dataset)))
    elements = elements.random_map(make.plan())
    steps = elements[start_step * batch_size :][process_index::process_count]
    batches = steps.batch(local, batch_fn=list).map(make)
    stream = batches.to_iter_dataset(grain.ReadOptions(num_threads=2, prefetch_buffer_size=4))
    if num_workers:
        if not flags.FLAGS.is_parsed():
            # grain's workers read absl flags, which a plain script never parses.
            flags.FLAGS.mark_as_parsed()
        stream = stream.mp_prefetch(grain.MultiprocessingOptions(num_workers=num_workers, per_worker_buffer_size=2))
        stream = stream.map(_copied)
    return TrainBatches(iter(stream))


def eval_batches(
    dataset: Dataset,
    vocab: Vocabulary,
    cfg: SampleConfig,
    *,
    batch_size: int,
    seed: int = 0,
    windows_per_video: int = 1,
    videos: Sequence[int] | None = None,
    process_index: int = 0,
    process_count: int = 1,
) -> Iterator[Batch]:
    """The same finite batches at every call: `windows_per_video` drawn windows of every video, in order.

    Args:
        dataset: the videos.
        vocab: encodes the captions.
        cfg: what a sample is.
        batch_size: B of all hosts together.
        seed: of the drawn segments.
        windows_per_video: draws of each video.
        videos: indices of the videos; None takes all.
        process_index: this host.
        process_count: hosts.

    Yields:
        Batches as in `train_batches` with weight [B] f32: 1 for samples, 0 for the copies that fill up the last batch.
    """
    local = _local_batch(dataset, batch_size, process_index, process_count)
    make = _BatchMaker(dataset, vocab, cfg)
    plan = make.plan()
    draws = [
        plan(video, np.random.default_rng([seed, video, window]))
        for window in range(windows_per_video)
        for video in (range(len(dataset)) if videos is None else map(int, videos))
    ]
    for first in range(0, len(draws), batch_size):
        mine = draws[first : first + batch_size][process_index::process_count]
        padding = local - len(mine)
        batch = make(mine + [draws[0]] * padding)
        yield {**batch, "weight": np.array([1.0] * len(mine) + [0.0] * padding, np.float32)}


def _local_batch(dataset: Dataset, batch_size: int, process_index: int, process_count: int) -> int:
    if not len(dataset):
        raise InputError(f"{dataset}: no videos; prepare the dataset again or choose another split")
    if batch_size < 1 or batch_size % process_count:
        raise InputError(f"batch_size={batch_size}: must be a positive multiple of the {process_count} hosts")
    if not 0 <= process_index < process_count:
        raise InputError(f"process_index={process_index}: must be below process_count={process_count}")
    return batch_size // process_count
