"""How the original tokenizer reads a caption's end: it gets all captions of a call as lines of one text.

One rule of it looks beyond the end of the line: a single letter with a period ("a capital T.") keeps the period, unless
a word follows that often begins a sentence ("The", "She"), on the same line or on the next that is not blank. So the
last word of such a caption depends on the caption that follows it in the call.
"""

import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from lvc_jax.metrics.text.tokenizer import tokenize_all

_LETTER_AT_END = re.compile(r"(?:^|[^A-Za-z0-9.])([A-Za-z]\.)\s*$")
# What the toolkits leave of a sentence before they split it: characters beyond ASCII are blanks.
_VISIBLE = re.compile(r"[!-~]")


def as_read(sentences: Sequence[str], call: Int[np.ndarray, " n"]) -> list[str]:
    """The sentences, each worded so that it has alone the tokens that it has in its call.

    Args:
        sentences: raw captions, call by call in the order of their lines.
        call: the call of each.

    Returns:
        The same sentences, without the final period where the tokenizer would split it off.
    """
    result = list(sentences)
    for place, sentence in enumerate(sentences):
        found = _LETTER_AT_END.search(sentence)
        following = _next_line(sentences, call, place) if found else None
        if found and following is not None and not tokenize_all([f"{found[1]} {following}"])[0][0].endswith("."):
            result[place] = sentence.rstrip()[:-1]
    return result


def _next_line(sentences: Sequence[str], call: Int[np.ndarray, " n"], place: int) -> str | None:
    """The next sentence of the call that is not blank."""
    for other in range(place + 1, len(sentences)):
        if call[other] != call[place]:
            return None
        if _VISIBLE.search(sentences[other]):
            return sentences[other]
    return None
