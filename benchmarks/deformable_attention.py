"""How fast is the deformable attention, beside PyTorch's, in one run on the same cores?

    python -m benchmarks.deformable_attention --threads=1 [--shapes=encoder,decoder] [--rounds=15] [--json=FILE]

Peers, where they are installed: `torch_grid_sample` (torch: one grid_sample a level) and `torch_ms_deform_attn` (the
package of that name, with its C++ operator). All take the same arrays in the same layout; results are compared before
anything is timed. Every round times each contestant in turn; medians of wall-clock time and their ratios (a peer's
time over ours) are printed. A ratio above 1 means that ours is faster.
"""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from absl import flags
from rich.console import Console
from rich.table import Table

from benchmarks import common
from benchmarks.attention_peers import Problem, Work, draw, torch_works
from lvc_jax import cli
from lvc_jax.errors import InputError
from lvc_jax.ops.deformable_attention import deformable_attention

LEVELS, HEADS, CHANNELS, POINTS, BATCH = (100, 50, 25, 13), 8, 64, 4, 16
CALLS = 3  # timed, of a turn
QUERIES = {"encoder": sum(LEVELS), "decoder": 10}

FLAGS = flags.FlagValues()
THREADS = flags.DEFINE_integer("threads", 1, "Cores and threads for everybody.", lower_bound=1, flag_values=FLAGS)
SHAPES = flags.DEFINE_list("shapes", list(QUERIES), f"Out of {', '.join(QUERIES)}.", flag_values=FLAGS)
ROUNDS = flags.DEFINE_integer("rounds", 15, f"Timed rounds of {CALLS} calls each.", lower_bound=1, flag_values=FLAGS)
BATCH_SIZE = flags.DEFINE_integer("batch", BATCH, "Batch size.", lower_bound=1, flag_values=FLAGS)
IMPLEMENTATION = flags.DEFINE_string("implementation", "auto", "Of ours; see ops.", flag_values=FLAGS)
PEERS = flags.DEFINE_bool("peers", True, "Also time PyTorch.", flag_values=FLAGS)
JSON = flags.DEFINE_string("json", None, "Also write ratios and milliseconds to this file.", flag_values=FLAGS)

TOLERANCE = {"forward": 1e-4, "forward_backward": 5e-3}  # gradients of locations are multiplied by the level's length


def our_works(problem: Problem, implementation: str) -> dict[str, Work]:
    """Ours, with the arrays on the device already."""
    value, locations, weights, gradient = map(jnp.asarray, problem[:4])
    attend = functools.partial(deformable_attention, level_lengths=problem.level_lengths, implementation=implementation)

    @jax.jit
    def forward(value: jax.Array, locations: jax.Array, weights: jax.Array) -> list[jax.Array]:
        return [attend(value, locations, weights)]

    @jax.jit
    def forward_backward(*arrays: jax.Array) -> list[jax.Array]:
        out, pull = jax.vjp(attend, *arrays[:3])
        return [out, *pull(arrays[3])]

    return {
        "forward": lambda: jax.block_until_ready(forward(value, locations, weights)),
        "forward_backward": lambda: jax.block_until_ready(forward_backward(value, locations, weights, gradient)),
    }


def medians(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each, timed in turn so that a change of the machine's speed meets all of them.

    A turn is one call that is not timed, after which the arrays lie in the cache as they do in a loop, and CALLS timed.
    """
    times = np.array([[common.seconds(work, CALLS, 1) for work in works.values()] for _ in range(rounds)])
    return dict(zip(works, 1e3 * np.median(times, axis=(0, 2))))


def check(works: dict[str, Work], what: str) -> None:
    """All results are the same numbers; also the warm-up.

    Raises:
        RuntimeError: they are not.
    """
    results = {name: [np.asarray(x) for x in work()] for name, work in works.items()}
    for work in works.values():
        work()
    ours, *peers = results.items()
    for name, arrays in peers:
        for mine, other in zip(ours[1], arrays):
            worst = float(np.abs(mine - other.reshape(mine.shape)).max())
            if worst > TOLERANCE[what]:
                raise RuntimeError(f"{name}: differs from ours by {worst:.2g} in {what}: nothing to compare")


def main() -> None:
    unknown = sorted(set(SHAPES.value) - set(QUERIES))
    if unknown:
        raise InputError(f"--shapes={unknown[0]}: choose out of {', '.join(QUERIES)}")
    common.pin(THREADS.value)
    table = Table("shape", "work", "by", "median (ms)", "peer / ours")
    figures: dict[str, float] = {}
    for shape in SHAPES.value:
        problem = draw(BATCH_SIZE.value, QUERIES[shape], HEADS, CHANNELS, LEVELS, POINTS)
        contestants = {"ours": our_works(problem, IMPLEMENTATION.value)}
        if PEERS.value:
            contestants |= torch_works(problem, THREADS.value)
        for what in TOLERANCE:
            works = {name: own[what] for name, own in contestants.items()}
            check(works, what)
            found = medians(works, ROUNDS.value)
            mine = found["ours"]
            for name, milliseconds in found.items():
                figures[f"{shape}/{what}/{name}_ms"] = milliseconds
                if name == "ours":
                    table.add_row(shape, what, name, f"{milliseconds:.2f}", "")
                else:
                    figures[f"{shape}/{what}/{name}"] = milliseconds / mine
                    table.add_row(shape, what, name, f"{milliseconds:.2f}", f"{milliseconds / mine:.2f}")
    console = Console()
    console.print(f"{common.machine()}; batch {BATCH_SIZE.value}, float32, median of {CALLS * ROUNDS.value} calls")
    console.print(table)
    common.write_json(JSON.value, figures)


if __name__ == "__main__":
    cli.run(main, FLAGS)
