"""Named sizes of real models, for tests and benchmarks: what the kernels must lower for, and what is timed."""

from typing import NamedTuple


class Shape(NamedTuple):
    """The sizes of one call.

    Attributes:
        batch, queries, heads, channels: B, Q, H and C of `deformable_attention`; channels of one head.
        level_lengths: rows of each level.
        points: P, samples of a level for each query and head.
        padding: what lies outside a level.
    """

    batch: int
    queries: int
    heads: int
    channels: int
    level_lengths: tuple[int, ...]
    points: int
    padding: str = "zeros"

    @property
    def rows(self) -> int:
        """S, rows of all levels together."""
        return sum(self.level_lengths)


def pyramid(frames: int, levels: int) -> tuple[int, ...]:
    """Rows of the levels of a window of `frames` rows: each half of the one before, rounded up."""
    lengths = [frames]
    while len(lengths) < levels:
        lengths.append((lengths[-1] + 1) // 2)
    return tuple(lengths)


def _encoder(batch: int, frames: int, levels: int = 4, heads: int = 8, channels: int = 64) -> Shape:
    lengths = pyramid(frames, levels)
    return Shape(batch, sum(lengths), heads, channels, lengths, 4)


SHAPES: dict[str, Shape] = {
    # PDVC and the Live Video Captioning paper on ActivityNet: T = 100, 10 queries, a batch of training.
    "encoder": _encoder(16, 100),
    "decoder": Shape(16, 10, 8, 64, pyramid(100, 4), 4),
    # One stream.
    "stream_encoder": _encoder(1, 100),
    "stream_decoder": Shape(1, 10, 8, 64, pyramid(100, 4), 4),
    # YouCook2: T = 200, 100 queries.
    "youcook2_encoder": _encoder(1, 200),
    "youcook2_decoder": Shape(1, 100, 8, 64, pyramid(200, 4), 4),
    # The caption head's look at the memory (LSTM-DSA): one head, every sample a query of one level; 512 channels of
    # values and 512 of what the additive attention makes of them.
    "caption": Shape(1, 40, 1, 1024, (100,), 1, "border"),
    # The small models of configs/shapes.py and configs/salads.py.
    "small_encoder": _encoder(32, 16, levels=3, heads=4, channels=32),
    "small_decoder": Shape(32, 6, 4, 32, pyramid(16, 3), 4),
    # Long windows.
    "long_encoder": _encoder(1, 1024),
    "longest_encoder": _encoder(1, 4096),
    "longest_decoder": Shape(1, 100, 8, 64, pyramid(4096, 4), 4),
}
