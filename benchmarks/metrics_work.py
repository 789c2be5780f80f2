"""One piece of scoring work by one tool, alone in a process: `python -m benchmarks.metrics_work FILE`.

FILE is JSON: {"work": "meteor" | "dense" | "live", "tool": "ours" | "original", ...}. Prints one line of JSON with the
seconds of the work itself and its scores. "original" is pycocoevalcap, called as the evaluation programs call it.
"""

import contextlib
import io
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lvc_jax.evaluation.scoring import inputs
from lvc_jax.metrics import dense_captioning, live_score
from lvc_jax.metrics.dense_captioning.matching import flatten_events, flatten_predictions, meet
from lvc_jax.metrics.live_score.gamma import pair_scorer
from lvc_jax.metrics.text.scorers import SCORERS, PairScorer

NAMES = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr")
Items = dict[str, list[dict[str, str]]]


class Original:
    """The scorers of pycocoevalcap. One METEOR process; a tokenizer process for each list of sentences."""

    def __init__(self, scorers: Sequence[str] = NAMES):
        from pycocoevalcap.bleu.bleu import Bleu
        from pycocoevalcap.cider.cider import Cider
        from pycocoevalcap.meteor.meteor import Meteor
        from pycocoevalcap.rouge.rouge import Rouge
        from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

        self._tokenizer = PTBTokenizer()
        made = {"BLEU-4": lambda: Bleu(4), "METEOR": Meteor, "ROUGE-L": Rouge, "CIDEr": Cider}
        self.scorers = {name: make() for name, make in made.items() if name in scorers}

    def tokenize(self, items: Items) -> dict[str, list[str]]:
        return self._tokenizer.tokenize(items)

    def score(self, name: str, references: dict[str, list[str]], captions: dict[str, list[str]]) -> dict[str, float]:
        """What one call prints, by name."""
        with contextlib.redirect_stdout(io.StringIO()):
            value, _ = self.scorers[name].compute_score(references, captions)
        return dict(zip(NAMES[:4], value)) if name == "BLEU-4" else {name: float(value)}


def meteor(task: dict[str, Any]) -> dict[str, Any]:
    """Pairs of a file [[caption, reference], ...]; `warm` leaves out the start of the tool."""
    pairs = json.loads(Path(task["pairs"]).read_text(encoding="utf-8"))
    captions, references = [pair[0] for pair in pairs], [[pair[1]] for pair in pairs]
    if task["tool"] == "ours":
        scorer = PairScorer(["METEOR"])
        scorer.sentence(captions[:1], references[:1])
        begun = time.perf_counter()
        value = scorer.calls(captions, references, np.zeros(len(pairs), np.int64), 1)["METEOR"][0]
    else:
        tool = Original(["METEOR"])
        tool.score("METEOR", {"0": references[0]}, {"0": captions[:1]})
        said = {str(index): [text] for index, text in enumerate(captions)}
        meant = {str(index): own for index, own in enumerate(references)}
        begun = time.perf_counter()
        value = tool.score("METEOR", meant, said)["METEOR"]
    return {"warm": time.perf_counter() - begun, "items": len(pairs), "scores": {"METEOR": float(value)}}


def _annotated(paths: Sequence[str], *, keep_places: bool) -> inputs.References:
    return inputs.as_written(inputs.read_annotations(paths), keep_places=keep_places)


def dense(task: dict[str, Any]) -> dict[str, Any]:
    """The evaluator `2018` on a whole predictions file: four tIoU, all scorers, precision and recall."""
    references = _annotated(task["references"], keep_places=True)
    predictions = inputs.read_predictions(task["predictions"], references, reversed_times=True).items
    if task["videos"]:
        references = dict(list(references.items())[: task["videos"]])
        predictions = {video: own for video, own in predictions.items() if video in references}
    number = sum(len(own) for own in predictions.values())
    begun = time.perf_counter()
    if task["tool"] == "ours":
        scores = dense_captioning.evaluate(references, predictions, "2018", scorers=NAMES).scores
        scores = {name: scores[name] for name in NAMES}
    else:
        scores = _dense_original(references, predictions)
    return {"warm": time.perf_counter() - begun, "items": number, "scores": scores}


