"""The Live Score while a stream runs: a state that fits on a device, updated slot by slot.

    state = init(reading)
    state = update(state, gamma, false_positives)      # after every slot
    result(state)                                      # {"LS": [s], "wLS": ..., "hLS": ..., "whLS": ...} now

All functions are pure and take part in `jit`, `vmap` (over streams) and `scan`. `totals` turns the states of finished
videos into sums that hosts add up: `merge`, or `jax.lax.psum` of the whole `Totals`.
"""

import contextlib
from collections.abc import Iterator
from typing import NamedTuple

import flax.struct
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lvc_jax.metrics.live_score.curves import VARIANTS
from lvc_jax.metrics.live_score.reading import Reading


class State(flax.struct.PyTreeNode):
    """One stream, `s` scorers.

    Attributes:
        reading: static.
        slots: scored slots so far.
        values: the newest published values, in the order of `VARIANTS`.
        sums: sums of all published values.
        gammas: sum of γ; of `paper` only.
        recent: what the windowed forms sum, oldest first: γ (`paper`, r = 1) or published hLS and whLS (`reference`,
            r = 2) of the last w slots.
        wrong: sum of false positives (`paper`), or slots that have any (`reference`).
        recent_wrong: false positives of the last w slots; of `paper` only.
        counter: of whLS in `reference`.
    """

    reading: Reading = flax.struct.field(pytree_node=False)
    slots: Int[Array, ""]
    values: Float[Array, "4 s"]
    sums: Float[Array, "4 s"]
    gammas: Float[Array, " s"]
    recent: Float[Array, "w r s"]
    wrong: Float[Array, ""]
    recent_wrong: Float[Array, " w"]
    counter: Float[Array, ""]


@contextlib.contextmanager
def float64_on_cpu() -> Iterator[None]:
    """Within it arrays are made in float64 on the CPU, whatever the program's default precision and device are."""
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield


def init(reading: Reading, dtype: jnp.dtype | None = None) -> State:
    """The state before the first slot.

    Args:
        reading: mode, history, window and scorers count; clock, silence and misses are decided by what is passed to
            `update`.
        dtype: of the sums; the default float type if None.
    """
    dtype = jnp.zeros(()).dtype if dtype is None else dtype
    scorers = len(reading.names)
    rows = 1 if reading.mode == "paper" else 2
    nothing = jnp.zeros((), dtype)
    return State(
        reading=reading,
        slots=jnp.zeros((), jnp.int32),
        values=jnp.zeros((len(VARIANTS), scorers), dtype),
        sums=jnp.zeros((len(VARIANTS), scorers), dtype),
        gammas=jnp.zeros(scorers, dtype),
        recent=jnp.zeros((reading.window, rows, scorers), dtype),
        wrong=nothing,
        recent_wrong=jnp.zeros(reading.window, dtype),
        counter=nothing,
    )


def update(
    state: State, gamma: Float[Array, " s"], false_positives: Float[Array, ""], scored: Bool[Array, ""] | bool = True
) -> State:
    """The state after one more slot.

    Args:
        state: of the stream.
        gamma: the slot's score, by scorer; 0 for a false or missed caption.
        false_positives: captions in the slot that describe no event.
        scored: False leaves the slot out (for example a silent one), so that streams of different length can be
            updated together.
    """
    gamma = jnp.asarray(gamma, state.sums.dtype)
    wrong = jnp.asarray(false_positives, state.sums.dtype)
    after = (_paper if state.reading.mode == "paper" else _reference)(state, gamma, wrong)
    return jax.tree.map(lambda new, old: jnp.where(scored, new, old), after, state)


def _push(queue: Float[Array, "w ..."], newest: Float[Array, " ..."]) -> Float[Array, "w ..."]:
    return jnp.concatenate([queue[1:], newest[None]])


