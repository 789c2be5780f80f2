"""Inputs and a text scorer that the tests of the dense captioning metrics share."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st

GOLDEN_NAMES = {
    "Bleu_1": "BLEU-1",
    "Bleu_2": "BLEU-2",
    "Bleu_3": "BLEU-3",
    "Bleu_4": "BLEU-4",
    "ROUGE_L": "ROUGE-L",
    "Rouge-L": "ROUGE-L",
    "CIDEr": "CIDEr",
    "CIDEr_corpus_df": "CIDEr",
    "METEOR": "METEOR",
    "Precision": "precision",
    "Recall": "recall",
}
"""{name in the golden files: ours}."""
EVALUATOR_CASES = ("edge_2018", "max1000_2018", "real50_bmt_2018", "real50_bmt_2021", "real50_bmt_vidchapters")
PUBLISHED = {
    "mdvc_val1_2018": ("mdvc_results_val_1_e30", "val_1", "2018"),
    "mdvc_val1_2021": ("mdvc_results_val_1_e30", "val_1", "2021"),
    "bmt_val1nm_2018": ("bmt_captioning_results_val_1_e26", "val_1_no_missings", "2018"),
}
"""{golden case: (predictions, annotations, evaluator)}."""
SODA_CASES = {"edge": "c", "real50_bmt": "abcd"}
"""{golden file: variants}."""
SODA_RUNS: dict[str, str | int] = {
    "multi_reference_best_f1": "best",
    "merged_refs_mr_false": "merged",
    "ref1_only": 0,
    "ref2_only": 1,
}
"""{run of the original: how the annotation sets are taken, or which one it is}."""

SENTENCES = ("a man runs", "a man runs fast", "two dogs run", "the crowd cheers", "", "...")


class Overlap:
    """A stand-in for the text scorers: words in common over all words, summed over the pairs of a call."""

    name = "METEOR"

    def _counts(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> np.ndarray:
        words = [(set(h.split()), set(" ".join(r).split())) for h, r in zip(hypotheses, references, strict=True)]
        # Asymmetric, so that swapped arguments show.
        return np.array([[len(h & r), len(h | r) + len(h)] for h, r in words], float).reshape(-1, 2)

    def sentence(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
        counts = self._counts(hypotheses, references)
        return {self.name: counts[:, 0] / np.maximum(counts[:, 1], 1)}

    def calls(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]], group: np.ndarray, groups: int
    ) -> dict[str, np.ndarray]:
        sums = np.zeros((groups, 2))
        np.add.at(sums, group, self._counts(hypotheses, references))
        return {self.name: sums[:, 0] / np.maximum(sums[:, 1], 1)}


def item(start: float, end: float, sentence: str = "a man runs") -> dict[str, Any]:
    return {"timestamp": [start, end], "sentence": sentence}


def references_of(*files: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Annotation files in the metrics' form; a file's place is empty for a video that it lacks."""
    videos = dict.fromkeys(video for file in files for video in file)
    return {
        video: {
            "duration": next(file[video]["duration"] for file in files if video in file),
            "references": [
                [(*times, text) for times, text in zip(file[video]["timestamps"], file[video]["sentences"])]
                if video in file
                else []
                for file in files
            ],
        }
        for video in videos
    }


def golden(folder: Path, name: str) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A golden file of `folder` with its references and predictions."""
    content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    inputs = folder.parent / "dense_captioning"
    files = [json.loads((inputs / path).read_text(encoding="utf-8")) for path in content["inputs"]["gt"]]
    predictions = json.loads((inputs / content["inputs"]["pred"]).read_text(encoding="utf-8"))["results"]
    return content, references_of(*files), predictions


TIMES = st.integers(0, 12).map(float)
EVENT = st.tuples(TIMES, TIMES, st.sampled_from(SENTENCES))
SETS = st.lists(st.lists(EVENT, max_size=4), min_size=2, max_size=2)
CAPTIONS = st.lists(st.builds(item, TIMES, TIMES, st.sampled_from(SENTENCES)), max_size=5)
VIDEOS = st.sampled_from(("a", "b", "c", "d"))


@st.composite
def data_sets(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Small references and predictions with odd cases: reversed, empty, missing, extra, blank, repeated."""
    references = draw(
        st.dictionaries(VIDEOS, SETS.map(lambda sets: {"duration": 12.0, "references": sets}), min_size=1)
    )
    return references, draw(st.dictionaries(st.sampled_from(("a", "b", "c", "d", "x")), CAPTIONS))
