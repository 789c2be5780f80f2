"""How fast are the R(2+1)D networks, beside torch on the same cores in the same run?

    python -m benchmarks.backbones [--depths=18,34] [--batch=1] [--threads=1] [--rounds=7] [--dtype=float32]
        [--json=FILE]

The peer is torchvision's r2plus1d_18, and an R(2+1)D-34 built of torchvision's classes, with the same weights on the
same clips of 16 frames of 112 x 112. Both are called in turn, as often as `rounds` says; printed are medians, and the
ratio of the peer's time to ours. Features that do not agree are an error.
"""

import statistics
import time
from typing import Any

import jax
import numpy as np
from absl import flags
from rich.console import Console
from rich.table import Table

from benchmarks.common import machine, pin, write_json
from lvc_jax import cli
from lvc_jax.backbones.r2plus1d import BLOCKS, R2Plus1DConfig, block_shapes
from lvc_jax.backbones.r2plus1d_names import from_state_dict, names
from lvc_jax.backbones.tsp import clip_features
from lvc_jax.errors import InputError

FLAGS = flags.FlagValues()
DEPTHS = flags.DEFINE_list("depths", ["18", "34"], "Depths of the networks.", flag_values=FLAGS)
BATCH = flags.DEFINE_integer("batch", 1, "Clips in a call.", lower_bound=1, flag_values=FLAGS)
THREADS = flags.DEFINE_integer("threads", 1, "Cores, and threads of both.", lower_bound=1, flag_values=FLAGS)
ROUNDS = flags.DEFINE_integer("rounds", 7, "Calls of each.", lower_bound=1, flag_values=FLAGS)
DTYPE = flags.DEFINE_enum("dtype", "float32", ["float32", "bfloat16"], "Of both.", flag_values=FLAGS)
JSON = flags.DEFINE_string("json", None, "Also write the ratios to this file.", flag_values=FLAGS)

_EPS = {18: 1e-5, 34: 1e-3}
_AGREE = {"float32": 1e-4, "bfloat16": 0.1}  # relative to the largest feature


def torch_network(depth: int) -> Any:
    """The network of that depth, made of torchvision's classes, in evaluation, without its classifier."""
    import torch
    from torchvision.models.video import resnet

    net = resnet.VideoResNet(
        resnet.BasicBlock, [resnet.Conv2Plus1D] * 4, list(BLOCKS[depth]), resnet.R2Plus1dStem, num_classes=1
    )
    for shape in block_shapes(R2Plus1DConfig(depth)):
        # In TSP's network of 34 layers the second convolution has its own middle width.
        conv = resnet.Conv2Plus1D(shape.outputs, shape.outputs, shape.middles[1])
        getattr(net, f"layer{shape.stage}")[shape.index].conv2[0] = conv
    for module in net.modules():
        if isinstance(module, torch.nn.BatchNorm3d):
            module.eps = _EPS[depth]
    net.fc = torch.nn.Identity()
    return net.eval()


def weights(config: R2Plus1DConfig) -> dict[str, np.ndarray]:
    """A state dict whose kernels keep the size of what goes through them; other entries near their neutral values."""
    random, state = np.random.default_rng(config.depth), {}
    for name, shape in names(config).items():
        value = random.standard_normal(shape).astype(np.float32)
        if len(shape) == 5:
            value *= np.prod(shape[1:]) ** -0.5
        elif name.endswith(("weight", "running_var")):
            value = np.exp(0.1 * value)
        else:
            value *= 0.1
        state[name] = value
    return state


def measure(depth: int) -> tuple[float, float, float]:
    """Median seconds a call, ours and the peer's, and how far their features are apart (of the largest).

    Raises:
        InputError: torch is missing, or the features do not agree.
    """
    try:
        import torch
    except ImportError:
        raise InputError("torch: not installed; this benchmark needs torch and torchvision") from None
    torch.set_num_threads(THREADS.value)
    state, net = weights(R2Plus1DConfig(depth)), torch_network(depth)
    net.load_state_dict({name: torch.from_numpy(value) for name, value in state.items()}, strict=False)
    config = R2Plus1DConfig(depth, _EPS[depth], DTYPE.value)
    variables = jax.device_put(from_state_dict(state, config))
    clips = np.random.default_rng(0).standard_normal((BATCH.value, 16, 112, 112, 3)).astype(np.float32)
    kind = getattr(torch, DTYPE.value)
    net, pictures = net.to(kind), torch.from_numpy(clips).permute(0, 4, 1, 2, 3).contiguous().to(kind)

    def ours() -> np.ndarray:
        return np.asarray(clip_features(config, variables, clips))

    def theirs() -> np.ndarray:
        with torch.inference_mode():
            return net(pictures).float().numpy()

    works = (ours, theirs)
    features = [work() for work in works]
    apart = float(np.abs(features[0] - features[1]).max() / np.abs(features[1]).max())
    if not apart < _AGREE[DTYPE.value]:
        raise InputError(f"R(2+1)D-{depth}: the features are {apart:.1e} of the largest apart; find out why first")
    times: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(ROUNDS.value):
        for index, work in enumerate(works):
            begun = time.perf_counter()
            work()
            times[index].append(time.perf_counter() - begun)
    return statistics.median(times[0]), statistics.median(times[1]), apart


def main() -> None:
    """Runs the benchmark."""
    if set(DEPTHS.value) - set(map(str, BLOCKS)):
        raise InputError(f"--depths={','.join(DEPTHS.value)}: choose of {', '.join(map(str, BLOCKS))}")
    pin(THREADS.value)
    table = Table(
        "network", "clips", "ours [s]", "torch [s]", "torch / ours", "clips/s", "features apart", title=machine()
    )
    ratios = {}
    for depth in map(int, DEPTHS.value):
        ours, theirs, apart = measure(depth)
        ratios[f"r2plus1d_{depth}/torch"] = theirs / ours
        row = (f"{ours:.3f}", f"{theirs:.3f}", f"{theirs / ours:.2f}", f"{BATCH.value / ours:.2f}", f"{apart:.0e}")
        table.add_row(f"R(2+1)D-{depth}", str(BATCH.value), *row)
    Console(width=120).print(table)
    write_json(JSON.value, ratios)


if __name__ == "__main__":
    cli.run(main, FLAGS)
