"""A step's captions as prediction items in seconds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from lvc_jax.data.segments import to_seconds
from lvc_jax.outputs.predictions import Item

Decode = Callable[[Sequence[int]], str]


def caption_items(
    captions: Mapping[str, Any], segment: int, span: tuple[float, float], decode: Decode | None = None
) -> list[Item]:
    """The captions that one step of one stream emitted, in its order.

    Args:
        captions: the step's result, on the device or the host.
        segment: its index.
        span: the segment's start and end in seconds; no caption reaches beyond its end.
        decode: token ids to a sentence. Without it items carry "tokens" instead of "sentence".
    """
    values = {name: np.asarray(value) for name, value in captions.items()}
    items: list[Item] = []
    for slot in np.flatnonzero(values["valid"]):
        start, end = to_seconds(np.stack([values["start"][slot], values["end"][slot]]), *span)
        tokens = [int(token) for token in values["tokens"][slot] if token != 0]
        item: Item = {
            "timestamp": [min(round(float(start), 6), span[1]), min(round(float(end), 6), span[1])],
            "score": float(values["score"][slot]),
            "proposal_score": float(values["proposal_score"][slot]),
            "sentence_score": float(values["sentence_score"][slot]),
            "segment": segment,
            "query_id": int(values["query"][slot]),
            "count": int(values["count"]),
        }
        if decode is None:
            item["tokens"] = tokens
        else:
            item["sentence"] = decode(tokens)
        items.append(item)
    return items
