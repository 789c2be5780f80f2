"""What is wrong with real annotation files and what is done about it: every rule is named and counted."""

import enum
import unicodedata
from collections import Counter

# Times closer than this are the same time: JSON decimals such as 82.74 - 82.73 carry float noise, which is no repair.
TIME_TOLERANCE_S = 1e-6
# A start this little below zero is a rounding error of the annotation tool; anything lower is refused.
NEGATIVE_TOLERANCE_S = 1e-2


class Repair(enum.StrEnum):
    """The name under which a repair is counted. A sentence can count under several names."""

    SPACE_STRIPPED = "sentence: surrounding space stripped"
    SPACE_COLLAPSED = "sentence: inner space collapsed"
    LINE_BREAK = "sentence: line break replaced by a space"
    CONTROL = "sentence: control character replaced by a space"
    NORMALISED = "sentence: Unicode normalised (NFC)"
    NON_ASCII = "sentence: non-ASCII character kept"
    EMPTY = "event dropped: sentence without a letter or digit"
    REVERSED = "event kept: end before start, swapped"
    POINT = "event dropped: no length (end equals start)"
    AFTER_END = "event dropped: starts at or after the end of the video"
    CLIPPED = "event kept: end past the duration, clipped"
    BELOW_ZERO = "event kept: start just below zero, set to zero"
    SILENT_VIDEO = "video kept: no event left"
    SECOND_UNKNOWN = "second references ignored: video is not in the first file"
    SECOND_DURATION = "second references kept: duration differs, the first file's holds"


STRICT = frozenset(
    {
        Repair.EMPTY,
        Repair.REVERSED,
        Repair.POINT,
        Repair.AFTER_END,
        Repair.CLIPPED,
        Repair.BELOW_ZERO,
        Repair.SECOND_UNKNOWN,
        Repair.SECOND_DURATION,
    }
)
"""Repairs that change or lose an event; `strict=True` refuses the file instead. White space is repaired either way."""


def clean_sentence(text: str, repairs: Counter[str]) -> str:
    """Returns `text` in NFC with single spaces, nothing around it and no control character; letters are never changed.

    Args:
        text: the sentence as read.
        repairs: receives one count for each rule that applied.
    """
    if text != text.strip():
        repairs[Repair.SPACE_STRIPPED] += 1
    if "\n" in text or "\r" in text:
        repairs[Repair.LINE_BREAK] += 1
    printable = "".join(" " if _is_control(character) else character for character in text)
    if printable != text:
        repairs[Repair.CONTROL] += 1
    stripped = printable.strip()
    collapsed = " ".join(stripped.split())
    if collapsed != stripped:
        repairs[Repair.SPACE_COLLAPSED] += 1
    normal = unicodedata.normalize("NFC", collapsed)
    if normal != collapsed:
        repairs[Repair.NORMALISED] += 1
    if not normal.isascii():
        repairs[Repair.NON_ASCII] += 1
    return normal


def has_words(sentence: str) -> bool:
    """Whether anything is left to caption with: at least one letter or digit of any script."""
    return any(character.isalnum() for character in sentence)


def repair_times(start: float, end: float, duration: float, repairs: Counter[str]) -> tuple[float, float] | None:
    """Returns (start, end) in seconds with 0 <= start < end <= duration, or None where the event is dropped.

    Args:
        start: finite, at least -NEGATIVE_TOLERANCE_S.
        end: finite, at least -NEGATIVE_TOLERANCE_S.
        duration: of the video, positive.
        repairs: receives one count for each rule that applied.
    """
    if end < start - TIME_TOLERANCE_S:
        start, end = end, start
        repairs[Repair.REVERSED] += 1
    if start < 0:
        if start < -TIME_TOLERANCE_S:
            repairs[Repair.BELOW_ZERO] += 1
        start, end = 0.0, max(end, 0.0)
    if end - start <= TIME_TOLERANCE_S:
        repairs[Repair.POINT] += 1
        return None
    if start >= duration - TIME_TOLERANCE_S:
        repairs[Repair.AFTER_END] += 1
        return None
    if end > duration:
        if end > duration + TIME_TOLERANCE_S:
            repairs[Repair.CLIPPED] += 1
        end = duration
    return start, end


def _is_control(character: str) -> bool:
    # Cs: half of a surrogate pair, which JSON can spell but no UTF-8 file can hold.
    return unicodedata.category(character) in ("Cc", "Cs") and not character.isspace()
