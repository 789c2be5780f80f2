"""A reference for captions that meet no event: in place of the random letters of the originals, one fixed word."""

from collections.abc import Iterable

# No stem of a word equals it, and no word of METEOR's tables.
_WORD = "zqxvkjwqxzkv"


def word_in_none(captions: Iterable[str]) -> str:
    """A word that no caption contains, in any case.

    Args:
        captions: all captions that may meet it; the word grows until none of them contains it.
    """
    word, text = _WORD, "\n".join(captions).lower()
    while word in text:
        word += "q"
    return word
