"""The scores of the variants as one table and one picture."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from lvc_jax.data.datasets import open_dataset
from lvc_jax.data.json_fields import read_json
from lvc_jax.errors import InputError
from lvc_jax.evaluation.ablation.study import PANELS, Study
from lvc_jax.evaluation.ablation.work import SCORES
from lvc_jax.evaluation.paper_tables.write import grid
from lvc_jax.evaluation.selection import Selection
from lvc_jax.files import atomic_write
from lvc_jax.metrics import live_score
from lvc_jax.metrics.live_score import Reading
from lvc_jax.metrics.text.scorers import meteor_available
from lvc_jax.outputs import plots, plots_scores, predictions
from lvc_jax.version import __version__

MODES: tuple[Literal["reference", "paper"], ...] = ("reference", "paper")
# What evaluate counts and the table shows beside the Live Scores.
_COUNTS = ("exact_match", "silent_kept", "count_accuracy")


def scorers() -> tuple[str, ...]:
    """METEOR, the paper's, where its extra is installed; BLEU-1 and ROUGE-L."""
    return (*(["METEOR"] if meteor_available() else []), "BLEU-1", "ROUGE-L")


def collect(study: Study, dataset: str) -> dict[str, Any]:
    """The scores of every variant.

    Args:
        study: all of whose variants are finished.
        dataset: name of the data set.

    Returns:
        {"dataset", "caption_kind", "split", "segment_frames", "videos", "signatures": {mode: line}, "notes",
        "variants": {name: {"settings", "step", "reference": {score: fraction}, "paper": {...}, "counts": {...}}}}.

    Raises:
        InputError: a result that cannot be read.
    """
    opened = open_dataset(study.data_dir, dataset, study.data.split)
    references = Selection(opened).references()
    readings = {mode: Reading(study.data.segment_frames, mode=mode, scorers=scorers()) for mode in MODES}
    scorer = live_score.pair_scorer(readings["paper"])
    variants = {}
    for variant in study.variants:
        folder = study.folder(variant) / SCORES
        scores = read_json(folder / "scores.json", "scores")
        _, said = predictions.read(folder / f"predictions_{study.data.segment_frames}.json")
        try:
            counted = scores["rows"][str(study.data.segment_frames)]["model"]
            variants[variant] = {
                "settings": study.settings(variant),
                "step": scores["step"],
                **{
                    mode: live_score.summary(live_score.score_videos(references, said, reading, scorer), reading.names)
                    for mode, reading in readings.items()
                },
                "counts": {name: counted[name] for name in _COUNTS},
            }
        except (KeyError, TypeError):
            message = "not the scores of this ablation; remove the folder to evaluate again"
            raise InputError(f"{folder / 'scores.json'}: {message}") from None
    notes = ["One training each, with one seed: differences of the size that another seed would make mean nothing."]
    if "METEOR" not in scorers():
        notes.append(
            "METEOR, the paper's scorer, is left out: its extra is not installed (pip install 'lvc-jax[meteor]')."
        )
    return {
        "version": __version__,
        "dataset": dataset,
        "caption_kind": opened.caption_kind,
        "split": study.data.split,
        "segment_frames": study.data.segment_frames,
        "videos": len(references),
        "signatures": {mode: reading.signature for mode, reading in readings.items()},
        "notes": notes,
        "variants": variants,
    }


def as_markdown(results: Mapping[str, Any]) -> str:
    """The table: one line for each variant; Live Scores as `reference` / `paper`."""
    names = [f"{variant}/{scorer}" for scorer in scorers() for variant in ("LS", "wLS")]
    header = ["variant", "transformer", "queries", "counter", "step", *names, *(n.replace("_", " ") for n in _COUNTS)]
    lines = []
    for variant, own in results["variants"].items():
        settings = own["settings"]
        labels = [
            variant,
            settings["model.transformer"],
            str(settings["model.num_queries"]),
            "yes" if settings["model.use_counter"] else "no",
            str(own["step"]),
        ]
        cells = [" / ".join(f"{100 * own[mode][name]:.1f}" for mode in MODES) for name in names]
        counts = ["-" if own["counts"][name] is None else f"{100 * own['counts'][name]:.1f}" for name in _COUNTS]
        lines.append([*labels, *cells, *counts])
    title = (
        f"**{results['dataset']}, split {results['split']}, {results['videos']} videos; captions: "
        f"{results['caption_kind']}; Δt = {results['segment_frames']}**"
    )
    below = ["Percent. Live Scores: `reference` / `paper`; docs/metrics.md explains both.", *results["notes"]]
    signatures = [f"- {mode}: `{line}`" for mode, line in results["signatures"].items()]
    return "\n".join([title, "", grid(header, lines, 2), "", *(f"- {text}" for text in below), *signatures, ""])


def write(output: Path, results: Mapping[str, Any]) -> str:
    """Writes `ablation.md`, `ablation.json` and `ablation.png`; returns the table."""
    text = as_markdown(results)
    contents = {"ablation.md": text, "ablation.json": json.dumps(results, indent=1, allow_nan=False) + "\n"}
    for name, content in contents.items():
        with atomic_write(output / name) as file:
            file.write(content)
    shown = "METEOR" if "METEOR" in scorers() else "ROUGE-L"
    panels: dict[str, dict[str, dict[str, float]]] = {}
    for panel, values in PANELS.items():
        present = {value: results["variants"].get(variant) for value, variant in values.items()}
        panels[panel] = {
            value: {mode: own[mode][f"LS/{shown}"] for mode in MODES}
            for value, own in present.items()
            if own is not None
        }
    title = f"{results['dataset']} ({results['caption_kind']}), Live Score, {shown}"
    plots.save(plots_scores.panels(title, panels), output / "ablation.png")
    return text