def _paper(state: State, gamma: Float[Array, " s"], wrong: Float[Array, ""]) -> State:
    slots = state.slots + 1
    number = slots.astype(gamma.dtype)
    width = jnp.minimum(number, state.reading.window) if state.reading.history == "min(K,w)" else number
    gammas, all_wrong = state.gammas + gamma, state.wrong + wrong
    recent, recent_wrong = _push(state.recent, gamma[None]), _push(state.recent_wrong, wrong)
    whole, part = gammas / number, recent.sum(axis=(0, 1)) / width
    damping, part_damping = jnp.exp(-all_wrong / number), jnp.exp(-recent_wrong.sum() / width)
    values = jnp.stack([whole, whole * damping, part, part * part_damping])
    return state.replace(
        slots=slots,
        values=values,
        sums=state.sums + values,
        gammas=gammas,
        recent=recent,
        wrong=all_wrong,
        recent_wrong=recent_wrong,
    )


def _reference(state: State, gamma: Float[Array, " s"], wrong: Float[Array, ""]) -> State:
    window = state.reading.window
    slots = state.slots + 1
    number = slots.astype(gamma.dtype)
    width = jnp.minimum(number, window)
    now = (wrong > 0).astype(gamma.dtype)
    ever, counter = state.wrong + now, state.counter + now
    counter = jnp.where(counter > window - 1, window - 1 + now, counter)
    # With w = 1 "the last 0 values" are all of them, see `curves.recursion`.
    past = state.sums[2:] if window == 1 else state.recent[1:].sum(axis=0)
    whole, part = (state.sums[:2] + gamma) / number, (past + gamma) / width
    damping = jnp.stack([jnp.ones_like(now), jnp.exp(-ever / number)])
    part_damping = jnp.stack([jnp.ones_like(now), jnp.exp(-counter / width)])
    values = jnp.concatenate([whole * damping[:, None], part * part_damping[:, None]])
    return state.replace(
        slots=slots,
        values=values,
        sums=state.sums + values,
        recent=_push(state.recent, values[2:]),
        wrong=ever,
        counter=counter,
    )


def result(state: State) -> dict[str, Float[Array, " s"]]:
    """{variant: the newest value of each scorer}; 0 before the first slot."""
    return {variant: state.values[..., index, :] for index, variant in enumerate(VARIANTS)}


def run(
    state: State,
    gamma: Float[Array, "k s"],
    false_positives: Float[Array, " k"],
    scored: Bool[Array, " k"] | None = None,
) -> tuple[State, dict[str, Float[Array, "k s"]]]:
    """`update` over k slots: the state after them and the four curves; a slot that is left out repeats its forerunner.

    Args:
        state: before the slots.
        gamma: scores of the slots.
        false_positives: captions of each slot that describe no event.
        scored: which slots count; all if None.
    """
    scored = jnp.ones(len(gamma), bool) if scored is None else scored

    def _step(state: State, slot: tuple[Array, Array, Array]) -> tuple[State, dict[str, Array]]:
        state = update(state, *slot)
        return state, result(state)

    return jax.lax.scan(_step, state, (jnp.asarray(gamma), jnp.asarray(false_positives), scored))


class Totals(NamedTuple):
    """Sums over videos; adding those of two hosts gives those of both.

    Attributes:
        means: sum over videos of the mean of the curve over the slots.
        videos: videos with a scored slot.
    """

    means: Float[Array, "4 s"]
    videos: Float[Array, ""]


def totals(states: State) -> Totals:
    """Sums over finished videos.

    Args:
        states: of one video, or of many with leading axes.
    """
    means = states.sums / jnp.maximum(states.slots, 1)[..., None, None]
    leading = tuple(range(states.slots.ndim))
    return Totals(means.sum(axis=leading), (states.slots > 0).sum(axis=leading).astype(means.dtype))


def merge(first: Totals, *others: Totals) -> Totals:
    """The totals of all videos of several hosts or batches."""
    return jax.tree.map(lambda *parts: sum(parts[1:], start=parts[0]), first, *others)


def summary(sums: Totals, reading: Reading) -> dict[str, Float[Array, ""]]:
    """{"LS/BLEU-1": fraction, ...} as `score.summary`; 0 where no video has a scored slot."""
    means = sums.means / jnp.maximum(sums.videos, 1)
    return {
        f"{variant}/{scorer}": means[row, column]
        for row, variant in enumerate(VARIANTS)
        for column, scorer in enumerate(reading.names)
    }
