"""The predictor that puts one box on every slot: figures recovered from published tables, free of any model.

Recall and precision (in per cent, tIoU .3/.5/.7/.9) of ActivityNet Captions val_1 + val_2: a box counts where its IoU
with some event is above the threshold; per video the better of the two annotation files; mean over videos.
"""

import numpy as np
import pytest

from lvc_jax.data import annotations, segments

THRESHOLDS = np.array([0.3, 0.5, 0.7, 0.9])

ORIGINAL = {
    24: ([8.53, 3.10, 0.98, 0.16], [1.78, 0.45, 0.18, 0.04]),
    48: ([18.74, 7.84, 2.52, 0.46], [5.80, 1.87, 0.73, 0.16]),
    72: ([26.69, 12.40, 4.48, 0.90], [10.19, 3.87, 1.63, 0.36]),
    96: ([32.91, 16.35, 6.21, 1.29], [14.38, 6.15, 2.64, 0.64]),
    120: ([37.62, 19.10, 7.31, 1.62], [18.46, 8.13, 3.50, 0.81]),
    150: ([43.21, 22.39, 9.18, 2.11], [23.67, 10.58, 4.77, 1.25]),
}
SPLIT = {
    24: ([99.10, 98.25, 97.40, 96.44], [98.39, 98.11, 97.60, 96.98]),
    150: ([95.82, 91.45, 87.42, 82.84], [98.85, 98.02, 94.90, 91.05]),
}


@pytest.fixture(scope="module")
def videos(shared):
    folder = shared / "data" / "activitynet_captions"
    return annotations.load(folder / "val_1.json", second=folder / "val_2.json").videos.values()


def _iou(low, high, truth_low, truth_high):
    both = np.maximum(np.minimum(high, truth_high) - np.maximum(low, truth_low), 0)
    hull = np.maximum(high, truth_high) - np.minimum(low, truth_low)
    # The small constant of the published evaluators decides exact ties with a threshold: they do not count.
    return both / (hull + 1e-8)


def _rates(best_of_truth, best_of_predicted):
    return [(best[:, None] > THRESHOLDS).mean(0) for best in (best_of_truth, best_of_predicted)]


def _recall_precision(predicted, references):
    """[2, 4]: the better of the annotation files for each figure."""
    rows = []
    for truth in references:
        iou = _iou(predicted[:, None, 0], predicted[:, None, 1], truth[None, :, 0], truth[None, :, 1])
        rows.append(_rates(iou.max(0), iou.max(1)))
    return np.max(rows, axis=0)


def _recall_precision_of_pieces(predicted, references, step):
    """As `_recall_precision`, for truth no longer than a slot: only the slots around its middle can overlap it."""
    rows = []
    for truth in references:
        middle = (truth.mean(1) // step).astype(int)
        best_of_truth, best_of_predicted = np.zeros(len(truth)), np.zeros(len(predicted))
        for shift in (-1, 0, 1):
            slot = np.clip(middle + shift, 0, len(predicted) - 1)
            iou = _iou(*predicted[slot].T, *truth.T)
            np.maximum(best_of_truth, iou, out=best_of_truth)
            np.maximum.at(best_of_predicted, slot, iou)
        rows.append(_rates(best_of_truth, best_of_predicted))
    return np.max(rows, axis=0)


def _slots(duration, segment_frames, count):
    spans = [segments.segment_span(k, segment_frames, duration) for k in range(count)]
    return np.array(spans)


@pytest.mark.parametrize("segment_frames", ORIGINAL)
def test_original_annotations(videos, segment_frames):
    scores = []
    for video in videos:
        # Plain float division, as the table was made: 160 s hold 49 slots of 3.2 s, not 50.
        count = max(1, int(video.duration // segments.segment_seconds(segment_frames)))
        references = [np.array([(e.start, e.end) for e in events]) for events in video.references]
        scores.append(_recall_precision(_slots(video.duration, segment_frames, count), references))
    np.testing.assert_allclose(100 * np.mean(scores, 0), ORIGINAL[segment_frames], atol=0.01)


def _slivers(video_events, pieces, step):
    """Pieces of no length that plain float arithmetic makes where 3 * 0.8 > 2.4: no box can hit them."""
    slivers = []
    for piece in pieces:
        event = video_events[piece.event_index]
        if piece.start == event.start < piece.segment * step:
            slivers.append((event.start, event.start))
        if piece.end == event.end > (piece.segment + 1) * step:
            slivers.append((event.end, event.end))
    return slivers


@pytest.mark.parametrize("segment_frames", SPLIT)
def test_split_annotations(videos, segment_frames):
    step = segments.segment_seconds(segment_frames)
    clean, as_published, n_slivers = [], [], 0
    for video in videos:
        pieces = [segments.cut(events, video.duration, segment_frames) for events in video.references]
        spans = [[(p.start, p.end) for p in one] for one in pieces]
        slivers = [_slivers(events, one, step) for events, one in zip(video.references, pieces)]
        n_slivers += sum(map(len, slivers))
        count = segments.num_segments(video.duration, segment_frames)
        slots = _slots(video.duration, segment_frames, count)
        clean.append(_recall_precision_of_pieces(slots, [np.array(one) for one in spans], step))
        if any(slivers):
            together = [np.array(a + b) for a, b in zip(spans, slivers)]
            as_published.append(_recall_precision_of_pieces(slots, together, step))
        else:
            as_published.append(clean[-1])
    # The table was made with float slivers among its pieces (126 of 1.5 million at Δt = 24, none at 150).
    np.testing.assert_allclose(100 * np.mean(as_published, 0), SPLIT[segment_frames], atol=0.01)
    assert n_slivers == {24: 126, 150: 0}[segment_frames]
    np.testing.assert_allclose(100 * np.mean(clean, 0), SPLIT[segment_frames], atol=0.015)
