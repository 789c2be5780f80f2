"""How the original tokenizer reads a caption's end: it gets all captions of a call as lines of one text.

Two of its rules look beyond the end of a line, at a period that ends it:

- a single letter ("a capital T.") keeps the period, unless the next line that is not blank begins with a word that
  often begins a sentence ("The", "She"), and that word is not the very end of the text;
- an abbreviation that stands before numbers ("art.", "fig.", "no.") keeps it only where the very next line begins with
  a digit.

So the last word of such a caption depends on the caption that follows it in the call. Nothing else does, and no caption
depends on the one before it: found by giving the original pairs of lines, 110,000 words among them.
"""

import itertools
import re
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from lvc_jax.metrics.text.tokenizer import STARTER, blanked, is_letter, stands_before_number, tokenize

_STARTS_SENTENCE = re.compile(f"{STARTER} ")


def as_read(sentences: Sequence[str], call: Int[np.ndarray, " n"] | None = None) -> list[str]:
    """The sentences, each worded so that it has alone the tokens that it has in its call.

    Args:
        sentences: raw captions, call by call in the order of their lines.
        call: the call of each; all in one if None.

    Returns:
        The same sentences: without the final period where the tokenizer would split it off from a letter, with a comma,
        which is no scored token, behind it where it would keep it.
    """
    result = list(sentences)
    calls = [0] * len(result) if call is None else np.asarray(call).tolist()
    # The next line, and the next one that is not blank; each with its end, which counts as a blank.
    line = following = ""
    for place in range(len(result) - 1, -1, -1):
        last_of_call = place + 1 == len(result) or calls[place + 1] != calls[place]
        if last_of_call:
            line = following = ""
        text = blanked(sentences[place])
        words = text.rstrip(" ")
        if words.endswith("."):
            last = (tokenize(words.rpartition(" ")[2]) or ("",))[-1]
            if is_letter(last) and _STARTS_SENTENCE.match(following):
                result[place] = sentences[place][: len(words) - 1] + sentences[place][len(words) :]
            elif stands_before_number(last) and words == text and line[:1].isdigit():
                result[place] += ","
        line = text if last_of_call else text + " "
        following = line.lstrip(" ") or following
    return result


def lists_as_read(lists: Sequence[Sequence[str]]) -> list[list[str]]:
    """`as_read` of the references of many captions, which are the lines of one call.

    Args:
        lists: the references of each caption.
    """
    lines = iter(as_read([*itertools.chain.from_iterable(lists)]))
    return [list(itertools.islice(lines, len(own))) for own in lists]
