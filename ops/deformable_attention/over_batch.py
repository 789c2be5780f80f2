"""Lets a kernel run under `jax.vmap` and on many devices.

XLA cannot look into a kernel. Of data that is split over devices it would gather all of it on every one (GPU), or
refuse the program (TPU). Here it is told that samples of a batch are independent: each device runs the kernel on its
own ones. Where a mesh is set (`jax.set_mesh`) the batch is split over all of its automatic axes. Where none is, the
partitioner is asked how the data lies; a TPU's compiler has no such question (jax issue 38196), so there a program for
several devices needs the mesh. A mapped axis becomes part of the batch.
"""

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

Arrays = tuple[jax.Array, ...]


def over_batch(function: Callable[..., Arrays], *, ask: bool) -> Callable[..., Arrays]:
    """`function`, which takes and returns arrays with the batch as first axis, for any mapping and any devices.

    All other axes are whole on every device. Not differentiable: meant for the two halves of a custom gradient.

    Args:
        function: the work on one device.
        ask: whether the partitioner of the platform can be asked.
    """
    asked: Callable[..., Arrays] = _asked(function) if ask else function

    def split(*arguments: jax.Array) -> Arrays:
        mesh = jax.sharding.get_abstract_mesh()
        axes = automatic_axes()
        if not axes:
            # Inside a shard_map, say, the arguments are one device's own already.
            return asked(*arguments) if mesh.empty else function(*arguments)
        devices = math.prod(mesh.shape[axis] for axis in axes)
        spec = P(axes) if arguments[0].shape[0] % devices == 0 else P()
        return jax.shard_map(function, in_specs=spec, out_specs=spec, axis_names=set(axes), check_vma=False)(*arguments)

    mapped = custom_vmap(split)

    @mapped.def_vmap
    def merge(size: int, batched: list[bool], *arguments: jax.Array) -> tuple[Arrays, tuple[bool, ...]]:
        whole = [
            argument if is_batched else jnp.broadcast_to(argument, (size, *argument.shape))
            for argument, is_batched in zip(arguments, batched, strict=True)
        ]
        results = mapped(*(argument.reshape(-1, *argument.shape[2:]) for argument in whole))
        results = tuple(result.reshape(size, -1, *result.shape[1:]) for result in results)
        return results, (True,) * len(results)

    return mapped


def automatic_axes() -> tuple[str, ...]:
    """Axes of the mesh that is set over which XLA would split a program by itself; none where no mesh is set."""
    mesh = jax.sharding.get_abstract_mesh()
    return tuple(name for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True) if kind == AxisType.Auto)


def _asked(function: Callable[..., Arrays]) -> Callable[..., Arrays]:
    split = custom_partitioning(function)
    split.def_partition(
        partition=lambda mesh, arguments, results: _partition(function, mesh, arguments, results),
        infer_sharding_from_operands=lambda mesh, arguments, results: jax.tree.map(
            lambda _: _batch_sharding(mesh, arguments), results
        ),
        sharding_rule=_rule,
    )
    return split


def _batch_sharding(mesh: Any, arguments: Any) -> NamedSharding:
    """The first axis as the first argument has it that is split there, the rest whole."""
    specs = [argument.sharding.spec for argument in arguments]
    return NamedSharding(mesh, P(next((spec[0] for spec in specs if spec and spec[0] is not None), None)))


def _partition(function: Callable[..., Arrays], mesh: Any, arguments: Any, results: Any) -> tuple[Any, ...]:
    sharding = _batch_sharding(mesh, arguments)
    return mesh, function, jax.tree.map(lambda _: sharding, results), jax.tree.map(lambda _: sharding, arguments)


def _rule(mesh: Any, arguments: Any, results: Any) -> tuple[str, dict[str, tuple[str, ...]]]:
    """All arrays share the factor of their first axis; every other axis is its own and is not split."""
    own: list[str] = []

    def name(array: Any) -> str:
        axes = [f"x{len(own) + axis}" for axis in range(len(array.shape) - 1)]
        own.extend(axes)
        return " ".join(["batch", *axes])

    sides = [", ".join(name(array) for array in side) for side in (arguments, results)]
    return " -> ".join(sides), {"need_replication_factors": tuple(own)}
