"""Caption tokens after the Penn Treebank rules, lower-cased and without punctuation, as caption scorers expect them.

One regular expression, tried left to right. It follows the rules of the PTB tokenizer that caption toolkits call
(clitics, hyphens, slashes, numbers, abbreviations); rare constructions may differ, hence the name `ptb-lite`.
"""

import functools
import re
from collections.abc import Sequence

NAME = "ptb-lite"

# Dropped by caption toolkits. Lower-cased brackets (-lrb-) are not in their list and therefore stay.
_PUNCTUATION = frozenset(
    ["''", "'", "``", "`", "-LRB-", "-RRB-", "-LCB-", "-RCB-", ".", "?", "!", ",", ":", "-", "--", "...", ";"]
)
_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "{": "-lcb-", "}": "-rcb-", "[": "-lsb-", "]": "-rsb-"}

# With a period of their own wherever they stand.
_ABBREVIATIONS = (
    "mr|mrs|ms|dr|st|prof|rev|gen|col|sgt|capt|lt|gov|sen|rep|hon|jr|sr|mt|vs|etc|inc|ltd|co|corp|bros|dept|"
    "jan|feb|mar|apr|jun|jul|aug|sept|sep|oct|nov|dec|mon|tue|tues|wed|thu|thurs|fri|ave|blvd|rd|ph\\.d|esq|est|fig"
)
# With a period of their own only where the writer began them with a capital.
_CAPITAL_ABBREVIATIONS = (
    "Ala|Ariz|Az|Ark|Calif|Colo|Conn|Ct|Dak|Del|Fla|Ga|Ill|Ind|Kans?|Ky|La|Mass|Md|Mich|Minn|Miss|Mo|Mont|Neb|Nev|Okla|"
    "Ore|Pa|Penn|Tenn|Tex|Va|Vt|Wash|Wisc?|Wyo"
)

_LETTER = "[A-Za-z]"
_WORD = rf"{_LETTER}[A-Za-z0-9]*(?:[.!?]{_LETTER}[A-Za-z0-9]*)*"
_END = r"(?![A-Za-z0-9])"
_CLITIC_END = r"(?i:'(?:s|m|d|re|ve|ll))(?![A-Za-z])"

_TOKEN = re.compile(
    "|".join(
        [
            r"(?P<url>(?i:https?://\S+|www\.[^\s,;()\"']+))",
            r"(?P<email>[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)",
            rf"(?P<mixed>{_LETTER}[A-Za-z0-9]*![@#]+)",
            r"(?P<tag>[#@][A-Za-z_]\w*)",
            r"(?P<smiley>[:;=]-?[)(DPp](?![A-Za-z0-9]))",
            r"(?P<acronym>(?i:(?:[a-z]\.){2,}))",
            rf"(?P<abbreviation>(?i:\b(?:{_ABBREVIATIONS}))\.(?![A-Za-z])|(?i:\bno)\.(?=\s*\d)"
            rf"|\b(?:{_CAPITAL_ABBREVIATIONS})\.(?![A-Za-z])|\b[A-Z]\.(?=\s|$))",
            r"(?P<ampersand>\b[A-Z]+(?:&[A-Z]+)+(?![a-z]))",
            r"(?P<fused>(?i:\b(?:cannot|gonna|gotta|wanna|lemme|gimme|y'all|d'ye|'twas|'tis))(?![A-Za-z0-9']))",
            r"(?P<kept>(?i:o'clock|'n'|'em\b)|'\d0s|'\d\d(?=\s|$))",
            rf"(?P<not>(?i:{_LETTER}+?(?=n't{_END}))|(?i:n't{_END}))",
            rf"(?P<clitic>{_CLITIC_END})",
            r"(?P<number>\$?\d+ \d+/\d+|\(\d{3}\) ?\d{3}-\d{4}|\d+/\d+(?!\d))",
            rf"(?P<prefixed>(?i:[od]'(?!clock){_LETTER}{{2,}}|\b[a-z]*[aeiou]'[aeiou]{_LETTER}*))",
            rf"(?P<hyphenated>(?:\d+|{_WORD})(?:-(?:[A-Za-z0-9]+))+(?:\.{_LETTER}+)*)",
            rf"(?P<slashed>{_WORD}(?:/[A-Za-z0-9]+){{1,2}})",
            r"(?P<measure>\d+(?=(?i:am|pm)\b)|\d+[A-Za-z]+\b)",
            r"(?P<digits>\d+(?:[.,:]\d+)*(?:st|nd|rd|th|s)?|\.\d+)",
            rf"(?P<word>{_WORD})",
            r"(?P<dots>\.{3,5})",
            r"(?P<dashes>-+)",
            r"(?P<bangs>[?!]+)",
            r"(?P<quotes>''|``|\")",
            r"(?P<other>\S)",
        ]
    )
)
_FUSED = {"y'all": ("y'", "all"), "'twas": ("'t", "was"), "'tis": ("'t", "is"), "d'ye": ("d'", "ye")}


def _split_fused(token: str) -> tuple[str, ...]:
    if token in _FUSED:
        return _FUSED[token]
    return (token[:3], token[3:])


@functools.lru_cache(maxsize=1 << 20)
def tokenize(sentence: str) -> tuple[str, ...]:
    """Splits a caption into scored tokens.

    Args:
        sentence: raw caption; characters outside ASCII count as blanks.

    Returns:
        Lower-case tokens without punctuation; empty for a blank caption.
    """
    text = "".join(character if ord(character) < 128 else " " for character in sentence)
    tokens: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match.group().lower()
        kind = match.lastgroup
        if kind == "fused":
            tokens.extend(_split_fused(token))
        elif kind == "dashes" and 2 <= len(token) <= 3:
            tokens.append("--")
        elif kind == "quotes":
            tokens.append("''")
        elif kind == "number":
            tokens.append(token.replace(" ", "\u00a0"))
        elif kind == "smiley":
            tokens.append("".join(_BRACKETS.get(character, character) for character in token))
        else:
            tokens.append(_BRACKETS.get(token, token))
    return tuple(token for token in tokens if token not in _PUNCTUATION)


def tokenize_all(sentences: Sequence[str]) -> list[tuple[str, ...]]:
    """`tokenize` of every sentence of a corpus."""
    return [tokenize(sentence) for sentence in sentences]
