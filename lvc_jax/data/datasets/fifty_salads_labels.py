"""50Salads captions back to the action labels that they put into words."""

from collections.abc import Mapping, Sequence
from typing import Any

from lvc_jax.data.datasets.fifty_salads import ACTIONS

LABELS = tuple(ACTIONS)
"""The 17 actions in the order of the label ids; the background has no caption."""

OTHER = "(no 50Salads action)"
"""The label of words that are none of the table's sentences: an action is claimed, and it is a wrong one."""


def _plain(sentence: str) -> str:
    # Vocabularies end captions with a period, with or without a blank before it; case is theirs too.
    return " ".join(sentence.lower().replace(".", " ").split())


_BY_SENTENCE = {_plain(sentence): label for label, sentence in ACTIONS.items()}


def label_of(sentence: str) -> str | None:
    """The action whose sentence in `fifty_salads.ACTIONS` this is (case, blanks and periods aside), None if of none."""
    return _BY_SENTENCE.get(_plain(sentence))


def segments_of(captions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Captions as detected segments.

    Args:
        captions: items with "timestamp" [start, end] in seconds, "sentence" and optionally "score".

    Returns:
        [{"segment", "label", "score" where the item has one}]; label `OTHER` for words of no action.
    """
    result = []
    for item in captions:
        segment = {"segment": list(item["timestamp"]), "label": label_of(item["sentence"]) or OTHER}
        if item.get("score") is not None:
            segment["score"] = item["score"]
        result.append(segment)
    return result
