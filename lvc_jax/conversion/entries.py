"""A state dict held against what a network needs: every fault is named, all in one error."""

from collections import Counter
from collections.abc import Iterable, Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lvc_jax.conversion.torch_records import Tensor
from lvc_jax.conversion.weight_files import Entry, WeightFile
from lvc_jax.errors import InputError


def collect(
    file: WeightFile, expected: Mapping[str, tuple[int, ...]], duplicates: Mapping[str, str], what: str
) -> dict[str, Float[np.ndarray, "..."]]:
    """The entries of a network, float32, read and checked.

    Args:
        file: the state dict.
        expected: every entry and its shape, duplicates included; there must be no other.
        duplicates: copy -> original, which must hold the same numbers; copies are not returned.
        what: the network, for messages.

    Raises:
        InputError: one line that lists all entries that are missing, unexpected, of another shape or no floating
            point; or else all duplicates that disagree; or else all entries that are not finite.
    """
    found = file.entries
    common = [name for name in expected if name in found]
    if not common:
        first = ", ".join(list(found)[:3])
        raise InputError(f"{file.path}: holds no entry of {what} (its entries: {first}, ...); check --format")
    shape = {name: f"{name} {list(found[name].shape)} for {list(expected[name])}" for name in common}
    _raise(
        f"{file.path}: not {what}",
        {
            "missing": [name for name in expected if name not in found],
            "unexpected": [name for name in found if name not in expected],
            "wrongly shaped": [shape[name] for name in common if tuple(found[name].shape) != tuple(expected[name])],
            "not floating point": [name for name in common if not jnp.issubdtype(found[name].dtype, jnp.floating)],
        },
        "give a whole checkpoint of one model",
    )
    state = {name: found[name].array() for name in expected if name not in duplicates}
    differ = [f"{copy} from {name}" for copy, name in duplicates.items() if not _same(found, state, copy, name)]
    _raise(f"{file.path}: duplicates disagree", {"differing": differ}, "only parts shared by all layers are known")
    state = {name: array.astype(np.float32) for name, array in state.items()}
    infinite = [name for name, array in state.items() if not np.isfinite(array).all()]
    _raise(f"{file.path}: numbers that are not finite", {"in": infinite}, "give a checkpoint that did not diverge")
    return state


def vote(candidates: Iterable[int], otherwise: int) -> int:
    """The number that most entries speak for, so that one wrong shape does not hide behind another size of the model.

    Ties go to the one that comes first; no candidates but 0 give `otherwise`.
    """
    counted = Counter(number for number in candidates if number > 0).most_common(1)
    return counted[0][0] if counted else otherwise


def _same(found: Mapping[str, Entry], state: Mapping[str, np.ndarray], copy: str, name: str) -> bool:
    one, other = found[copy], found[name]
    if isinstance(one, Tensor) and one == other:  # they look into the same storage
        return True
    return np.array_equal(one.array(), state[name], equal_nan=True)


def _raise(begin: str, faults: Mapping[str, list[str]], mend: str) -> None:
    lists = [f"{kind} {', '.join(names)}" for kind, names in faults.items() if names]
    if lists:
        raise InputError(f"{begin}: {'; '.join(lists)}; {mend}")
