"""Paragraph metrics: all captions of a video as one text against all sentences of each annotation set."""

import re
from collections.abc import Sequence

import numpy as np

from lvc_jax.metrics.dense_captioning.matching import Intervals
from lvc_jax.metrics.text.scorers import PairScorer

_NO_LETTER = re.compile("[^a-zA-Z]+")


def _paragraph(sentences: Sequence[str]) -> str:
    return _NO_LETTER.sub(" ", " ".join(sentences)).strip().lower()


def paragraph_scores(
    found: Intervals, events: Intervals, videos: int, scorers: Sequence[str], pair_scorer: PairScorer
) -> dict[str, float]:
    """Scores of the whole set of paragraphs in one call (PDVC reference).

    A video's captions are joined in order of their start, the sentences of an annotation set in order of the file;
    everything but letters becomes a blank. Every annotation set with sentences is a reference of the video. A video
    without captions has an empty paragraph; a video without any reference sentence is left out.

    Args:
        found: the captions of all videos.
        events: the reference events of all videos.
        videos: how many there are.
        scorers: text scorers.
        pair_scorer: scores the paragraphs.

    Returns:
        {"para/<scorer>": fraction}: BLEU and METEOR of summed statistics, mean ROUGE-L and CIDEr; 0 if there is nothing
        to score.
    """
    texts: list[dict[int, list[str]]] = [{} for _ in range(videos)]
    for video, group, sentence in zip(events.video.tolist(), events.group.tolist(), events.sentence):
        texts[video].setdefault(group, []).append(sentence)
    captions: list[list[str]] = [[] for _ in range(videos)]
    for index in np.lexsort((found.span[:, 0], found.video)):
        captions[found.video[index]].append(found.sentence[index])
    paragraphs = [tuple(filter(None, map(_paragraph, own.values()))) for own in texts]
    kept = [index for index, own in enumerate(paragraphs) if own]
    if not kept:
        return {f"para/{scorer}": 0.0 for scorer in scorers}
    values = pair_scorer.calls(
        [_paragraph(captions[index]) for index in kept],
        [paragraphs[index] for index in kept],
        np.zeros(len(kept), np.int64),
        1,
    )
    return {f"para/{scorer}": float(values[scorer][0]) for scorer in scorers}
