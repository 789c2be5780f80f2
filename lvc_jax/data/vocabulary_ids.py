"""Token ids as the caption head emits them, the same for every vocabulary."""

from collections.abc import Iterable


def until_end(ids: Iterable[int], size: int) -> list[int]:
    """The ids before the first 0, which ends a caption.

    Args:
        ids: token ids, without a leading 0.
        size: V, the largest id.

    Raises:
        ValueError: if an id is outside 0..V.
    """
    kept: list[int] = []
    for i in map(int, ids):
        if i == 0:
            break
        if not 1 <= i <= size:
            raise ValueError(f"token id {i} outside 0..{size}")
        kept.append(i)
    return kept