def _dense_original(references: dict[str, Any], predictions: dict[str, Any]) -> dict[str, float]:
    """As the evaluator does: for each τ and scorer, tokenise everything anew and call the scorer once for each video.

    Which caption meets which event comes from our code; it is a small part of the time.
    """
    tool = Original()
    videos = list(references)
    sums = dict.fromkeys(NAMES, 0.0)
    for limit in dense_captioning.THRESHOLDS:
        by_video = list(_pairs(references, predictions, videos, limit))
        meant = {f"{v}.{i}": [{"caption": pair[1]}] for v, own in by_video for i, pair in enumerate(own)}
        said = {f"{v}.{i}": [{"caption": pair[0]}] for v, own in by_video for i, pair in enumerate(own)}
        for name in tool.scorers:
            meant_tokens, said_tokens = tool.tokenize(meant), tool.tokenize(said)
            for v, own in by_video:
                keys = [f"{v}.{i}" for i in range(len(own))]
                values = tool.score(name, {k: meant_tokens[k] for k in keys}, {k: said_tokens[k] for k in keys})
                for key, value in values.items():
                    sums[key] += value
    return {name: value / len(videos) / len(dense_captioning.THRESHOLDS) for name, value in sums.items()}


def _plain(text: str) -> str:
    return "".join(letter if letter.isascii() else " " for letter in text).replace("\n", " ").replace("\r", " ")


def _pairs(
    references: dict[str, Any], predictions: dict[str, Any], videos: list[str], limit: float
) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    events, found = flatten_events(references, videos), flatten_predictions(predictions, videos, 1000)
    meetings = meet(found, events, len(videos), floor=limit)
    pairs: dict[int, list[tuple[str, str]]] = {}
    met = set(meetings.prediction.tolist())
    for prediction, event in zip(meetings.prediction.tolist(), meetings.event.tolist()):
        pair = _plain(found.sentence[prediction]), _plain(events.sentence[event])
        pairs.setdefault(int(found.video[prediction]), []).append(pair)
    for prediction in set(range(len(found.video))) - met:
        pairs.setdefault(int(found.video[prediction]), []).append((_plain(found.sentence[prediction]), "abc123!@#"))
    yield from sorted(pairs.items())


def live(task: dict[str, Any]) -> dict[str, Any]:
    """The toolkit's Live Score, all scorers and four curves; `original` scores the first slots as the toolkit does."""
    references = _annotated(task["references"][:1], keep_places=False)
    pool = [
        event[2]
        for own in _annotated(task["references"][-1:], keep_places=False).values()
        for events in own["references"]
        for event in events
    ]
    predictions = _spoken(references, pool, task["delta_t"])
    begun = time.perf_counter()
    if task["tool"] == "ours":
        reading = live_score.Reading(mode="reference", scorers=tuple(SCORERS))
        scorer = pair_scorer(reading)
        videos = live_score.score_videos(references, predictions, reading, scorer)
        seconds = time.perf_counter() - begun
        items = sum(len(video.time) for video in videos.values())
        scores = live_score.summary(videos)
        return {"warm": seconds, "items": items, "pairs": scorer.pairs, "scores": scores}
    number = task["slots"]
    tool = Original(("BLEU-4", "METEOR", "ROUGE-L"))
    tool.score("METEOR", {"0": ["a"]}, {"0": ["a"]})
    done = 0
    begun = time.perf_counter()
    for video, items in predictions.items():
        for item in items[: number - done]:
            start, end = item["timestamp"]
            met = [text for s, e, text in references[video]["references"][0] if min(e, end) > max(s, start)] or ["zqxv"]
            meant = {str(i): [{"caption": _plain(text)}] for i, text in enumerate(met)}
            said = {str(i): [{"caption": _plain(item["sentence"])}] for i in range(len(met))}
            meant_tokens, said_tokens = tool.tokenize(meant), tool.tokenize(said)
            for name in tool.scorers:
                tool.score(name, meant_tokens, said_tokens)
            done += 1
        if done >= number:
            break
    return {"warm": time.perf_counter() - begun, "items": done, "scores": {}}


def _spoken(references: dict[str, Any], pool: Sequence[str], delta_t: float) -> dict[str, list[dict[str, Any]]]:
    """A caption out of the pool in every slot of every video."""
    draw = np.random.default_rng(0)
    spoken = {}
    for video, own in references.items():
        edges = np.arange(0, own["duration"], delta_t)
        chosen = draw.integers(0, len(pool), len(edges)).tolist()
        spoken[video] = [
            {"timestamp": [float(start), float(min(start + delta_t, own["duration"]))], "sentence": pool[index]}
            for start, index in zip(edges, chosen)
        ]
    return spoken


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    result = {"meteor": meteor, "dense": dense, "live": live}[given["work"]](given)
    print(json.dumps(result))
