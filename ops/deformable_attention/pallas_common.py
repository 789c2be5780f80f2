"""What the Pallas kernels of all platforms share: samples as two weighted rows each, and the product.

Of the hat function max(0, 1 - |whole + fraction - t|) only two rows t are not zero: 1 - fraction at `whole` and
fraction at `whole` + 1. With the weight of the sample folded in, and zero where a row is outside its level, no kernel
needs to know of padding or positions: it compares integers. The whole part never meets the fraction in one float32.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from .over_batch import Arrays, over_batch
from .taps import Rows


class Folded(NamedTuple):
    """Sample k of a query takes `lower_weight` of row `lower` and `upper_weight` of row `lower` + 1.

    Rows count through the concatenated levels. `lower` is in [-1, rows - 1]; a row that is not there has weight 0.
    """

    lower: Int[Array, "... k"]
    lower_weight: Float[Array, "... k"]  # float32, as the other one
    upper_weight: Float[Array, "... k"]


def fold(
    rows: Rows, weights: Float[Array, "... levels points"], level_lengths: tuple[int, ...], starts: tuple[int, ...]
) -> Folded:
    """Folds weights and level borders into two taps; `starts` is the first row of each level where it is to be found.

    The last two axes become one, level by level. Differentiable in `rows.fraction` and `weights`.
    """
    lengths = np.asarray(level_lengths, np.float32)[:, None]
    offsets = np.asarray(starts, np.int32)[:, None]
    weights = weights.astype(jnp.float32)
    below, above = rows.whole, rows.whole + 1
    # "Not outside" rather than "inside": a position that is not a number must not turn into a silent zero.
    lower_weight = jnp.where((below < 0) | (below >= lengths), 0.0, weights * (1 - rows.fraction))
    upper_weight = jnp.where((above < 0) | (above >= lengths), 0.0, weights * rows.fraction)
    lower = jnp.clip(below, -1, lengths - 1).astype(jnp.int32) + offsets

    def flat(part: Array) -> Array:
        return part.reshape(*part.shape[:-2], -1)

    return Folded(flat(lower), flat(lower_weight), flat(upper_weight))


def first_rows(level_lengths: tuple[int, ...]) -> tuple[int, ...]:
    """The first row of each level where they lie one after the other."""
    return tuple(int(row) for row in np.cumsum([0, *level_lengths[:-1]]))


def differentiable(
    run_forward: Callable[..., Arrays], run_backward: Callable[..., Arrays], *, ask: bool
) -> Callable[[Array, Folded, Any], Array]:
    """The function (value [n, s, c], taps, plan) -> [n, q, c] of two kernel calls, with its gradient.

    Args:
        run_forward: (plan, value, *taps) -> (out,).
        run_backward: (plan, value, *taps, gradient of out) -> gradients of value and of the two weights.
        ask: see `over_batch`.

    The plan is static: hashable, and everything that the kernels are built for.
    """

    @functools.lru_cache
    def mapped(run: Callable[..., Arrays], plan: Any) -> Callable[..., Arrays]:
        return over_batch(functools.partial(run, plan), ask=ask)

    @functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
    def mix(value: Array, taps: Folded, plan: Any) -> Array:
        return forward(value, taps, plan)[0]

    def forward(value: Array, taps: Folded, plan: Any) -> tuple[Array, tuple[Array, Folded]]:
        (out,) = mapped(run_forward, plan)(value, *taps)
        return out, (value, taps)

    def backward(plan: Any, residuals: tuple[Array, Folded], gradient: Array) -> tuple[Array, Folded]:
        value, taps = residuals
        d_value, d_lower, d_upper = mapped(run_backward, plan)(value, *taps, gradient.astype(value.dtype))
        no_gradient: Any = np.zeros(taps.lower.shape, jax.dtypes.float0)  # of row numbers
        return d_value, Folded(no_gradient, d_lower, d_upper)

    mix.defvjp(forward, backward)
    return mix


def dot(left: Float[Array, "..."], right: Float[Array, "..."], contract: tuple[int, int]) -> Float[Array, "m n"]:
    """A product of two matrices over axis contract[0] of `left` and contract[1] of `right`, with float32 sums.

    Float32 factors are multiplied as float32, whatever the default of the machine.
    """
    return jax.lax.dot_general(
        left,
        right,
        (((contract[0],), (contract[1],)), ((), ())),
        precision=jax.lax.Precision.HIGHEST if left.dtype == jnp.float32 else None,
        preferred_element_type=jnp.float32,
    )
