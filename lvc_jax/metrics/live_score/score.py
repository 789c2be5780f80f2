"""The Live Scores of a data set: from captions and events to curves and to one number for each scorer."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from lvc_jax.metrics import slots as clock
from lvc_jax.metrics.live_score.curves import VARIANTS, curves, recursion
from lvc_jax.metrics.live_score.gamma import slot_scores
from lvc_jax.metrics.live_score.pairs import collect
from lvc_jax.metrics.live_score.reading import TOOLKIT_LABELS, Reading
from lvc_jax.metrics.slots import Predictions, References
from lvc_jax.metrics.text.scorers import PairScorer

_TOOLKIT_KEYS = dict(zip(VARIANTS, ("results", "results_w", "results_h_no_w", "results_h"), strict=True))


class VideoScore(NamedTuple):
    """One video over time; every array has a row a scored slot and a column a scorer.

    Attributes:
        time: the end of each slot in seconds. With clock "prediction" the end of the prediction, in file order.
        gamma: the score of each slot.
        false_positives: captions of each slot that describe no event.
        curves: {variant: values}, variants as in `VARIANTS`.
        scorers: names of the columns.
    """

    time: Float[np.ndarray, " k"]
    gamma: Float[np.ndarray, "k s"]
    false_positives: Float[np.ndarray, " k"]
    curves: dict[str, Float[np.ndarray, "k s"]]
    scorers: tuple[str, ...]

    def figures(self) -> dict[str, Float[np.ndarray, " k"]]:
        """The whole figure set: {"LS/BLEU-1": values over the slots, ...}, four curves for each scorer."""
        return {
            f"{variant}/{scorer}": self.curves[variant][:, column]
            for column, scorer in enumerate(self.scorers)
            for variant in VARIANTS
        }

    def data(self) -> dict[str, list[float]]:
        """Times, false captions and the figure set as plain lists, for JSON."""
        arrays = {"time_s": self.time, "false_positives": self.false_positives, **self.figures()}
        return {name: values.tolist() for name, values in arrays.items()}


def score_videos(
    references: References, predictions: Predictions, reading: Reading, scorer: PairScorer | None = None
) -> dict[str, VideoScore]:
    """The Live Scores of every video over time.

    Args:
        references: {video: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}}.
        predictions: {video: [{"timestamp": [start, end] seconds, "sentence", optionally "segment"}]}; a video
            without an entry has no caption; videos without references are ignored.
        reading: the choices that the equations leave open.
        scorer: from `pair_scorer`, to score no pair again that an earlier call has scored (in another mode, at another
            Δt); a new one if None.

    Returns:
        {video: VideoScore} for every video with at least one scored slot.

    Raises:
        InputError: an entry without a usable time or sentence; METEOR without its resources.
    """
    clock.check(references, predictions, reading.delta_t if reading.clock == "dt" else None)
    slots = collect(references, predictions, reading)
    gamma = slot_scores(slots, reading, scorer)
    published = None
    if reading.mode == "reference":
        published = recursion(gamma, slots.false_positives, slots.counts, reading.window)
    result, position = {}, 0
    for video, count in zip(slots.videos, slots.counts.tolist()):
        if not count:
            continue
        rows = slice(position, position + count)
        position += count
        false_positives = slots.false_positives[rows]
        if published is not None:
            values = dict(zip(VARIANTS, published[:, rows], strict=True))
        else:
            values = curves(gamma[rows], false_positives, window=reading.window, history=str(reading.history))
        result[video] = VideoScore(slots.time[rows], gamma[rows], false_positives, values, reading.names)
    return result


def summary(videos: Mapping[str, VideoScore], scorers: tuple[str, ...] | None = None) -> dict[str, float]:
    """Data set numbers: per video the mean of the curve over its slots, then the mean over videos (paper, Table 6).

    Args:
        videos: scores of the videos.
        scorers: names of the scorers; those of the videos if None.

    Returns:
        {"LS/BLEU-1": fraction, ...}, four for each scorer; 0 where no video has a scored slot.
    """
    if scorers is None:
        scorers = next((video.scorers for video in videos.values()), ())
    result = {}
    for variant in VARIANTS:
        means = [video.curves[variant].mean(axis=0) for video in videos.values()]
        values = np.mean(means, axis=0) if means else np.zeros(len(scorers))
        result.update({f"{variant}/{scorer}": float(value) for scorer, value in zip(scorers, values, strict=True)})
    return result


def toolkit_form(videos: Mapping[str, VideoScore], window: int) -> dict[str, dict[str, Any]]:
    """The curves in the form of the toolkit's results file, for programs that read those.

    The toolkit calls BLEU-1 "Bleu_4"; here the same values stand under "BLEU-1" as well.

    Args:
        videos: scores made with the toolkit's scorers, or some of them.
        window: w.

    Returns:
        {video: {"delta_t_window": w, "results" (LS), "results_h_no_w" (hLS), "results_w" (wLS), "results_h" (whLS)}},
        each of the four {label: [values]}.
    """
    result: dict[str, dict[str, Any]] = {}
    for name, video in videos.items():
        figures = {key: values.tolist() for key, values in video.figures().items()}
        result[name] = {"delta_t_window": window}
        for variant, key in _TOOLKIT_KEYS.items():
            block = {TOOLKIT_LABELS.get(scorer, scorer): figures[f"{variant}/{scorer}"] for scorer in video.scorers}
            if "BLEU-1" in video.scorers:
                block["BLEU-1"] = block["Bleu_4"]
            result[name][key] = block
    return result
