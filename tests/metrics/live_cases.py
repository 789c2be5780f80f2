"""What the tests of the live metrics share: toolkit files in the metrics' form, random data, and slow plain oracles."""

import json
import math
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from lvc_jax.metrics.live_score import VARIANTS, Reading
from lvc_jax.metrics.text.scorers import PairScorer

TOOLKIT_KEYS = dict(zip(VARIANTS, ("results", "results_w", "results_h_no_w", "results_h")))
"""{variant: key of the toolkit's file}."""
PAPER_LABELS = {"BLEU-1": "Bleu_1", "BLEU-4": "Bleu_4", "METEOR": "METEOR", "ROUGE-L": "ROUGE_L"}
"""{scorer: name in the golden curves by the paper's equations}."""
_NO_EVENT = "zzzzz"
_WORDS = ("a", "man", "runs", "dog", "barks", "the")


def random_data(seed: int) -> tuple[dict[str, dict], dict[str, list[dict]]]:
    """References and predictions of up to three small videos; halves of seconds, so that times meet slot ends."""
    draw = np.random.default_rng(seed)

    def _sentence() -> str:
        return " ".join(draw.choice(_WORDS, draw.integers(0, 5)))

    def _span() -> list[float]:
        start = int(draw.integers(0, 40))
        return [start / 2, (start + int(draw.integers(0, 24))) / 2]

    references, predictions = {}, {}
    for name in ("u", "v", "w")[: draw.integers(1, 4)]:
        sets = [[(*_span(), _sentence()) for _ in range(draw.integers(0, 4))] for _ in range(draw.integers(1, 3))]
        references[name] = {"duration": int(draw.integers(1, 48)) / 2, "references": sets}
        items = [{"timestamp": _span(), "sentence": _sentence()} for _ in range(draw.integers(0, 8))]
        predictions[name] = [
            item | ({"segment": int(draw.integers(0, 9))} if draw.random() < 0.5 else {}) for item in items
        ]
    return references, predictions


# One number for each data set: hypothesis is quick to draw and to shrink it.
DATA = st.integers(0, 1 << 30).map(random_data)


def merge_files(files: list[dict]) -> dict[str, dict]:
    """Annotation files as {video: {"duration", "references"}}; a video has the sets of the files that hold it."""
    merged = {}
    for video in dict.fromkeys(name for file in files for name in file):
        own = [file[video] for file in files if video in file]
        sets = [[(*span, sentence) for span, sentence in zip(one["timestamps"], one["sentences"])] for one in own]
        merged[video] = {"duration": own[0]["duration"], "references": sets}
    return merged


def read(path: Path) -> dict:
    return json.loads(path.read_text(encoding="utf-8"))


def oracle_slots(
    reference: dict, items: list[dict], reading: Reading
) -> list[tuple[list[tuple[str, str]], int, float]]:
    """(pairs, false positives, constant) of every scored slot, one slot after the other."""
    sets = reference["references"][:1] if reading.references == "first" else reference["references"]
    events = [event for group in sets for event in group]
    slots = []
    if reading.clock == "prediction":
        for item in items[:1000]:
            (a, b), met = item["timestamp"], []
            for s, e, sentence in events:
                inter = max(0.0, min(b, e) - max(a, s))
                union = min(max(b, e) - min(a, s), (b - a) + (e - s)) + 1e-8
                met += [(item["sentence"], sentence)] if inter / union >= 0.001 else []
            pairs = met or ([(item["sentence"], _NO_EVENT)] if reading.gamma == "aggregate" else [])
            slots.append((pairs, 0 if met else 1, 0.0))
        return slots
    step = reading.delta_t or reference["duration"]
    number = 1 if reading.delta_t is None else max(1, math.ceil(reference["duration"] / step - 1e-9))
    for k in range(number):
        said = []
        for item in items:
            middle = sum(item["timestamp"]) / 2
            place = item.get("segment", int(middle // step))
            said += [item["sentence"]] if number == 1 or min(max(place, 0), number - 1) == k else []
        here = [t for s, e, t in events if e > s and (reading.delta_t is None or (s < (k + 1) * step and e > k * step))]
        if said and here:
            slots.append(([(caption, sentence) for caption in said for sentence in here], 0, 0.0))
        elif said:
            pairs = [(caption, _NO_EVENT) for caption in said] if reading.gamma == "aggregate" else []
            slots.append((pairs, len(said), 0.0))
        elif here and reading.missed == "zero":
            slots.append(([], 0, 0.0))
        elif not here and reading.silent != "skip":
            slots.append(([], 0, 1.0 if reading.silent == "one" else 0.0))
    return slots


def oracle_gamma(pairs: list[tuple[str, str]], scorer: str, events: list[str], gamma: str) -> float:
    """The score of one slot, pair by pair."""
    if not pairs:
        return 0.0
    said, meant = [caption for caption, _ in pairs], [[sentence] for _, sentence in pairs]
    if gamma == "aggregate":
        return float(PairScorer([scorer]).calls(said, meant, [0] * len(pairs), 1)[scorer][0])
    if scorer != "CIDEr":
        return float(PairScorer([scorer]).sentence(said, meant)[scorer].mean())
    values = []
    for caption, sentence in pairs:
        # The documents are the video's events, each once.
        place = events.index(sentence)
        captions = [caption if i == place else "" for i in range(len(events))]
        values.append(float(PairScorer(["CIDEr"]).sentence(captions, [[e] for e in events])["CIDEr"][place]))
    return sum(values) / len(values)


def oracle_curves(gamma: list[float], wrong: list[int], reading: Reading) -> dict[str, list[float]]:
    """The four curves of one scorer by the equations or by the recursion, term by term."""
    w, x = reading.window, {"LS": [], "wLS": [], "hLS": [], "whLS": []}
    counter = 0
    for k in range(1, len(gamma) + 1):
        recent = slice(max(0, k - w), k)
        width = min(k, w) if reading.history == "min(K,w)" else k
        if reading.mode == "paper":
            whole, part = sum(gamma[:k]) / k, sum(gamma[recent]) / width
            x["LS"].append(whole)
            x["wLS"].append(whole * math.exp(-sum(wrong[:k]) / k))
            x["hLS"].append(part)
            x["whLS"].append(part * math.exp(-sum(wrong[recent]) / width))
            continue
        now = wrong[k - 1] > 0
        counter += now
        if counter > w - 1:
            counter = w if now else w - 1
        last = {name: values[-(w - 1) :] for name, values in x.items()}
        x["LS"].append((sum(x["LS"]) + gamma[k - 1]) / k)
        x["wLS"].append((sum(x["wLS"]) + gamma[k - 1]) / k * math.exp(-sum(f > 0 for f in wrong[:k]) / k))
        x["hLS"].append((sum(last["hLS"]) + gamma[k - 1]) / width)
        x["whLS"].append((sum(last["whLS"]) + gamma[k - 1]) / width * math.exp(-counter / width))
    return x
