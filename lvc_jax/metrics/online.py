"""What a viewer of live captions notices: right captions, quiet silences, counts, and how late the first caption is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lvc_jax.metrics import slots as clock
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References, Slot

_TOLERANCE = 1e-6
Counts = Mapping[str, Sequence[int]]
"""{video: a counter's number of events in each slot}."""


def plain(sentence: str) -> str:
    """A caption as exact matches compare it: lower case, without outer blanks and the final period."""
    # Vocabularies end every caption with a period, annotators do not always.
    return sentence.lower().strip().rstrip(".").rstrip()


def _count_right(slot: Slot, number: int) -> bool:
    return any(number == len(events) for events in slot.events)


def _delays(events: Sequence[clock.ReferenceEvent], spoken: Sequence[tuple[float, float]]) -> tuple[list[float], int]:
    """Delays of the captioned events and the number of others; `spoken`: spans of slots with a caption, in order."""
    delays, missed = [], 0
    for start, end, _ in events:
        emitted = next((b for a, b in spoken if min(b, end) - max(a, start) > _TOLERANCE), None)
        if emitted is None:
            missed += 1
        else:
            delays.append(emitted - start)
    return delays, missed


def _share(values: Sequence[bool]) -> float | None:
    return float(np.mean(values)) if len(values) else None


def score(
    references: References, predictions: Predictions, delta_t: float | None, *, counts: Counts | None = None
) -> dict[str, float | None]:
    """Counts over all slots of all videos (not means of videos).

    A slot is silent where no reference set has an event. The keys:

    - exact_match: share of non-silent slots whose highest-scored caption is a reference of an event that overlaps the
      slot, lower-cased and without outer blanks and the final period; exact_match_all: the same asked of every caption
      of the slot (at least one).
    - silent_kept: share of silent slots without a caption.
    - count_accuracy: share of slots with as many captions as one of the reference sets has events there.
    - counter_accuracy, only with `counts`: share of slots in which the counter's figure is the number of events of one
      of the reference sets, whether or not it became as many captions.
    - false_captions_per_silent_minute: captions in silent slots over the silent slots' total time.
    - delay_mean_s: mean over events (first reference set) of the seconds from the event's start to the end of the first
      slot that overlaps it and has a caption, the moment that caption appears; delay_missed_share: events without one.
      Neither asks whether the caption is right.

    A whole video is no live slot, so it gets `count_accuracy` and `counter_accuracy` only.

    Args:
        references: {video: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}}.
        predictions: {video: [{"timestamp", "sentence", optionally "segment", "score"}]}.
        delta_t: seconds of a slot; None makes the whole video one slot.
        counts: a counter's own figure for every slot of every video of the references.

    Returns:
        {name: number}, None where there is nothing to count (for example no silent slot).
    """
    exact, exact_all, kept, counted, counter = [], [], [], [], []
    delays: list[float] = []
    false_captions, silent_s, missed = 0, 0.0, 0
    for video, reference in references.items():
        slots = clock.build(reference, predictions.get(video, ()), delta_t)
        for slot in slots:
            counted.append(_count_right(slot, len(slot.captions)))
            if slot.silent:
                kept.append(not slot.captions)
                false_captions += len(slot.captions)
                silent_s += slot.end - slot.start
            else:
                right = _right_captions(slot)
                exact.append(bool(right) and right[0])
                exact_all.append(bool(right) and all(right))
        if counts is not None:
            counter += [_count_right(slot, number) for slot, number in zip(slots, counts[video], strict=True)]
        spoken = [(slot.start, slot.end) for slot in slots if slot.captions]
        late, never = _delays(reference["references"][0], spoken)
        delays += late
        missed += never
    right_counts = {"count_accuracy": _share(counted)}
    if counts is not None:
        right_counts["counter_accuracy"] = _share(counter)
    if delta_t is None:
        return right_counts
    return {
        "exact_match": _share(exact),
        "exact_match_all": _share(exact_all),
        "silent_kept": _share(kept),
        **right_counts,
        "false_captions_per_silent_minute": 60 * false_captions / silent_s if silent_s else None,
        "delay_mean_s": float(np.mean(delays)) if delays else None,
        "delay_missed_share": missed / (missed + len(delays)) if missed + len(delays) else None,
    }


def _right_captions(slot: Slot) -> list[bool]:
    """Whether each caption of the slot is exactly a reference there, best score first."""
    wanted = {plain(sentence) for sentence in slot.sentences}
    ranked = sorted(slot.captions, key=_rank)
    return [plain(item["sentence"]) in wanted for item in ranked]


def _rank(item: Mapping[str, Any]) -> float:
    value = item.get("score")
    return -float("inf") if value is None else -float(value)


def online_signature(segment_frames: int | str) -> str:
    """The signature line of these counts."""
    clock_name = segment_frames if segment_frames == "video" else f"dt{segment_frames}"
    return signature("online", clock=clock_name, exact="lower+strip", count="captions", delay="slot-end", refs="both")
