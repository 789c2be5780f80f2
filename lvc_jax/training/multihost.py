"""One training in several processes: joining them, and what they must agree on."""

import os
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils

from lvc_jax.errors import InputError
from lvc_jax.training.reason import first_line

_ADDRESS_VARIABLE = "JAX_COORDINATOR_ADDRESS"  # read by jax where no address is given


def join(coordinator_address: str | None, num_processes: int | None, process_id: int | None) -> None:
    """Connects this process to the others of its run; must come before anything else asks jax for a device.

    Args:
        coordinator_address: "host:port" of process 0, reachable from all; None: as the launcher says (SLURM, Open MPI,
            Cloud TPU, Kubernetes and what else jax knows).
        num_processes: of the run; None: as the launcher says.
        process_id: of this process, from 0; None: as the launcher says.

    Raises:
        InputError: if neither the arguments nor a launcher say who belongs together, or the others do not come.
    """
    if coordinator_address is not None:
        _check_address("--coordinator_address", coordinator_address)
    elif _ADDRESS_VARIABLE in os.environ:
        _check_address(_ADDRESS_VARIABLE, os.environ[_ADDRESS_VARIABLE])
    try:
        jax.distributed.initialize(coordinator_address, num_processes, process_id)
    except (ValueError, RuntimeError) as error:
        reason = first_line(error).rstrip(".")
        raise InputError(
            f"--multihost: {reason}; start under a launcher that jax knows, or give every process "
            "--coordinator_address, --num_processes and its own --process_id"
        ) from None


def _check_address(name: str, address: str) -> None:
    host, _, port = address.rpartition(":")
    if not host or not (port.isascii() and port.isdecimal() and len(port) < 6 and 0 < int(port) < 65536):
        raise InputError(f"{name}={address}: needs a host and a port, as in 10.0.0.1:8476")


def local_copy(tree: Any) -> Any:
    """Replicated global arrays as arrays of this process's first device."""
    return jax.tree.map(lambda x: x.addressable_data(0), tree)


def of_first_process(values: Mapping[str, float]) -> dict[str, float]:
    """Numbers as process 0 has them, so that all processes decide alike; the names must be the same everywhere."""
    # In 64 bits they would be rounded on the way: jax has 32 unless told otherwise. Their bytes pass unchanged.
    sent = np.frombuffer(np.array(list(values.values()), np.float64).tobytes(), np.uint32)
    found = np.frombuffer(np.asarray(multihost_utils.broadcast_one_to_all(sent)).tobytes(), np.float64)
    return dict(zip(values, found.tolist(), strict=True))
