"""Captioning recorded videos: the live step over their segments, several videos at once."""

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.data.segments import num_segments, segment_rows, segment_seconds, segment_span
from lvc_jax.errors import InputError
from lvc_jax.models import prepare
from lvc_jax.outputs.predictions import Item
from lvc_jax.streaming.items import Decode, caption_items
from lvc_jax.streaming.state import StreamConfig, init, segment_fraction
from lvc_jax.streaming.step import batched_step, init_batch, pad_rows

SORT_WINDOW = 16  # batches' worth of videos that are sorted by length before they are stepped together


class Clip(NamedTuple):
    """A recorded video: its id, the feature rows [n, C] of each segment (n = 0: missing), its duration in seconds."""

    id: str
    segments: Sequence[np.ndarray]
    duration: float


def live_segments(
    features: Float[np.ndarray, "L C"], info: FeatureInfo, duration: float, segment_frames: int
) -> list[np.ndarray]:
    """Cuts a video's rows into segments as a live stream would see them; see `data.segments.segment_rows`."""
    return [features[index] for index in segment_rows(info, features.shape[0], duration, segment_frames)]


def predict(
    params: Any,
    config: StreamConfig,
    videos: Iterable[tuple[str, Sequence[np.ndarray], float]],
    *,
    batch: int = 8,
    whole_video: bool = False,
    decode: Decode | None = None,
    progress: Callable[[int], None] | None = None,
    counts: dict[str, list[int]] | None = None,
) -> dict[str, list[Item]]:
    """Captions recorded videos exactly as their live streams would be captioned.

    `batch` streams advance in lock-step through one vmapped step; those that have ended are carried along silent.
    Videos are read lazily, `SORT_WINDOW` batches at a time, and videos of similar length share a batch.

    Args:
        params: parameters of the model.
        config: the streams' constants.
        videos: (id, feature rows of each segment, duration in seconds), as `Clip`; see `live_segments`.
        batch: B, streams at once.
        whole_video: each video is a single segment that lasts as long as the video does.
        decode: token ids to a sentence; without it items carry "tokens".
        progress: called after every lock-step with the number of segments captioned by it.
        counts: filled with the number of events that each segment of each video has according to the counter, silent
            segments included.

    Returns:
        The items of each video in order of time, in the order in which the videos came.

    Raises:
        InputError: naming the video: a duration or number of segments that does not fit, too many rows in a segment,
            rows of another size, NaN, or an id that comes twice.
    """
    if batch < 1:
        raise InputError(f"batch={batch}: must be at least 1")
    params = prepare(config.model, params)
    results: dict[str, list[Item]] = {}
    stream = iter(videos)
    while chunk := [Clip(*video) for video in itertools.islice(stream, batch * SORT_WINDOW)]:
        for clip in chunk:
            _check(clip, config, whole_video)
            if clip.id in results:
                raise InputError(f"video {clip.id}: comes twice")
            results[clip.id] = []
            if counts is not None:
                counts[clip.id] = []
        by_length = sorted(chunk, key=lambda clip: len(clip.segments))
        for start in range(0, len(by_length), batch):
            group = by_length[start : start + batch]
            for k, captions in enumerate(_lock_step(params, config, group, batch, whole_video)):
                running = [lane for lane, clip in enumerate(group) if k < len(clip.segments)]
                for lane in running:
                    clip = group[lane]
                    own = {name: value[lane] for name, value in captions.items()}
                    results[clip.id] += caption_items(own, k, _span(config, clip, k, whole_video), decode)
                    if counts is not None:
                        counts[clip.id].append(int(own["count"]))
                if progress:
                    progress(len(running))
    return results


def _lock_step(
    params: Any, config: StreamConfig, group: list[Clip], batch: int, whole_video: bool
) -> Iterator[dict[str, np.ndarray]]:
    """Yields the captions of all lanes, one segment after the other, on the host."""
    states = init_batch(init(config, params), batch)
    if whole_video:
        seconds = np.array([clip.duration for clip in group] + [1.0] * (batch - len(group)), np.float32)
        states = dataclasses.replace(states, segment_seconds=jnp.zeros_like(states.segment_seconds) + seconds)
    waiting = None
    for k in range(max(len(clip.segments) for clip in group)):
        rows = np.zeros((batch, config.max_rows, config.model.feature_dim), np.float32)
        n_valid = np.zeros((batch,), np.int32)
        fraction = np.ones((batch,), np.float32)
        for lane, clip in enumerate(group):
            if k < len(clip.segments):
                try:
                    rows[lane], n_valid[lane] = pad_rows(config, clip.segments[k])
                except InputError as error:
                    raise InputError(f"video {clip.id}: segment {k}: {error}") from None
                if not whole_video:
                    fraction[lane] = segment_fraction(_span(config, clip, k, whole_video), config.segment_seconds)
        states, captions = batched_step(params, states, rows, n_valid, fraction)
        # The device works on this segment while the host reads the one before.
        if waiting is not None:
            yield jax.device_get(waiting)
        waiting = captions
    yield jax.device_get(waiting)


def _span(config: StreamConfig, clip: Clip, k: int, whole_video: bool) -> tuple[float, float]:
    return (0.0, clip.duration) if whole_video else segment_span(k, config.segment_frames, clip.duration)


def _check(clip: Clip, config: StreamConfig, whole_video: bool) -> None:
    if not (math.isfinite(clip.duration) and clip.duration > 0):
        raise InputError(f"video {clip.id}: duration {clip.duration}: must be a positive number of seconds")
    expected = 1 if whole_video else num_segments(clip.duration, config.segment_frames)
    if len(clip.segments) != expected:
        raise InputError(
            f"video {clip.id}: {len(clip.segments)} segments for {clip.duration:g} s, expected {expected} of "
            f"{segment_seconds(config.segment_frames):g} s"
        )
