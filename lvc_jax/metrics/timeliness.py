"""How soon an event is captioned: "as soon as the actions unfold" (Live Video Captioning paper, section 3.1)."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lvc_jax.errors import InputError
from lvc_jax.metrics import slots as clock
from lvc_jax.metrics.live_score.pairs import Slots, collect
from lvc_jax.metrics.live_score.reading import Reading
from lvc_jax.metrics.online import plain
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.text.scorers import SCORERS, PairScorer
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
# A millionth of a second: sums of slots of 0.8 s are not exact.
_TOLERANCE = 1e-6


@dataclasses.dataclass(frozen=True)
class Rule:
    """When a caption counts for an event.

    Attributes:
        segment_frames: Δt in frames. A caption appears at the end of its slot, and it can count for the events that
            its slot overlaps. "video": for predictions without a clock; a caption appears at the end of its own
            timestamp and can count for the events that it meets with an intersection over union of 0.001 or more.
        match: "label": caption and reference are the same words (case, outer blanks and the final period aside); or a
            scorer out of `text.scorers.SCORERS` without CIDEr, whose sentence score must reach the threshold.
        threshold: least score; no meaning for "label".
        references: events of "both" annotation sets, each with its own sentence, or of the "first".
        fps: frames a second that `segment_frames` counts.
    """

    segment_frames: int | Literal["video"] = 150
    match: str = "METEOR"
    threshold: float = 0.15
    references: Literal["both", "first"] = "both"
    fps: float = 30.0

    def __post_init__(self) -> None:
        known = ("label", *(scorer for scorer in SCORERS if scorer != "CIDEr"))
        if self.match not in known:
            raise InputError(f"timeliness: match={self.match!r}: choose one of {', '.join(known)}")
        if not (math.isfinite(self.threshold) and 0 < self.threshold <= 1):
            raise InputError(f"timeliness: threshold={self.threshold}: must be above 0 and at most 1")
        _ = self.reading

    @property
    def reading(self) -> Reading:
        """What decides which captions and events meet."""
        live = self.segment_frames != "video"
        return Reading(
            self.segment_frames,
            clock="dt" if live else "prediction",
            references=self.references,
            fps=self.fps,
            scorers=("ROUGE-L",),
        )

    @property
    def matching(self) -> str:
        """`label`, or the scorer and its threshold as in `ROUGE-L>=0.3`."""
        short = f"{self.threshold:g}"
        exact = short if float(short) == self.threshold else repr(float(self.threshold))
        return "label" if self.match == "label" else f"{self.match}>={exact}"

    @property
    def signature(self) -> str:
        """The signature line of numbers made with this rule."""
        rate = "" if self.fps == 30 else f"@{self.fps:g}"
        return signature(
            "timeliness",
            clock="prediction" if self.segment_frames == "video" else f"dt{self.segment_frames}{rate}",
            match=self.matching,
            refs=self.references,
            tok=TOKENIZER,
        )


class Delays(NamedTuple):
    """One entry for each event; those of two hosts or batches are put together by `merge`.

    Attributes:
        delay: seconds from the event's start to the first caption that matches it; inf if there is none.
        length: of the event in seconds.
    """

    delay: Float[np.ndarray, " n"]
    length: Float[np.ndarray, " n"]


def delays(references: References, predictions: Predictions, rule: Rule, scorer: PairScorer | None = None) -> Delays:
    """The delay of every event.

    Args:
        references: {video: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}}.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence", optionally "segment"}]}; a video without
            an entry has no caption.
        rule: when a caption counts for an event.
        scorer: a memory of pairs that has the rule's scorer, to score no pair again; a new one if None.

    Raises:
        InputError: an entry without a usable time or sentence; METEOR without its resources; a `scorer` that lacks the
            rule's.
    """
    reading = rule.reading
    clock.check(references, predictions, reading.delta_t)
    slots = collect(references, predictions, reading)
    used = 1 if rule.references == "first" else None
    events = [event for reference in references.values() for group in reference["references"][:used] for event in group]
    start, end = np.array([event[:2] for event in events], np.float64).reshape(-1, 2).T
    first = np.full(len(events), np.inf)
    matched = _matched(slots, rule, scorer)
    np.minimum.at(first, slots.sentence[matched], slots.time[slots.slot[matched]])
    return Delays(np.maximum(first - start, 0.0), np.maximum(end - start, 0.0))


def _matched(slots: Slots, rule: Rule, scorer: PairScorer | None) -> Bool[np.ndarray, " p"]:
    captions, sentences = slots.captions, slots.sentences
    pairs = list(zip(slots.caption.tolist(), slots.sentence.tolist()))
    if rule.match == "label":
        said, meant = [plain(text) for text in captions], [plain(text) for text in sentences]
        return np.array([said[i] == meant[j] for i, j in pairs], bool)
    scorer = PairScorer([rule.match]) if scorer is None else scorer
    if rule.match not in scorer.scorers:
        raise InputError(f"timeliness: the given pair scorer has no {rule.match}; make it with that scorer")
    scores = scorer.sentence([captions[i] for i, _ in pairs], [(sentences[j],) for _, j in pairs])
    return scores[rule.match] >= rule.threshold


def merge(parts: Sequence[Delays]) -> Delays:
    """The events of all hosts or batches."""
    nothing = Delays(np.zeros(0), np.zeros(0))
    return Delays(*(np.concatenate(columns) for columns in zip(nothing, *parts)))


def summary(events: Delays) -> dict[str, float | None]:
    """Numbers over all events of all videos.

    - timeliness/delay_mean_s, and quantiles delay_p10_s to delay_p90_s: seconds, of the events that are captioned.
    - timeliness/never: share of events without a matching caption.
    - timeliness/before_half: share of events captioned by the time that half of the event had passed.

    Returns:
        {name: number}, None where there is nothing to count.
    """
    captioned = np.isfinite(events.delay)
    seen = events.delay[captioned]
    early = events.delay <= events.length / 2 + _TOLERANCE
    result: dict[str, float | None] = {"timeliness/delay_mean_s": float(seen.mean()) if len(seen) else None}
    for share in _QUANTILES:
        result[f"timeliness/delay_p{100 * share:.0f}_s"] = float(np.quantile(seen, share)) if len(seen) else None
    result["timeliness/never"] = float(1 - captioned.mean()) if len(captioned) else None
    result["timeliness/before_half"] = float(early.mean()) if len(early) else None
    return result


def score(
    references: References, predictions: Predictions, rule: Rule, scorer: PairScorer | None = None
) -> dict[str, float | None]:
    """`summary` of `delays`."""
    return summary(delays(references, predictions, rule, scorer))
