"""What training carries from step to step, and where it lies on the devices."""

from typing import Any

import flax.struct
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from lvc_jax.errors import InputError


@flax.struct.dataclass
class TrainState:
    """`step` counts the batches learnt from; all else that a step needs is a function of it and the seed."""

    step: jax.Array
    params: Any
    opt_state: Any


def create(params: Any, tx: optax.GradientTransformation) -> TrainState:
    """The state before the first step."""
    return TrainState(step=jnp.int32(0), params=params, opt_state=tx.init(params))


def make_mesh(devices: list[jax.Device] | None = None) -> Mesh:
    """One axis, "data", over all devices of all processes (or those given)."""
    devices = jax.devices() if devices is None else devices
    return Mesh(np.array(devices), ("data",), axis_types=(AxisType.Auto,))


def replicated(mesh: Mesh) -> NamedSharding:
    """Every device holds all of it: parameters, optimiser state, scalars."""
    return NamedSharding(mesh, P())


def by_sample(mesh: Mesh) -> NamedSharding:
    """Axis 0 is split over the devices: batches."""
    return NamedSharding(mesh, P("data"))


def place_batch(batch: Any, mesh: Mesh) -> Any:
    """Host arrays, this process's share of the batch, to global device arrays split over axis 0."""
    sharding = by_sample(mesh)
    return jax.tree.map(lambda x: jax.make_array_from_process_local_data(sharding, np.asarray(x)), batch)


def check_batch_size(batch_size: int, mesh: Mesh) -> None:
    """Raises `InputError` unless the global batch splits evenly over the devices."""
    if batch_size < 1 or batch_size % mesh.size:
        raise InputError(
            f"batch_size={batch_size}: must be a positive multiple of the {mesh.size} devices in use; "
            f"try --config.batch_size={max(1, round(batch_size / mesh.size)) * mesh.size}"
        )
