"""Labelled segments on the clock of online action detection: a label for each slot of a video.

A segment is a mapping {"segment": [start, end] seconds, "label": text, optionally "score": number}.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from lvc_jax.errors import InputError

BACKGROUND = "Background"
MAX_SLOTS = 10_000_000
# In slots: decimal times (0.3 / 0.1) miss slot edges by rounding.
_TOLERANCE = 1e-9

Segments = Sequence[Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class Clock:
    """How time becomes slots and segments become labels of slots.

    Attributes:
        slot: Δt in seconds.
        slots: "ceil": the last slot may be partial; "floor": whole slots only (at least one).
        raster: "floor": a segment labels the slots floor(start/Δt) to floor(end/Δt) - 1, as a Python slice, so that
            negative times count from the end; "middle": the slots whose middle it covers.
        overlap: "overwrite": the later segment of the list wins; "any": a slot holds every annotated label, and of
            the predictions the best score wins (the later of equals).
    """

    slot: float = 0.5
    slots: Literal["ceil", "floor"] = "ceil"
    raster: Literal["floor", "middle"] = "floor"
    overlap: Literal["overwrite", "any"] = "overwrite"

    def __post_init__(self) -> None:
        if not (isinstance(self.slot, int | float) and math.isfinite(self.slot) and self.slot > 0):
            raise InputError(f"slot={self.slot}: expected a positive number of seconds")
        for name, choices in (
            ("slots", ("ceil", "floor")),
            ("raster", ("floor", "middle")),
            ("overlap", ("overwrite", "any")),
        ):
            if getattr(self, name) not in choices:
                raise InputError(f"{name}={getattr(self, name)!r}: choose one of {', '.join(choices)}")

    def number(self, duration: float, where: str) -> int:
        """Slots of a video of `duration` seconds.

        Raises:
            InputError: naming `where`: no finite duration, a negative one, or more slots than `MAX_SLOTS`.
        """
        if not _is_number(duration) or duration < 0:
            raise InputError(f"{where}: duration {duration!r}: expected a number of seconds, not below 0")
        if duration / self.slot > MAX_SLOTS:
            raise InputError(f"{where}: {duration} s make more than {MAX_SLOTS} slots of {self.slot} s")
        if self.slots == "ceil":
            return math.ceil(duration / self.slot)
        return max(1, math.floor(duration / self.slot + _TOLERANCE))

    def span(self, segment: Sequence[float], number: int) -> tuple[int, int]:
        """First slot of a segment and the one after its last, in a video of `number` slots."""
        # A quotient beyond the range of float64 is far outside every video.
        start, end = (min(max(time / self.slot, -1e18), 1e18) for time in segment)
        if self.raster == "floor":
            first, last, _ = slice(math.floor(start), math.floor(end)).indices(number)
        else:
            first, last = (min(max(math.ceil(time - 0.5 - _TOLERANCE), 0), number) for time in (start, end))
        return first, max(first, last)


def check(segments: Segments, where: str) -> None:
    """Raises an InputError that names `where`, the item and the field of the first malformed segment."""
    if not isinstance(segments, list | tuple):
        raise InputError(f"{where}: expected a list of segments")
    for index, item in enumerate(segments):
        problem = _problem(item)
        if problem:
            raise InputError(f"{where}: item {index}: {problem}")


def check_annotation(annotation: Any, clock: Clock, where: str, *, lasting: bool) -> None:
    """Refuses a video's annotation without usable duration or segments.

    Args:
        annotation: {"duration": seconds, "annotations": [segments]}.
        clock: that is to have a slot for every moment of it.
        where: names the video.
        lasting: refuse a duration of 0 too.

    Raises:
        InputError: naming `where`, and the item and the field.
    """
    if not isinstance(annotation, Mapping) or "duration" not in annotation or "annotations" not in annotation:
        raise InputError(f"{where}: expected an object with 'duration' and 'annotations'")
    check(annotation["annotations"], f"{where}: annotations")
    clock.number(annotation["duration"], where)
    if lasting and not annotation["duration"]:
        raise InputError(f"{where}: duration 0: expected more than 0 seconds")


def _problem(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return "expected an object with 'segment' and 'label'"
    times = item.get("segment")
    if not isinstance(times, list | tuple) or len(times) != 2 or not all(_is_number(time) for time in times):
        return f"field 'segment': {times!r:.60}: expected [start, end] in seconds"
    if not isinstance(item.get("label"), str):
        return f"field 'label': {item.get('label')!r:.60}: expected text"
    if "score" in item and not _is_number(item["score"]):
        return f"field 'score': {item['score']!r:.60}: expected a finite number"
    return None


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def label_slots(
    segments: Segments, number: int, clock: Clock, codes: dict[str, int], *, best_score: bool = False
) -> Int[np.ndarray, " n"]:
    """One label for each slot.

    Args:
        segments: checked segments.
        number: slots of the video.
        clock: how segments become slots.
        codes: label -> code; holds `BACKGROUND` as 0 and gets new labels added.
        best_score: let the best score win instead of the later segment. A segment without score has score 1.

    Returns:
        Codes [number]; 0 where there is nothing.
    """
    labels = np.zeros(number, np.int32)
    if best_score:
        segments = sorted(segments, key=score_of)
    for item in segments:
        first, last = clock.span(item["segment"], number)
        labels[first:last] = codes.setdefault(item["label"], len(codes))
    return labels


def score_of(item: Mapping[str, Any]) -> float:
    """The score of a segment; 1 for a hard detection."""
    return float(item.get("score", 1.0))


def slots_with(
    segments: Segments, predicted: Int[np.ndarray, " n"], clock: Clock, codes: Mapping[str, int]
) -> tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """Where any annotated action is on, and where the predicted label is one of those that are.

    Args:
        segments: checked annotations, which may overlap.
        predicted: label code of each slot.
        clock: how segments become slots.
        codes: label -> code.
    """
    action, right = np.zeros(len(predicted), bool), np.zeros(len(predicted), bool)
    for item in segments:
        if item["label"] != BACKGROUND:
            first, last = clock.span(item["segment"], len(predicted))
            action[first:last] = True
            right[first:last] |= predicted[first:last] == codes.get(item["label"], -1)
    return action, right
