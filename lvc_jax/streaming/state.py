"""What a stream carries from one segment to the next, and the constants that its step is compiled for."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Literal

import flax.struct
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lvc_jax.data.segments import segment_seconds
from lvc_jax.errors import InputError
from lvc_jax.models.config import ModelConfig


@dataclasses.dataclass(frozen=True)
class StreamConfig:
    """Everything that is constant while a stream runs; hashable, so one value means one compiled step.

    Attributes:
        model: the captioner's configuration.
        segment_frames: Δt in frames of a nominal 30 per second.
        memory: M, segments in the window, the current one included (Live Video Captioning paper, Fig. 15).
        max_rows: R, the most feature rows that one segment may bring.
        consolidation: the temporal filter, see `consolidation.consolidate`.
        ec_alpha: weight of the length-modulated caption confidence in the score of a query.
        min_events: least event count; 0 lets a silent segment stay silent.
        mode: "paper" drops empty captions; "reference" keeps them and counts at least one event, as the PDVC
            reference does.
        beam_size: hypotheses a query in a beam search for its caption; 1 takes the most probable word at every step.
    """

    model: ModelConfig
    segment_frames: int = 24
    memory: int = 1
    max_rows: int = 1
    consolidation: Literal["slot", "events", "rerank"] = "slot"
    ec_alpha: float = 0.3
    min_events: int = 0
    mode: Literal["paper", "reference"] = "paper"
    beam_size: int = 1

    def __post_init__(self) -> None:
        for name in ("segment_frames", "memory", "max_rows", "beam_size"):
            if getattr(self, name) < 1:
                raise InputError(f"streaming.{name}={getattr(self, name)}: must be at least 1")
        if self.min_events < 0:
            raise InputError(f"streaming.min_events={self.min_events}: must be 0 or more")
        if not math.isfinite(self.ec_alpha) or self.ec_alpha < 0:
            raise InputError(f"streaming.ec_alpha={self.ec_alpha}: must be a finite number, 0 or more")
        choices = {"consolidation": ("slot", "events", "rerank"), "mode": ("paper", "reference")}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                raise InputError(f"streaming.{name}={getattr(self, name)!r}: choose one of {', '.join(known)}")

    @property
    def segment_seconds(self) -> float:
        """Δt in seconds."""
        return segment_seconds(self.segment_frames)

    @classmethod
    def from_settings(
        cls, model: ModelConfig, settings: Mapping[str, Any], stride_s: float, window_s: float = 0.0, **overrides: Any
    ) -> "StreamConfig":
        """Builds the config that a checkpoint's `streaming` section asks for.

        Args:
            model: the checkpoint's model.
            settings: plain values named as the attributes above; missing ones take the defaults.
            stride_s, window_s: clock of the features; give `max_rows` unless it is set.
            **overrides: values that win over `settings`; None means "not given".

        Raises:
            InputError: an unknown name or an impossible value.
        """
        values = {**dict(settings), **{name: value for name, value in overrides.items() if value is not None}}
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            raise InputError(f"streaming config: unknown key {unknown[0]!r}")
        values.setdefault("segment_frames", cls.segment_frames)
        values.setdefault("max_rows", rows_per_segment(values["segment_frames"], stride_s, window_s))
        return cls(model=model, **values)


def rows_per_segment(segment_frames: int, stride_s: float, window_s: float = 0.0) -> int:
    """The most feature rows that one segment can get, at least 1.

    Those whose ends fall into it, and in the last segment of a video also those that would end after the video: give
    `window_s`, the length of a row in seconds, to count these.
    """
    ends_inside = math.floor(segment_seconds(segment_frames) / stride_s + 1e-6) + 1
    return ends_inside + math.ceil(window_s / stride_s - 1e-6)


def segment_fraction(span: tuple[float, float], whole: float) -> float:
    """The part of Δt (`whole` seconds) that a segment from span[0] to span[1] lasts; exactly 1 up to float noise."""
    part = (span[1] - span[0]) / whole
    return part if part < 1 - 1e-6 else 1.0


@flax.struct.dataclass
class StreamState:
    """The memory of one stream: a pytree of arrays of fixed shape, given to `step` and replaced by what it returns.

    Slot M-1 of the memory holds the segment pushed last, slot 0 the oldest one. A slot with no rows is a segment
    that was dropped, or lies before the stream's beginning. A batch of streams is this same value with a leading
    axis on every array, mapped with `jax.vmap`.

    Attributes:
        rows: feature rows of the last M segments, zero beyond `n_valid`.
        n_valid: rows present in each slot.
        segment: the clock: segments taken so far, which is the index of the next one.
        segment_seconds: Δt in seconds. An array, so that segments of any length run in one compiled step.
        config: constants; static, not part of the arrays.
    """

    rows: Float[Array, "M R C"]
    n_valid: Int[Array, " M"]
    segment: Int[Array, ""]
    segment_seconds: Float[Array, ""]
    config: StreamConfig = flax.struct.field(pytree_node=False)


def init(config: StreamConfig, params: Any = None, segment_seconds: float | None = None) -> StreamState:
    """Opens a stream: an empty memory and a clock at segment 0.

    Args:
        config: the stream's constants.
        params: the model's parameters: the memory is put where they lie, so that the first step is compiled for the
            same placement as all later ones.
        segment_seconds: length of a segment in seconds when it is not `config.segment_seconds`: whole-video
            captioning is one step whose segment lasts as long as the video.

    Raises:
        InputError: a length that is not positive and finite.
    """
    seconds = config.segment_seconds if segment_seconds is None else segment_seconds
    if not (math.isfinite(seconds) and seconds > 0):
        raise InputError(f"segment_seconds={seconds}: must be a positive number of seconds")
    state = StreamState(
        rows=jnp.zeros((config.memory, config.max_rows, config.model.feature_dim), jnp.float32),
        n_valid=jnp.zeros((config.memory,), jnp.int32),
        segment=jnp.zeros((), jnp.int32),
        segment_seconds=jnp.asarray(seconds, jnp.float32),
        config=config,
    )
    placed = [leaf for leaf in jax.tree.leaves(params) if isinstance(leaf, jax.Array)][:1]
    if placed and not isinstance(placed[0], jax.core.Tracer) and placed[0].committed:
        state = jax.device_put(state, placed[0].sharding)
    return state


def check_open(state: StreamState) -> None:
    """Raises RuntimeError when `state` can no longer be used; does nothing under a jax transformation."""
    if isinstance(state.rows, jax.core.Tracer) or not state.rows.is_deleted():
        return
    if state.segment.is_deleted():
        raise RuntimeError("this state was already given to step, which took its buffers: use the state it returned")
    raise RuntimeError(f"flush closed this stream after segment {int(state.segment)}: open a new one with init")


def close(state: StreamState) -> None:
    """Frees the memory of a stream, so that no later step can use it. The clock stays readable."""
    state.rows.delete()
    state.n_valid.delete()
