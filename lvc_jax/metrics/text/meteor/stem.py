"""Snowball English stems, as of 2015, and WordNet's rules for regular endings."""

from collections.abc import Callable, Container

from lvc_jax.metrics.text.meteor import sources

# In this order: nouns, verbs, adjectives; the first ending whose base is a known word wins.
_ENDINGS = (
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
    ("es", "e"),
    ("es", ""),
    ("ed", "e"),
    ("ed", ""),
    ("ing", "e"),
    ("ing", ""),
    ("er", ""),
    ("est", ""),
    ("er", "e"),
    ("est", "e"),
)


def snowball() -> Callable[[str], str]:
    """A function from a lower-case word to its stem.

    Raises:
        InputError: the extra `[meteor]` is not installed.
    """
    sources.require()
    import snowballstemmer

    return snowballstemmer.stemmer("english").stemWord


def base_form(word: str, known: Container[str]) -> str | None:
    """The base of a regularly inflected word.

    Args:
        word: a lower-case word.
        known: the words of the dictionary.

    Returns:
        the base, a known word; None if there is none.
    """
    if len(word) < 3 or word.endswith("ss"):
        return None
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and word.removesuffix(ending) + replacement in known:
            return word.removesuffix(ending) + replacement
    return None
