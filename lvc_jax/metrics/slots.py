"""The clock of the live metrics: which captions and which reference events meet in which slot of Δt seconds."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from lvc_jax.errors import InputError

# A millionth of a frame, in seconds: shorter overlaps are rounding, not overlap (as on the grid that cuts annotations).
_TOLERANCE = 1e-6 / 30
# Times beyond this many seconds (31 years) are no video times, and more slots than this are no clock.
_LATEST = 1e9
_MOST_SLOTS = 10_000_000

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


def number_of_slots(duration: float, delta_t: float | None) -> int:
    """Slots of Δt seconds that cover the video, at least 1; the last may be partial. One if Δt is None."""
    return 1 if delta_t is None else max(1, math.ceil((duration - _TOLERANCE) / delta_t))


def slot_of(item: Mapping[str, Any], delta_t: float | None, slots: int) -> int:
    """The slot of a prediction: its `segment` where it has one, else the slot that holds its middle."""
    if delta_t is None:
        return 0
    segment = item.get("segment")
    if segment is None:
        start, end = item["timestamp"]
        segment = math.floor(((start + end) / 2 + _TOLERANCE) / delta_t)
    return min(max(int(segment), 0), slots - 1)


def slots_of_event(start: float, end: float, delta_t: float | None, slots: int) -> tuple[int, int]:
    """The first and the last slot that the event overlaps, both included; none if the last is below the first.

    An event without length overlaps nothing.
    """
    if end - start <= _TOLERANCE:
        return 0, -1
    if delta_t is None:
        return 0, 0
    first = max(0, math.floor((start + _TOLERANCE) / delta_t))
    return first, min(slots - 1, math.ceil((end - _TOLERANCE) / delta_t) - 1)


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
    number = number_of_slots(duration, delta_t)
    slots = [
        Slot(k * step, min((k + 1) * step, duration), [], [[] for _ in reference["references"]]) for k in range(number)
    ]
    for item in items:
        slots[slot_of(item, delta_t, number)].captions.append(item)
    for index, events in enumerate(reference["references"]):
        for event in events:
            first, last = slots_of_event(event[0], event[1], delta_t, number)
            for k in range(first, last + 1):
                slots[k].events[index].append((event[0], event[1], event[2]))
    return slots


def check(references: References, predictions: Predictions, delta_t: float | None = None) -> None:
    """Refuses what no live metric can score.

    Args:
        references: {video: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}}.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence", optionally "segment", "score"}]};
            only videos that have references are looked at.
        delta_t: seconds of a slot, where there is a clock.

    Raises:
        InputError: naming video and field of the first entry without a usable time or sentence.
    """
    for video, reference in references.items():
        _check_reference(video, reference, delta_t)
        items = predictions.get(video, ())
        if not isinstance(items, list | tuple):
            raise InputError(f"predictions: video {video}: expected a list of items")
        for index, item in enumerate(items):
            problem = _problem_of_item(item)
            if problem:
                raise InputError(f"predictions: video {video}: item {index}: {problem}")


def _check_reference(video: str, reference: Any, delta_t: float | None) -> None:
    where = f"references: video {video}"
    if not isinstance(reference, Mapping) or not {"duration", "references"} <= set(reference):
        raise InputError(f"{where}: expected an object with duration and references")
    duration = reference["duration"]
    if not _is_time(duration) or duration < 0:
        raise InputError(f"{where}: duration {duration!r}: expected seconds")
    if delta_t is not None and duration / delta_t > _MOST_SLOTS:
        raise InputError(f"{where}: duration {duration!r}: more than {_MOST_SLOTS} slots of {delta_t:g} s")
    sets = reference["references"]
    if not isinstance(sets, list | tuple) or not sets or not all(isinstance(events, list | tuple) for events in sets):
        raise InputError(f"{where}: references: expected one list of events for each annotation set")
    for events in sets:
        for index, event in enumerate(events):
            if not isinstance(event, list | tuple) or len(event) != 3 or not isinstance(event[2], str):
                raise InputError(f"{where}: event {index}: expected (start, end, sentence)")
            if not (_is_time(event[0]) and _is_time(event[1])):
                raise InputError(f"{where}: event {index}: timestamp {list(event[:2])!r}: expected seconds")


def _problem_of_item(item: Any) -> str | None:
    if not isinstance(item, Mapping):
        return "expected an object"
    times = item.get("timestamp")
    if not isinstance(times, list | tuple) or len(times) != 2 or not (_is_time(times[0]) and _is_time(times[1])):
        return f"timestamp {times!r}: expected [start, end] in seconds"
    if not isinstance(item.get("sentence"), str):
        return f"sentence {item.get('sentence')!r}: expected text"
    for name in ("segment", "score"):
        value = item.get(name)
        if value is not None and not _is_number(value):
            return f"{name} {value!r}: expected a number"
    return None


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, str | bytes) and math.isfinite(value)
    except (TypeError, ValueError, OverflowError):
        return False


def _is_time(value: Any) -> bool:
    return _is_number(value) and abs(value) <= _LATEST
