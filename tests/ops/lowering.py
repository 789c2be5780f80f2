"""A call of the kernels on named shapes, and what lowering for a machine that is not here takes."""

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from lvc_jax.ops.deformable_attention import SHAPES, deformable_attention

# From jax 0.12 on it says so at every lowering.
TRITON_IS_DEPRECATED = pytest.mark.filterwarnings("ignore:The Pallas Triton backend is deprecated:DeprecationWarning")
LOWERED_AS = {"tpu": "tpu", "gpu": "cuda"}


def call(shape: str, dtype: str, platform: str, backward: bool) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The attention of a named shape by the kernel of `platform`, with all its gradients or without, and arguments."""
    sizes = SHAPES[shape]
    attend = functools.partial(
        deformable_attention,
        level_lengths=sizes.level_lengths,
        padding=sizes.padding,
        implementation=f"pallas_{platform}",
        platform=platform,
    )

    def with_gradients(value: jax.Array, locations: jax.Array, weights: jax.Array, gradient: jax.Array) -> Any:
        out, pull = jax.vjp(attend, value, locations, weights)
        return out, pull(gradient)

    def array(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, dtype)

    samples = array(sizes.batch, sizes.queries, sizes.heads, len(sizes.level_lengths), sizes.points)
    value = array(sizes.batch, sizes.rows, sizes.heads, sizes.channels, dtype=jnp.dtype(dtype))
    gradient = array(sizes.batch, sizes.queries, sizes.heads, sizes.channels, dtype=jnp.dtype(dtype))
    return (with_gradients, (value, samples, samples, gradient)) if backward else (attend, (value, samples, samples))


def described_gpu(platform: str, devices: int = 1) -> contextlib.AbstractContextManager[Any]:
    """From jax 0.11 on, lowering for a GPU that is not here takes its description, as a mesh of axis "data"."""
    if platform != "gpu" or jax.__version_info__ < (0, 11):
        return contextlib.nullcontext()
    sharding: Any = jax.sharding
    device = sharding.AbstractDevice(device_kind="NVIDIA H100", num_cores=132, platform="gpu")
    kind = sharding.AxisType.Auto if devices > 1 else sharding.AxisType.Explicit
    mesh = sharding.AbstractMesh((devices,), ("data",), (kind,), abstract_device=device)
    return sharding.use_abstract_mesh(mesh)
