"""Compiles the kernels ahead of time for a machine that is not here, and prints one JSON object a program.

    python -m tests.ops.aot_compile tpu v5e:2x2 [SHAPE ...]
    python -m tests.ops.aot_compile gpu H100 [SHAPE ...]

A process of its own, because the compilers read their environment when they start. Nothing is executed. TPU needs
libtpu; GPU needs jax-cuda13-plugin, jax-cuda13-pjrt and a CUDA toolkit (ptxas, libdevice) named by CUDA_HOME. Prints a
line that begins with "absent:" where they are not there.
"""

import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

H100 = """
gpu_device_info {
  threads_per_block_limit: 1024 threads_per_warp: 32 shared_memory_per_block: 49152 shared_memory_per_core: 233472
  threads_per_core_limit: 2048 core_count: 132 fpus_per_core: 128 block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535 block_dim_limit_z: 65535 memory_bandwidth: 3352320000000 l2_cache_size: 52428800
  clock_rate_ghz: 1.98 device_memory_size: 84929347584 shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 } registers_per_core_limit: 65536 registers_per_block_limit: 65536
}
platform_name: "CUDA" dnn_version_info { major: 9 minor: 7 } runtime_version { major: 13 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""


def toolkit() -> str | None:
    """A folder with bin/ptxas and nvvm/libdevice: CUDA_HOME, or where the packages of NVIDIA put it."""
    places = [Path(os.environ["CUDA_HOME"])] if "CUDA_HOME" in os.environ else []
    found = importlib.util.find_spec("nvidia")
    places += [Path(folder) / "cu13" for folder in (found.submodule_search_locations or [] if found else [])]
    return next(
        (str(p) for p in places if (p / "bin" / "ptxas").exists() and (p / "nvvm" / "libdevice").is_dir()), None
    )


def tpu_devices(name: str):
    """The chips of a topology such as "v5e:2x2"."""
    if importlib.util.find_spec("libtpu") is None:
        return None
    os.environ["ALLOW_MULTIPLE_LIBTPU_LOAD"] = "1"  # no chip is used that another process could want
    os.environ["TPU_SKIP_MDS_QUERY"] = "1"
    os.environ["TPU_ACCELERATOR_TYPE"] = "v5litepod-4" if name.startswith("v5e") else f"{name.split(':')[0]}-4"
    os.environ["TPU_WORKER_HOSTNAMES"] = "localhost"
    from jax.experimental import topologies

    return topologies.get_topology_desc(platform="tpu", topology_name=name).devices


def gpu_devices():
    """An H100 by its description."""
    home = toolkit()
    if home is None or importlib.util.find_spec("jax_plugins.xla_cuda13") is None:
        return None
    flags = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = f"{flags} --xla_gpu_autotune_level=0 --xla_gpu_cuda_data_dir={home}"
    os.environ["JAX_SKIP_CUDA_CONSTRAINTS_CHECK"] = "1"
    os.environ["PATH"] = f"{home}/bin:{os.environ['PATH']}"
    from jax._src import xla_bridge
    from jax.experimental import topologies

    xla_bridge.discover_pjrt_plugins()
    usual = xla_bridge.canonicalize_platform
    # The device that was described is no backend of this process, which is all that the usual lookup knows.
    xla_bridge.canonicalize_platform = lambda name: "cuda" if name in ("gpu", "cuda") else usual(name)
    return topologies.get_topology_desc(
        platform="cuda", topology_name="1x1x1", topology="1x1x1", target_config=H100
    ).devices


def compiled(function, arguments, sharding, platform: str) -> dict[str, Any]:
    """What became of a program whose arguments lie as `sharding` says: seconds, and bytes or an error."""
    import jax
    from jax.sharding import NamedSharding

    from tests.ops import lowering

    placed = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding), arguments)
    begun = time.perf_counter()
    result: dict[str, Any] = {}
    mesh_set = isinstance(sharding, NamedSharding)
    try:
        with jax.set_mesh(sharding.mesh) if mesh_set else lowering.described_gpu(platform):
            program = jax.jit(function).lower(*placed).compile()
    except Exception as error:
        result["error"] = f"{type(error).__name__}: {str(error)[:400]}"
    else:
        result["temp_bytes"] = program.memory_analysis().temp_size_in_bytes
        moved = [name for name in ("all-gather", "all-reduce", "all-to-all") if name in program.as_text()]
        if moved:
            result["error"] = f"devices exchange data: {moved}"
    return result | {"seconds": round(time.perf_counter() - begun, 1)}


def main(platform: str, name: str, shapes: list[str]) -> None:
    os.environ["JAX_PLATFORMS"] = "cpu"
    devices = tpu_devices(name) if platform == "tpu" else gpu_devices()
    if devices is None:
        print("absent: libtpu" if platform == "tpu" else "absent: jax-cuda13-plugin, or CUDA_HOME with ptxas")
        return
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

    from lvc_jax.ops.deformable_attention import SHAPES
    from tests.ops import lowering

    layouts = {1: SingleDeviceSharding(devices[0])}
    if len(devices) > 1:
        layouts[len(devices)] = NamedSharding(Mesh(np.asarray(devices), ("data",)), PartitionSpec("data"))
    for shape in shapes or list(SHAPES):
        for count, sharding in layouts.items():
            if count > 1 and shape != "encoder":
                continue
            for dtype in ("float32", "bfloat16"):
                for backward in (False, True):
                    function, arguments = lowering.call(shape, dtype, platform, backward)
                    told = {"shape": shape, "dtype": dtype, "backward": backward, "devices": count}
                    print(json.dumps(told | compiled(function, arguments, sharding, platform)), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
