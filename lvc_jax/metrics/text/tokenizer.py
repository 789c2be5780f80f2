"""Caption tokens after the Penn Treebank rules, lower-cased and without punctuation, as caption scorers expect them.

The rules are those of the PTB tokenizer that caption toolkits call (see `ptb`), observed, not copied: equal on every
caption of ActivityNet Captions, YouCook2, Charades-STA and of two published predictions (docs/metrics.md names what
differs in odder text). Two properties of the toolkits are not followed: a line break or form feed inside a caption is a
blank here and shifts no other caption, and a caption's tokens never depend on the next caption (`lines` words captions
as they are read there).
"""

import re
from collections.abc import Sequence

from lvc_jax.metrics.text import ptb

NAME = "ptb"

# Dropped by caption toolkits. Lower-cased brackets (-lrb-) are not in their list and therefore stay.
_PUNCTUATION = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)
# A single letter keeps its period except before words that begin sentences, and before tags.
_STARTERS = (
    "A|About|According|Additionally|After|An|As|At|But|Earlier|He|Her|Here|However|If|In|It|Last|Many|More|Now|Once|One|"
    r"M[rs]\.|Other|Our|She|Since|So|Some|Such|That|The|Their|Then|There|These|They|This|We|What|When|While|Yet|You"
)
STARTER = rf"(?:(?=[A-Z])(?i:{_STARTERS})|{ptb.TAG})"
# Tokens that hold a blank, and words whose last token depends on what stands behind; all else splits at blanks first.
_ACROSS = re.compile(
    r"(?P<joined>(?<![\w.,:/+\-])(?:\d{1,4} \d{1,4}/\d{1,4}"
    r"|(?:\(\d{2,3}\) ?|\+?(?:\d{2,4}[ \-])?\d{2,4}[ \-])\d{3,4}[ \-]\d{3,5}(?!\d))"
    rf"|(?<!<){ptb.TAG})"
    r"|(?P<number>(?<=[A-Za-z])\.(?= \d))"
    rf"|(?P<letter>(?<=[A-Za-z])\.(?= +{STARTER}(?: |$)))"
)
# What all of them begin with; a quick look for it spares most captions the search.
_BEGINS = re.compile(r"[0-9(+<.]")
_BEFORE_NUMBER = re.compile(ptb.BEFORE_NUMBER)
_BRACKETS = str.maketrans({"(": "-lrb-", ")": "-rrb-"})
_BLANKS = re.compile(r"[^!-~]")


class _Pieces(dict[str, tuple[str, ...]]):
    """Scored tokens of blank-free pieces; sentences share most of their pieces."""

    _LIMIT = 1 << 20
    _LONGEST = 64

    def __missing__(self, piece: str) -> tuple[str, ...]:
        tokens = tuple(token for token in ptb.split(piece) if token not in _PUNCTUATION)
        if len(piece) <= self._LONGEST:
            if len(self) >= self._LIMIT:
                self.clear()
            self[piece] = tokens
        return tokens


_PIECES = _Pieces()


def blanked(sentence: str) -> str:
    """The sentence with blanks in place of characters that are never part of a token; of the same length."""
    return sentence if sentence.isascii() and sentence.isprintable() else _BLANKS.sub(" ", sentence)


def is_letter(token: str) -> bool:
    """Whether a token is a single letter with its period."""
    return len(token) == 2 and token[0].isalpha() and token[1] == "."


def stands_before_number(token: str) -> bool:
    """Whether a token is an abbreviation that keeps its period only before a number, with one blank or none between."""
    return _BEFORE_NUMBER.fullmatch(token) is not None


def tokenize(sentence: str) -> tuple[str, ...]:
    """Splits a caption into scored tokens.

    Args:
        sentence: raw caption; characters outside ASCII and control characters count as blanks.

    Returns:
        Lower-case tokens without punctuation; empty for a blank caption. Numbers such as `1 1/2` are one token with a
        no-break space inside.
    """
    text = blanked(sentence)
    begin = _BEGINS.search(text)
    match = begin and _ACROSS.search(text, begin.start())
    if match is None:
        return tuple([token for piece in text.split() for token in _PIECES[piece]])
    tokens: list[str] = []
    place = 0
    while match is not None:
        kind = match.lastgroup
        end = match.start() if kind == "joined" else match.end()
        tokens.extend(token for piece in text[place:end].split() for token in _PIECES[piece])
        if kind == "joined":
            tokens.append(match.group().lower().replace(" ", "\u00a0").translate(_BRACKETS))
        elif kind == "letter" and is_letter(tokens[-1]):
            tokens[-1] = tokens[-1][0]
        elif kind == "number" and stands_before_number(tokens[-1]):
            tokens[-1] += "."
        place = match.end()
        match = _ACROSS.search(text, place)
    tokens.extend(token for piece in text[place:].split() for token in _PIECES[piece])
    return tuple(tokens)


def tokenize_all(sentences: Sequence[str]) -> list[tuple[str, ...]]:
    """`tokenize` of every sentence of a corpus, each distinct one once.

    Args:
        sentences: raw captions.

    Returns:
        The tokens of each.
    """
    known: dict[str, tuple[str, ...]] = {}
    for sentence in sentences:
        if sentence not in known:
            known[sentence] = tokenize(sentence)
    return [known[sentence] for sentence in sentences]
