"""From the score of each slot to the four curves, by the paper's equations or by the toolkit's recursion."""

from typing import Literal

import numpy as np
from jaxtyping import Float, Int

VARIANTS = ("LS", "wLS", "hLS", "whLS")


def curves(
    gamma: Float[np.ndarray, "k s"],
    false_positives: Float[np.ndarray, " k"],
    *,
    window: int,
    history: str = "min(K,w)",
    mode: Literal["paper", "reference"] = "paper",
) -> dict[str, Float[np.ndarray, "k s"]]:
    """The four Live Scores after each slot of one video.

    Args:
        gamma: the score of each slot, by scorer.
        false_positives: captions of each slot that describe no event; `reference` asks only whether there are any.
        window: w, slots of the history.
        history: denominator of the windowed forms, "min(K,w)" or "K"; `reference` has the former.
        mode: see `Reading`.

    Returns:
        {variant: [k, s]} for the names in `VARIANTS`.
    """
    if mode == "reference":
        published = recursion(gamma, false_positives, np.array([len(gamma)]), window)
        return dict(zip(VARIANTS, published, strict=True))
    number = np.arange(1, len(gamma) + 1, dtype=np.float64)
    recent = np.minimum(number, window) if history == "min(K,w)" else number
    width = max(1, min(window, len(gamma)))

    def _windowed(values: np.ndarray) -> np.ndarray:
        # Direct sums: differences of cumulative sums would leave rounding of values that have left the window.
        padded = np.concatenate([np.zeros((width - 1, *values.shape[1:])), values])
        return np.lib.stride_tricks.sliding_window_view(padded, width, axis=0).sum(axis=-1)

    if not len(gamma):
        return dict.fromkeys(VARIANTS, np.zeros_like(gamma))
    whole = np.cumsum(gamma, axis=0) / number[:, None]
    part = _windowed(gamma) / recent[:, None]
    damping = np.exp(-np.cumsum(false_positives) / number)
    part_damping = np.exp(-_windowed(false_positives) / recent)
    values = (whole, whole * damping[:, None], part, part * part_damping[:, None])
    return dict(zip(VARIANTS, values, strict=True))


def recursion(
    gamma: Float[np.ndarray, "n s"],
    false_positives: Float[np.ndarray, " n"],
    counts: Int[np.ndarray, " v"],
    window: int,
) -> Float[np.ndarray, "4 n s"]:
    """The toolkit's curves of many videos at once: a value is made from the values published before it.

    With x the published values of a curve, w the window, F the slots with a false positive so far, at slot k:

    - LS: x_k = (x_1 + ... + x_(k-1) + γ_k) / k
    - wLS: the same, times exp(-F / k); the past is damped already, so damping compounds
    - hLS: x_k = (the last w-1 published values + γ_k) / min(k, w)
    - whLS: the same, times exp(-c / min(k, w)); the counter c rises by 1 with a false positive and is then set, if it
      is above w-1, to w in a slot with a false positive and to w-1 in any other: it never falls below again

    With w = 1 the toolkit's slice "the last 0 values" is the whole list, so the windowed forms grow without bound.

    Args:
        gamma: scores of the slots, video after video.
        false_positives: captions of each slot that describe no event.
        counts: slots of each video.
        window: w.

    Returns:
        values in the order of `VARIANTS`.
    """
    # Videos in order of falling length: at slot k those that still run are the first `running` ones.
    order = np.argsort(-counts, kind="stable")
    start, length = (np.cumsum(counts) - counts)[order], counts[order]
    wrong = np.asarray(false_positives) > 0
    result = np.zeros((len(VARIANTS), *gamma.shape))
    past = np.zeros((len(VARIANTS), len(counts), gamma.shape[1]))
    ever, counter = np.zeros(len(counts)), np.zeros(len(counts))
    for k in range(1, int(length.max(initial=0)) + 1):
        running = int(np.searchsorted(-length, -k, side="right"))
        rows = start[:running] + k - 1
        past, ever, counter = past[:, :running], ever[:running], counter[:running]
        now = wrong[rows]
        ever = ever + now
        counter = counter + now
        counter = np.where(counter > window - 1, np.where(now, window, window - 1), counter)
        recent = past[2:]
        if 1 < window < k:
            recent = np.sum([result[2:, rows - back] for back in range(1, window)], axis=0)
        width = min(k, window)
        whole = (past[:2] + gamma[rows]) / k
        part = (recent + gamma[rows]) / width
        whole[1] *= np.exp(-ever / k)[:, None]
        part[1] *= np.exp(-counter / width)[:, None]
        values = np.concatenate([whole, part])
        result[:, rows] = values
        past = past + values
    return result
