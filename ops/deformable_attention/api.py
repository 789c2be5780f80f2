"""The public functions, and the choice of an implementation.

`implementation="auto"` takes, while tracing, the first one that does not refuse the problem, in this order:

    CPU     tapwise
    TPU     pallas_tpu, dense, tapwise
    GPU     pallas_gpu, dense, tapwise
    other   dense, tapwise

`reference` is the definition and is never chosen by itself. The platform is that of jax's default device; a program
that is traced on one machine and lowered for another says `platform`. `why_refused` tells each one's reason.
"""

import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from . import dense, reference, tapwise
from .taps import Rows, row_positions

Attend = Callable[[Array, Rows, Array, tuple[int, ...]], Array]
DENSE_LIMIT_BYTES = 2**28
CHANNEL_LIMIT = 2048  # of a head: the TPU kernel has all of them on the chip
PADDINGS = ("zeros", "border")


@dataclasses.dataclass(frozen=True)
class Problem:
    """What decides which implementation can run.

    Attributes:
        batch, heads, queries, channels: sizes; channels of one head.
        level_lengths: rows of each level.
        dtype: name of the values' type.
        platform: "cpu", "tpu", "gpu" or another.
        devices: how many the program may be split over without the kernels' knowing.
    """

    batch: int
    heads: int
    queries: int
    channels: int
    level_lengths: tuple[int, ...]
    dtype: str = "float32"
    platform: str = "cpu"
    devices: int = 1


@dataclasses.dataclass(frozen=True)
class Implementation:
    """One way of computing the attention; `refuse` returns a reason or None."""

    attend: Attend
    refuse: Callable[[Problem], str | None]


def _refuse_dense(problem: Problem) -> str | None:
    size = 4 * problem.batch * problem.heads * problem.queries * sum(problem.level_lengths)
    if size > DENSE_LIMIT_BYTES:
        return f"its mixing matrix would take {size / 2**20:.0f} MiB (limit {DENSE_LIMIT_BYTES / 2**20:.0f})"
    return None


def _refuse_kernel(target: str, problem: Problem) -> str | None:
    if problem.platform != target:
        return f"it is for {target.upper()}, the platform is {problem.platform}"
    if problem.dtype not in ("float32", "bfloat16"):
        return f"it takes float32 or bfloat16, not {problem.dtype}"
    if target == "gpu" and importlib.util.find_spec("jax.experimental.pallas.triton") is None:
        return "this version of jax has no Triton route"
    if target == "tpu" and problem.devices > 1:
        return (
            f"the program may be split over {problem.devices} devices: set the mesh (jax.set_mesh), or name the kernel"
        )
    if target == "tpu" and problem.channels > CHANNEL_LIMIT:
        return f"{problem.channels} channels of a head do not fit on the chip (limit {CHANNEL_LIMIT})"
    return None


def _kernel(module: str, **options: bool) -> Attend:
    """The `attend` of a module that is imported at its first use: no CPU needs Pallas and its compilers."""

    def attend(value: Array, rows: Rows, weights: Array, level_lengths: tuple[int, ...]) -> Array:
        found = importlib.import_module(f"{__package__}.{module}")
        return found.attend(value, rows, weights, level_lengths, **options)

    return attend


IMPLEMENTATIONS: dict[str, Implementation] = {
    "reference": Implementation(reference.attend, lambda problem: None),
    "tapwise": Implementation(tapwise.attend, lambda problem: None),
    "dense": Implementation(dense.attend, _refuse_dense),
    "pallas_tpu": Implementation(_kernel("pallas_tpu"), functools.partial(_refuse_kernel, "tpu")),
    "pallas_gpu": Implementation(_kernel("pallas_gpu"), functools.partial(_refuse_kernel, "gpu")),
    "pallas_tpu_interpret": Implementation(_kernel("pallas_tpu", interpret=True), lambda problem: None),
    "pallas_gpu_interpret": Implementation(_kernel("pallas_gpu", interpret=True), lambda problem: None),
}
ORDER = {
    "cpu": ("tapwise",),
    "tpu": ("pallas_tpu", "dense", "tapwise"),
    "gpu": ("pallas_gpu", "dense", "tapwise"),
}
OTHERWISE = ("dense", "tapwise")


def why_refused(problem: Problem) -> dict[str, str | None]:
    """Each implementation in the order of `auto`, with its reason to refuse `problem` (None: it accepts)."""
    order = ORDER.get(problem.platform, OTHERWISE)
    return {name: IMPLEMENTATIONS[name].refuse(problem) for name in order}


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


def _devices(platform: str) -> int:
    """Over how many devices the program may be split with no mesh set that says so."""
    here = platform == jax.default_backend() and jax.sharding.get_abstract_mesh().empty
    return jax.device_count() if here else 1


def deformable_attention(
    value: Float[Array, "b s h c"],
    locations: Float[Array, "b q h l p"],
    weights: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
    *,
    padding: str = "zeros",
    implementation: str = "auto",
    platform: str | None = None,
) -> Float[Array, "b q h c"]:
    """Weighted sum of linearly interpolated samples of `value` (Deformable DETR, eq. 3, in one dimension).

    Args:
        value: the levels one after the other along `s` (sum of `level_lengths`).
        locations: sample positions as fractions of their level, 0 its start and 1 its end; any real number.
        weights: weight of each sample; not normalised here.
        level_lengths: rows of each level.
        padding: what lies outside a level: "zeros", or "border" (its first and last row go on for ever).
        implementation: "auto", or a name of `IMPLEMENTATIONS`.
        platform: what the program will run on, "cpu", "tpu" or "gpu" ("cuda", "rocm"); by default where jax runs now.

    Returns:
        One vector per query and head, in the dtype of `value`; sums are made in float32.

    Raises:
        ValueError: shapes do not fit, an unknown padding or implementation, or none that takes this problem; the
            reason of each is in the message.
    """
    batch, _, heads, channels = value.shape
    level_lengths = tuple(level_lengths)
    _check(value.shape, locations.shape, level_lengths, padding)
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise ValueError(f"deformable_attention: value is {value.dtype}: give floating-point values")
    if weights.shape != locations.shape:
        raise ValueError(f"deformable_attention: weights {weights.shape} and locations {locations.shape} must agree")
    where = platform or jax.default_backend()
    where = "gpu" if where in ("cuda", "rocm") else where
    # Who names a kernel knows whether the program is for one device.
    devices = _devices(where) if implementation == "auto" else 1
    problem = Problem(batch, heads, locations.shape[1], channels, level_lengths, str(value.dtype), where, devices)
    attend = _choose(implementation, problem)
    if 0 in value.shape or 0 in locations.shape:
        return jnp.zeros((batch, locations.shape[1], heads, channels), value.dtype)
    return attend(value, row_positions(locations, level_lengths, padding), weights, level_lengths)


def sample_values(
    value: Float[Array, "b s h c"],
    locations: Float[Array, "b q h l p"],
    level_lengths: tuple[int, ...],
    padding: str = "border",
    implementation: str = "auto",
    platform: str | None = None,
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
            platform=platform,
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
