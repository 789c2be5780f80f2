"""The public functions, and the choice of an implementation.

`implementation="auto"` takes the first of a fixed order that does not refuse the problem: dense, then reference.
`why_refused` tells each one's reason.
"""

import dataclasses
from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from . import dense, reference
from .taps import Rows, row_positions

Attend = Callable[[Array, Rows, Array, tuple[int, ...]], Array]
DENSE_LIMIT_BYTES = 2**31
PADDINGS = ("zeros", "border")


@dataclasses.dataclass(frozen=True)
class Problem:
    """The sizes that decide which implementation can run."""

    batch: int
    heads: int
    queries: int
    rows: int


@dataclasses.dataclass(frozen=True)
class Implementation:
    """One way of computing the attention; `refuse` returns a reason or None."""

    attend: Attend
    refuse: Callable[[Problem], str | None]


def _refuse_dense(problem: Problem) -> str | None:
    size = 4 * problem.batch * problem.heads * problem.queries * problem.rows
    if size > DENSE_LIMIT_BYTES:
        return f"its mixing matrix would take {size / 2**30:.1f} GiB (limit {DENSE_LIMIT_BYTES / 2**30:.0f})"
    return None


IMPLEMENTATIONS: dict[str, Implementation] = {
    "dense": Implementation(dense.attend, _refuse_dense),
    "reference": Implementation(reference.attend, lambda problem: None),
}


def why_refused(problem: Problem) -> dict[str, str | None]:
    """Each implementation in the order of `auto`, with its reason to refuse `problem` (None: it accepts)."""
    return {name: implementation.refuse(problem) for name, implementation in IMPLEMENTATIONS.items()}


def _choose(name: str, problem: Problem) -> Attend:
    if name == "auto":
        reasons = why_refused(problem)
        accepted = [candidate for candidate, reason in reasons.items() if reason is None]
        if not accepted:
            raise ValueError("deformable_attention: no implementation accepts this problem: " + str(reasons))
        return IMPLEMENTATIONS[accepted[0]].attend
    if name not in IMPLEMENTATIONS:
        raise ValueError(
            f"deformable_attention: implementation={name!r}: choose auto or one of {list(IMPLEMENTATIONS)}"
        )
    reason = IMPLEMENTATIONS[name].refuse(problem)
    if reason is not None:
        raise ValueError(f"deformable_attention: {name} refuses: {reason}")
    return IMPLEMENTATIONS[name].attend


def deformable_attention(
    value: Float[Array, "b s h c"],
    locations: Float[Array, "b q h l p"],
    weights: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
    *,
    padding: str = "zeros",
    implementation: str = "auto",
) -> Float[Array, "b q h c"]:
    """Weighted sum of linearly interpolated samples of `value` (Deformable DETR, eq. 3, in one dimension).

    Args:
        value: the levels one after the other along `s` (sum of `level_lengths`).
        locations: sample positions as fractions of their level, 0 its start and 1 its end; any real number.
        weights: weight of each sample; not normalised here.
        level_lengths: rows of each level.
        padding: what lies outside a level: "zeros", or "border" (its first and last row go on for ever).
        implementation: "auto", "dense" or "reference".

    Returns:
        One vector per query and head, in the dtype of `value`; sums are made in float32.

    Raises:
        ValueError: shapes do not fit, or an unknown padding or implementation.
    """
    batch, rows, heads, _ = value.shape
    _check(value.shape, locations.shape, level_lengths, padding)
    if weights.shape != locations.shape:
        raise ValueError(f"deformable_attention: weights {weights.shape} and locations {locations.shape} must agree")
    attend = _choose(implementation, Problem(batch, heads, locations.shape[1], rows))
    positions = row_positions(locations, level_lengths, padding)
    out = attend(
        value.transpose(0, 2, 1, 3),
        Rows(*(part.transpose(0, 2, 1, 3, 4) for part in positions)),
        weights.transpose(0, 2, 1, 3, 4),
        level_lengths,
    )
    return out.transpose(0, 2, 1, 3)


def sample_values(
    value: Float[Array, "b s h c"],
    locations: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
    padding: str = "border",
    implementation: str = "auto",
) -> Float[Array, "b q h l p c"]:
    """The interpolated samples themselves, for attention that weighs them by their content.

    Arguments and errors are those of `deformable_attention`.
    """
    _check(value.shape, locations.shape, level_lengths, padding)
    batch, queries, heads, _, points = locations.shape
    start = 0
    samples = []
    for level, length in enumerate(level_lengths):
        # A sample is the attention of a query of its own, with one level, one point and weight 1.
        one_each = locations[:, :, :, level].transpose(0, 1, 3, 2).reshape(batch, queries * points, heads, 1, 1)
        picked = deformable_attention(
            value[:, start : start + length],
            one_each,
            jnp.ones_like(one_each),
            (length,),
            padding=padding,
            implementation=implementation,
        )
        samples.append(picked.reshape(batch, queries, points, heads, -1).transpose(0, 1, 3, 2, 4))
        start += length
    return jnp.stack(samples, axis=3)


def _check(value: tuple[int, ...], locations: tuple[int, ...], level_lengths: tuple[int, ...], padding: str) -> None:
    if padding not in PADDINGS:
        raise ValueError(f"deformable_attention: padding={padding!r}: choose one of {PADDINGS}")
    if value[1] != sum(level_lengths):
        raise ValueError(f"deformable_attention: value has {value[1]} rows, level_lengths {level_lengths} need another")
    fits = len(locations) == 5 and locations[0] == value[0] and locations[2:4] == (value[2], len(level_lengths))
    if not fits:
        raise ValueError(f"deformable_attention: locations {locations} do not fit value {value} and {level_lengths}")
