"""The bodies of the Pallas kernels: the hat-function form of `dense`, a block of queries and a chunk of rows at a time.

Every level is padded with zero rows to whole chunks, so a chunk lies in one level, and no row needs a mask: a padded
row is zero, takes nothing from a sample and gives nothing to a gradient; the gradient that falls on it is thrown away.
Positions stay split into whole + fraction (see `taps.Rows`): a chunk's rows are subtracted from the whole part.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

UNROLLED = 4  # up to this many chunks of a level are written out


class Tiles(NamedTuple):
    """How a problem is cut; static.

    Attributes:
        queries: of a block.
        rows: of a chunk.
        starts: first row of each padded level.
        chunks: chunks of each level.
        points: samples of a level for each query.
    """

    queries: int
    rows: int
    starts: tuple[int, ...]
    chunks: tuple[int, ...]
    points: int

    @property
    def length(self) -> int:
        """Rows of all padded levels."""
        return sum(self.chunks) * self.rows


def _distances(whole: Any, fraction: Any, queries: Any, tiles: Tiles, level: int, chunk: Any) -> list[jax.Array]:
    """Signed distance of every sample of a level to every row of a chunk: P arrays [queries, rows]."""
    shape = (tiles.queries, tiles.rows)
    row = (jax.lax.broadcasted_iota(jnp.int32, shape, 1) + chunk * tiles.rows).astype(jnp.float32)
    columns = [slice(k, k + 1) for k in range(level * tiles.points, (level + 1) * tiles.points)]
    return [(whole[0, queries, k] - row) + fraction[0, queries, k] for k in columns]


def _mixing(distances: list[jax.Array], weights: Any, queries: Any, tiles: Tiles, level: int) -> jax.Array:
    """A chunk of the mixing matrix, [queries, rows] float32."""
    matrix = jnp.zeros((tiles.queries, tiles.rows), jnp.float32)
    for point, distance in enumerate(distances):
        k = level * tiles.points + point
        matrix += weights[0, queries, k : k + 1] * jnp.maximum(1.0 - jnp.abs(distance), 0.0)
    return matrix


def _dot(a: jax.Array, b: jax.Array, axes: tuple[int, int]) -> jax.Array:
    """Product over one axis of each, summed in float32; float32 factors are not rounded."""
    precision = jax.lax.Precision.HIGHEST if a.dtype == jnp.float32 else jax.lax.Precision.DEFAULT
    dimensions = (((axes[0],), (axes[1],)), ((), ()))
    return jax.lax.dot_general(a, b, dimensions, precision=precision, preferred_element_type=jnp.float32)


def _chunk(tiles: Tiles, level: int, chunk: Any) -> Any:
    start = tiles.starts[level] + chunk * tiles.rows
    return pl.ds(start if isinstance(chunk, int) else pl.multiple_of(start, tiles.rows), tiles.rows)


def _over_chunks(count: int, body: Callable[[Any, Any], Any], carry: Any) -> Any:
    if count > UNROLLED:
        return jax.lax.fori_loop(0, count, body, carry)
    for chunk in range(count):
        carry = body(chunk, carry)
    return carry


ALL = slice(None)


def forward(whole: Any, fraction: Any, weights: Any, value: Any, out: Any, *, tiles: Tiles) -> None:
    """Blocks: whole, fraction, weights [1, queries, L P]; value [1, rows of all levels, C]; out [1, queries, C]."""
    total = jnp.zeros(out.shape[1:], jnp.float32)
    for level, chunks in enumerate(tiles.chunks):

        def add(chunk: Any, total: jax.Array, level: int = level) -> jax.Array:
            rows = value[0, _chunk(tiles, level, chunk), :]
            distances = _distances(whole, fraction, ALL, tiles, level, chunk)
            matrix = _mixing(distances, weights, ALL, tiles, level)
            return total + _dot(matrix.astype(rows.dtype), rows, (1, 0))

        total = _over_chunks(chunks, add, total)
    out[0] = total.astype(out.dtype)


def backward_queries(
    whole: Any, fraction: Any, weights: Any, value: Any, gradient: Any, d_fraction: Any, d_weights: Any, *, tiles: Tiles
) -> None:
    """Gradients of the positions and the weights; blocks as in `forward`, both results [1, queries, L P] float32."""
    asked = gradient[0]
    for level, chunks in enumerate(tiles.chunks):

        def add(chunk: Any, sums: tuple[jax.Array, ...], level: int = level) -> tuple[jax.Array, ...]:
            d_matrix = _dot(asked, value[0, _chunk(tiles, level, chunk), :], (1, 1))
            found = []
            for distance in _distances(whole, fraction, ALL, tiles, level, chunk):
                # The lower tap is at distance fraction, the upper one at fraction - 1, which is -1 right on a row.
                slope = jnp.where((distance >= -1.0) & (distance < 0.0), 1.0, 0.0)
                slope -= jnp.where((distance >= 0.0) & (distance < 1.0), 1.0, 0.0)
                hat = jnp.maximum(1.0 - jnp.abs(distance), 0.0)
                found.append(jnp.sum(d_matrix * slope, axis=1, keepdims=True))
                found.append(jnp.sum(d_matrix * hat, axis=1, keepdims=True))
            return tuple(a + b for a, b in zip(sums, found, strict=True))

        zero = jnp.zeros((tiles.queries, 1), jnp.float32)
        sums = _over_chunks(chunks, add, (zero,) * (2 * tiles.points))
        for point in range(tiles.points):
            k = slice(level * tiles.points + point, level * tiles.points + point + 1)
            d_fraction[0, :, k] = weights[0, :, k] * sums[2 * point]
            d_weights[0, :, k] = sums[2 * point + 1]


def backward_value_in_turn(
    whole: Any, fraction: Any, weights: Any, gradient: Any, d_value: Any, *, tiles: Tiles
) -> None:
    """Gradient of the values where the blocks of queries of one head run in turn (TPU): d_value is added to."""

    @pl.when(pl.program_id(1) == 0)
    def _clear() -> None:
        d_value[...] = jnp.zeros_like(d_value)

    asked = gradient[0]
    for level, chunks in enumerate(tiles.chunks):

        def add(chunk: Any, carry: None, level: int = level) -> None:
            distances = _distances(whole, fraction, ALL, tiles, level, chunk)
            matrix = _mixing(distances, weights, ALL, tiles, level).astype(asked.dtype)
            d_value[0, _chunk(tiles, level, chunk), :] += _dot(matrix, asked, (0, 0))
            return carry

        _over_chunks(chunks, add, None)


def backward_value_at_once(
    whole: Any, fraction: Any, weights: Any, gradient: Any, d_value: Any, *, tiles: Tiles, level: int
) -> None:
    """Gradient of one chunk of a level's values where all programs run at once (GPU): each goes through all queries.

    Blocks: whole, fraction, weights [1, all queries, L P]; gradient [1, all queries, C]; d_value [1, rows, C].
    """
    chunk = pl.program_id(1)

    def add(block: Any, total: jax.Array) -> jax.Array:
        queries = pl.ds(block * tiles.queries, tiles.queries)
        distances = _distances(whole, fraction, queries, tiles, level, chunk)
        asked = gradient[0, queries, :]
        matrix = _mixing(distances, weights, queries, tiles, level).astype(asked.dtype)
        return total + _dot(matrix, asked, (0, 0))

    blocks = whole.shape[1] // tiles.queries
    d_value[0] = jax.lax.fori_loop(0, blocks, add, jnp.zeros(d_value.shape[1:], jnp.float32))
