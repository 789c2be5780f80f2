"""METEOR's own tokenisation and lower-casing, applied after the Penn Treebank tokenizer."""

import re
from collections.abc import Collection

_LETTER = "A-Za-zÀ-ÖØ-öø-žЀ-ԧᴀ-ᵿ"
_DIGIT = "0-9"
_BLANKS = " \t\n\x0b\f\r"

_PUNCTUATION = str.maketrans({"“": '"', "”": '"', "‘": "'", "’": "'", "–": " - "})
_UNICODE_BLANK = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_SYMBOL = re.compile(rf"([^{_LETTER}{_DIGIT}{_BLANKS}.'`,\-])")
_DOTS = re.compile(r"\.{2,}")
# A noncharacter stands for the dots of a run, which stay together; no other rule touches it.
_DOT = "\uffff"
# Each rule is one pass from left to right, and a match consumes both neighbours: `a,b,c` becomes `a , b,c`.
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (rf"([^{_DIGIT}]),([^{_DIGIT}])", r"\1 , \2"),
        (rf"([{_DIGIT}]),([^{_DIGIT}])", r"\1 , \2"),
        (rf"([^{_DIGIT}]),([{_DIGIT}])", r"\1 , \2"),
        ("`", "'"),
        ("''", ' " '),
        ("--", "-"),
        (rf"([{_LETTER}{_DIGIT}.])-([{_LETTER}{_DIGIT}])", r"\1 \2"),
        (rf"([^{_LETTER}])'([^{_LETTER}])", r"\1 ' \2"),
        (rf"([^{_LETTER}{_DIGIT}])'([{_LETTER}])", r"\1 ' \2"),
        (rf"([{_LETTER}])'([^{_LETTER}])", r"\1 ' \2"),
        (rf"([{_LETTER}])'([{_LETTER}])", r"\1 '\2"),
        (rf"([{_DIGIT}])'s", r"\1 's"),
    ]
]
_HAS_LETTER = re.compile(f"[{_LETTER}]")
_ASCII_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_DIGITS = frozenset("0123456789")
_JUST_WORDS = re.compile("[a-z0-9 ]*")


def _period(word: str, following: str, prefixes: Collection[str], numeric_prefixes: Collection[str]) -> str:
    """A word that ends with a period: an acronym loses its dots, a sentence's last word parts from its period."""
    stem = word[:-1]
    if "." in stem and _HAS_LETTER.search(stem):
        return word.replace(".", "")
    if stem in prefixes or following[:1] in _ASCII_LETTERS:
        return word
    if stem in numeric_prefixes and following[:1] in _DIGITS:
        return word
    return f"{stem} ."


def normalise(text: str, prefixes: Collection[str], numeric_prefixes: Collection[str]) -> tuple[str, ...]:
    """Splits a sentence into METEOR's words.

    Args:
        text: a sentence, as METEOR receives it.
        prefixes: words whose period does not end a sentence (`Mr`).
        numeric_prefixes: words whose period does not end a sentence before a number (`No`).

    Returns:
        lower-case words, none empty.
    """
    if _JUST_WORDS.fullmatch(text):
        return tuple(text.split())
    text = f" {text.translate(_PUNCTUATION).replace(_DOT, ' ')} "
    text = _SYMBOL.sub(r" \1 ", text)
    text = _DOTS.sub(lambda dots: f" {_DOT * len(dots.group())} ", text)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    words = re.split(f"[{_BLANKS}]+", text.strip(_BLANKS))
    for index, word in enumerate(words):
        if len(word) > 1 and word.endswith("."):
            following = words[index + 1] if index + 1 < len(words) else ""
            words[index] = _period(word, following, prefixes, numeric_prefixes)
    text = _UNICODE_BLANK.sub(" ", " ".join(words).replace(_DOT, ".")).lower()
    # A vertical tab ends no word here.
    return tuple(word for word in re.split("[ \t\n\f\r]+", text) if word)
