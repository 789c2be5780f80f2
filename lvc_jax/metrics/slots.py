"""The clock of the live metrics: which captions and which reference events meet in which slot of Δt seconds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# A millionth of a frame, in seconds: shorter overlaps are rounding, not overlap (as on the grid that cuts annotations).
_TOLERANCE = 1e-6 / 30

ReferenceEvent = tuple[float, float, str]
References = Mapping[str, Mapping[str, Any]]
Predictions = Mapping[str, Sequence[Mapping[str, Any]]]


class Slot(NamedTuple):
    """What is said and what happens in [start, end) seconds; `events` holds one list for each reference set."""

    start: float
    end: float
    captions: list[Mapping[str, Any]]
    events: list[list[ReferenceEvent]]

    @property
    def silent(self) -> bool:
        """No reference set has an event here."""
        return not any(self.events)

    @property
    def sentences(self) -> list[str]:
        """The sentences of all events of all reference sets."""
        return [sentence for events in self.events for _, _, sentence in events]


def number_of_slots(duration: float, delta_t: float) -> int:
    """Slots of Δt seconds that cover the video, at least 1; the last may be partial."""
    return max(1, math.ceil((duration - _TOLERANCE) / delta_t))


def slot_of(item: Mapping[str, Any], delta_t: float, slots: int) -> int:
    """The slot of a prediction: its `segment` where it has one, else the slot that holds its middle."""
    segment = item.get("segment")
    if segment is None:
        start, end = item["timestamp"]
        segment = math.floor((start + end) / 2 / delta_t)
    return min(max(int(segment), 0), slots - 1)


def build(reference: Mapping[str, Any], items: Sequence[Mapping[str, Any]], delta_t: float | None) -> list[Slot]:
    """Sorts a video's captions and reference events into slots.

    Args:
        reference: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}.
        items: predictions {"timestamp": [start, end] seconds, "sentence", optionally "segment"}.
        delta_t: seconds of a slot; None makes the whole video one slot.

    Returns:
        The slots in order of time. An event is in every slot that it overlaps.
    """
    duration = float(reference["duration"])
    step = duration if delta_t is None else delta_t
    number = 1 if delta_t is None else number_of_slots(duration, step)
    slots = [
        Slot(k * step, min((k + 1) * step, duration), [], [[] for _ in reference["references"]]) for k in range(number)
    ]
    for item in items:
        slots[0 if delta_t is None else slot_of(item, step, number)].captions.append(item)
    for index, events in enumerate(reference["references"]):
        for start, end, sentence in events:
            first = max(0, math.floor((start + _TOLERANCE) / step))
            last = min(number - 1, math.ceil((end - _TOLERANCE) / step) - 1)
            for k in range(first, last + 1):
                slots[k].events[index].append((start, end, sentence))
    return slots
