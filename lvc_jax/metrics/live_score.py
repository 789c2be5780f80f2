"""The Live Score: caption quality over the time that has passed (Live Video Captioning paper, section 3.3)."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from lvc_jax.errors import InputError
from lvc_jax.metrics import slots as clock
from lvc_jax.metrics.dense_captioning import interval_iou
from lvc_jax.metrics.signature import signature
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.text.pairs import SCORERS, PairScores
from lvc_jax.metrics.text.tokenizer import NAME as TOKENIZER

VARIANTS = ("live_score", "weighted_live_score", "history_live_score", "weighted_history_live_score")
# With the prediction clock a caption and an event meet from this intersection over union on.
_MEET = 0.001


@dataclasses.dataclass(frozen=True)
class Reading:
    """The choices that equations 2 to 7 leave open; each of them is part of the signature.

    Attributes:
        segment_frames: Δt in frames at 30 per second; "video" makes the whole video one slot.
        clock: "dt": a slot is Δt of time; "prediction": a slot is one prediction, in file order, and time without a
            prediction does not exist.
        gamma: "mean": a slot's score is the mean over its (caption, reference) pairs; "aggregate": BLEU of the
            pairs' summed counts.
        history: denominator of the windowed forms, "min(K,w)" or "K" as printed in equations 5 to 7.
        silent: a slot without event and without caption: "skip" leaves it out, "one" scores it 1, "zero" 0.
        missed: a slot with events and without caption: "zero" scores it 0, "skip" leaves it out.
        references: "both" pairs with the events of every annotation set, "first" with the first set's only.
        window: w, slots of the history.
    """

    segment_frames: int | Literal["video"] = 150
    clock: Literal["dt", "prediction"] = "dt"
    gamma: Literal["mean", "aggregate"] = "mean"
    history: Literal["min(K,w)", "K"] = "min(K,w)"
    silent: Literal["skip", "one", "zero"] = "skip"
    missed: Literal["zero", "skip"] = "zero"
    references: Literal["both", "first"] = "both"
    window: int = 5

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(f"live score: {name}={getattr(self, name)!r}: choose one of {', '.join(choices)}")
        if self.window < 1:
            raise InputError(f"live score: window={self.window}: must be at least 1")

    @property
    def delta_t(self) -> float | None:
        """Δt in seconds; None for the whole video."""
        return None if self.segment_frames == "video" else self.segment_frames / 30

    @property
    def signature(self) -> str:
        """The signature line of scores made with this reading."""
        return signature(
            "livescore",
            mode="paper",
            clock="prediction" if self.clock == "prediction" else f"dt{self.segment_frames}",
            gamma=self.gamma,
            hist=self.history,
            w=self.window,
            silent=self.silent,
            miss=0 if self.missed == "zero" else self.missed,
            refs=self.references,
            tok=TOKENIZER,
        )


_CHOICES: dict[str, tuple[str, ...]] = {
    "clock": ("dt", "prediction"),
    "gamma": ("mean", "aggregate"),
    "history": ("min(K,w)", "K"),
    "silent": ("skip", "one", "zero"),
    "missed": ("zero", "skip"),
    "references": ("both", "first"),
}


class VideoScore(NamedTuple):
    """One video over time: `time` is the end of each scored slot in seconds; every array has a row a scored slot."""

    time: Float[np.ndarray, " k"]
    gamma: Float[np.ndarray, "k 5"]
    false_positives: Float[np.ndarray, " k"]
    curves: dict[str, Float[np.ndarray, "k 5"]]


class _Slot(NamedTuple):
    time: float
    pairs: list[tuple[str, str]]
    false_positives: int
    constant: float


def curves(
    gamma: Float[np.ndarray, "k s"], false_positives: Float[np.ndarray, " k"], *, window: int, history: str
) -> dict[str, Float[np.ndarray, "k s"]]:
    """Equations 2 to 7: the four Live Scores after each slot.

    Args:
        gamma: the score of each slot, by scorer.
        false_positives: captions of each slot that describe no event.
        window: w, slots of the history.
        history: denominator of the windowed forms, "min(K,w)" or "K".

    Returns:
        {variant: [k, s]} for the names in `VARIANTS`.
    """
    number = np.arange(1, len(gamma) + 1, dtype=np.float64)
    recent = np.minimum(number, window) if history == "min(K,w)" else number

    def _windowed(values: np.ndarray) -> np.ndarray:
        # Direct sums: differences of cumulative sums would leave rounding of values that have left the window.
        padded = np.concatenate([np.zeros((window - 1, *values.shape[1:])), values])
        return np.lib.stride_tricks.sliding_window_view(padded, window, axis=0).sum(axis=-1)

    whole = np.cumsum(gamma, axis=0) / number[:, None]
    part = _windowed(gamma) / recent[:, None]
    damping = np.exp(-np.cumsum(false_positives) / number)
    part_damping = np.exp(-_windowed(false_positives) / recent)
    values = (whole, whole * damping[:, None], part, part * part_damping[:, None])
    return dict(zip(VARIANTS, values, strict=True))


def _timed_slots(reference: Mapping[str, Any], items: Sequence[Mapping[str, Any]], reading: Reading) -> list[_Slot]:
    result = []
    for slot in clock.build(reference, items, reading.delta_t):
        captions = [item["sentence"] for item in slot.captions]
        if captions:
            pairs = [(caption, sentence) for caption in captions for sentence in slot.sentences]
            result.append(_Slot(slot.end, pairs, len(captions) if slot.silent else 0, 0.0))
        elif not slot.silent and reading.missed == "zero":
            result.append(_Slot(slot.end, [], 0, 0.0))
        elif slot.silent and reading.silent != "skip":
            result.append(_Slot(slot.end, [], 0, 1.0 if reading.silent == "one" else 0.0))
    return result


def _prediction_slots(reference: Mapping[str, Any], items: Sequence[Mapping[str, Any]]) -> list[_Slot]:
    events = [event for group in reference["references"] for event in group]
    result = []
    for item in items:
        iou = interval_iou([item["timestamp"]], [event[:2] for event in events])[0]
        pairs = [(item["sentence"], event[2]) for event, value in zip(events, iou) if value >= _MEET]
        result.append(_Slot(float(item["timestamp"][1]), pairs, 0 if pairs else 1, 0.0))
    return result


def _slots(reference: Mapping[str, Any], items: Sequence[Mapping[str, Any]], reading: Reading) -> list[_Slot]:
    if reading.references == "first":
        reference = {**reference, "references": list(reference["references"])[:1]}
    if reading.clock == "prediction":
        return _prediction_slots(reference, items)
    return _timed_slots(reference, items, reading)


def score_videos(references: References, predictions: Predictions, reading: Reading) -> dict[str, VideoScore]:
    """The Live Scores of every video over time.

    Args:
        references: {video: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}}.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence", optionally "segment"}]}; a video
            without an entry has no caption; videos without references are ignored.
        reading: the choices that the equations leave open.

    Returns:
        {video: VideoScore} for every video with at least one scored slot.
    """
    videos = {video: _slots(references[video], predictions.get(video, ()), reading) for video in references}
    flat = [slot for slots in videos.values() for slot in slots]
    scores = PairScores([pair for slot in flat for pair in slot.pairs])
    group = np.repeat(np.arange(len(flat)), [len(slot.pairs) for slot in flat])
    gamma = (scores.mean if reading.gamma == "mean" else scores.aggregate)(group, len(flat))
    gamma += np.array([slot.constant for slot in flat]).reshape(-1, 1)
    result, position = {}, 0
    for video, slots in videos.items():
        if not slots:
            continue
        rows = gamma[position : position + len(slots)]
        position += len(slots)
        false_positives = np.array([slot.false_positives for slot in slots], np.float64)
        time = np.array([slot.time for slot in slots])
        values = curves(rows, false_positives, window=reading.window, history=reading.history)
        result[video] = VideoScore(time, rows, false_positives, values)
    return result


def summary(videos: Mapping[str, VideoScore]) -> dict[str, float]:
    """Data set numbers: per video the mean of the curve over its slots, then the mean over videos (paper, Table 6).

    Args:
        videos: scores of the videos.

    Returns:
        {"<variant>_<scorer>": fraction}; 0 where no video has a scored slot.
    """
    result = {}
    for variant in VARIANTS:
        means = np.array([video.curves[variant].mean(axis=0) for video in videos.values()]).reshape(-1, len(SCORERS))
        values = means.mean(axis=0) if len(means) else np.zeros(len(SCORERS))
        result.update({f"{variant}_{scorer}": float(value) for scorer, value in zip(SCORERS, values, strict=True)})
    return result
