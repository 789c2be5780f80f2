"""Live captioning as a pure function on a carried state: `init`, `step`, `flush`."""

from lvc_jax.streaming.state import StreamConfig, StreamState, init, rows_per_segment
from lvc_jax.streaming.step import batched_step, flush, init_batch, pad_rows, step, step_fn

__all__ = [
    "StreamConfig",
    "StreamState",
    "batched_step",
    "flush",
    "init",
    "init_batch",
    "pad_rows",
    "rows_per_segment",
    "step",
    "step_fn",
]
