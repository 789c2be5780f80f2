"""The extractors `tsp` and `r2plus1d_18`: 512 numbers per 16/15 s by an R(2+1)D network, from pixels."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from jaxtyping import Array, Float, UInt8

from lvc_jax.backbones import tsp_clips
from lvc_jax.backbones.protocol import RowClock
from lvc_jax.backbones.r2plus1d import R2Plus1D, R2Plus1DConfig
from lvc_jax.backbones.tsp_pixels import preprocess


@functools.partial(jax.jit, static_argnums=0)
def clip_features(
    config: R2Plus1DConfig, variables: Mapping[str, Any], clips: Float[Array, "b t h w 3"]
) -> Float[Array, "b dim"]:
    """Features of preprocessed clips."""
    return cast(Array, R2Plus1D(config).apply(variables, clips))


@functools.partial(jax.jit, static_argnums=0)
def pixel_features(
    config: R2Plus1DConfig, variables: Mapping[str, Any], frames: UInt8[Array, "b t h w 3"]
) -> Float[Array, "b dim"]:
    """Features of clips as they come from a video, [0, 255] RGB of any size: one program from pixels to features.

    It is compiled for each size of picture. `ClipExtractor` preprocesses single frames instead and compiles the network
    once; the numbers are the same.
    """
    return cast(Array, R2Plus1D(config).apply(variables, preprocess(frames)))


class ExtractorState(NamedTuple):
    """The clip that is being filled, and whole clips that wait for their batch."""

    clips: tsp_clips.ClipState = tsp_clips.ClipState()
    waiting: tuple[tsp_clips.Clip, ...] = ()


class ClipExtractor:
    """A `FeatureExtractor`: clips of 16 frames at 15 frames a second, one after the other (see `tsp_clips`).

    A video with fewer than 16 resampled frames gets one row, its last frame repeated (TSP's own extraction stops with
    an error there); an incomplete clip at the end of a longer one is left out.

    Args:
        name: of the backbone.
        config: the network.
        variables: its variables.
        batch_clips: clips that are described at once. With more than one, a row comes when its batch is full, or at
            the end: for files only.
    """

    def __init__(self, name: str, config: R2Plus1DConfig, variables: Mapping[str, Any], batch_clips: int = 1):
        self.info = RowClock(name, config.dim, tsp_clips.STRIDE_S, tsp_clips.STRIDE_S)
        self._config, self._variables, self._batch = config, jax.device_put(variables), batch_clips

    def init(self) -> ExtractorState:
        """The state before the first frame."""
        return ExtractorState()

    def push(
        self, state: ExtractorState, time_s: float, frame: UInt8[np.ndarray, "h w 3"]
    ) -> tuple[ExtractorState, list[np.ndarray]]:
        """Takes one frame; see `FeatureExtractor.push`."""
        clips, new = tsp_clips.push(state.clips, time_s, frame)
        waiting = (*state.waiting, *new)
        whole = len(waiting) - len(waiting) % self._batch
        return ExtractorState(clips, waiting[whole:]), self._describe(waiting[:whole])

    def finish(self, state: ExtractorState, duration: float) -> list[np.ndarray]:
        """The remaining rows; see `FeatureExtractor.finish`."""
        return self._describe((*state.waiting, *tsp_clips.finish(state.clips, duration)))

    def _describe(self, clips: tuple[tsp_clips.Clip, ...]) -> list[np.ndarray]:
        rows: list[np.ndarray] = []
        for first in range(0, len(clips), self._batch):
            batch = clips[first : first + self._batch]
            # A short batch is filled up, so that one program serves all.
            filled = np.stack(batch + batch[-1:] * (self._batch - len(batch)))
            rows.extend(np.asarray(clip_features(self._config, self._variables, filled))[: len(batch)])
        return rows
