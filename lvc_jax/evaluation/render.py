"""The files of an evaluation: predictions, scores, table, plots, report."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from matplotlib.figure import Figure

from lvc_jax.data.segments import segment_seconds
from lvc_jax.evaluation import suite, table
from lvc_jax.evaluation.baselines import NAMES
from lvc_jax.evaluation.run import Results, Run
from lvc_jax.evaluation.suite import SegmentFrames
from lvc_jax.files import atomic_write
from lvc_jax.metrics.live_score import VARIANTS, Reading
from lvc_jax.outputs import plots, predictions, report

_TIMELINE_S = 60.0  # bars of longer videos would be too narrow to hold their sentences
_SHOWN = Reading().names.index("ROUGE-L")


def rows(results: Results) -> dict[str, dict[str, dict[str, float | None]]]:
    """{Δt: {method: {metric: value}}}."""
    return {
        str(frames): {name: result.metrics for name, result in methods.items()}
        for frames, methods in results.scores.items()
    }


def write(output: Path, *, title: str, kind: str, run: Run, results: Results, command: str) -> None:
    """Writes everything into the folder `output`.

    Args:
        output: the folder; made if it is not there.
        title: of table and report; says what the captions and features are.
        kind: where the captions come from.
        run: what was evaluated.
        results: what came out.
        command: the command line that repeats it.
    """
    signatures = {str(frames): suite.signatures(frames) for frames in run.segment_frames}
    numbers = rows(results)
    for frames, items in results.predictions.items():
        predictions.write(
            output / f"predictions_{frames}.json", results.headers[frames], cast(Any, items), run.header["features"]
        )
    content = {
        "signature": signatures,
        "caption_kind": kind,
        **{name: run.header[name] for name in ("dataset", "split", "features", "checkpoint", "step", "version")},
        "videos": len(run.selection),
        "notes": results.notes,
        "rows": numbers,
    }
    if results.caption_losses is not None:
        content["caption_loss"] = results.caption_losses
    _write_text(output / "scores.json", json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    _write_text(output / "table.txt", table.as_text(title, numbers, results.notes))
    _write_text(output / "table.md", table.as_markdown(title, numbers, results.notes))
    pictures = []
    for name, (caption, figure) in _figures(title, results).items():
        plots.save(figure, output / f"{name}.png")
        pictures.append(report.Picture(caption, plots.png(figure)))
    provenance = {
        "command": command,
        **{name: str(value) for name, value in run.header.items() if name != "version"},
        **{
            f"stream, Δt = {frames}": ", ".join(
                f"{name} {header[name]}" for name in ("consolidation", "memory", "mode")
            )
            for frames, header in results.headers.items()
        },
        **{f"signatures, Δt = {frames}": "  ".join(lines) for frames, lines in signatures.items()},
        "versions": ", ".join(f"{name} {version}" for name, version in report.versions().items()),
    }
    report.write(
        output / "report.html",
        title=title,
        kind=kind,
        tables=[table.for_report("Scores (percent where no unit is given)", numbers), *table.all_metrics(numbers)],
        pictures=pictures,
        notes=results.notes,
        provenance=provenance,
    )


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text)


def _figures(title: str, results: Results) -> dict[str, tuple[str, Figure]]:
    """{file name: (caption, figure)}."""
    figures = {}
    for frames, methods in results.scores.items():
        if frames != "video":
            figures[f"live_score_{frames}"] = (
                f"Live Score over time, ROUGE-L, Δt = {frames} frames ({segment_seconds(frames):g} s)",
                _over_time(title, frames, methods, results.references),
            )
        video = _example(results, frames)
        figures[f"timeline_{frames}"] = (
            f"Video {video}, Δt = {frames}, at most its first {_TIMELINE_S:g} s. "
            "Captions are drawn over their segments; a caption has the colour of the event whose words it says, "
            "white ones say no reference of the video",
            plots.timeline(
                f"{video}, Δt = {frames}",
                results.references[video]["duration"],
                results.references[video]["references"][0],
                results.predictions[frames][video],
                None if frames == "video" else segment_seconds(frames),
                until=_TIMELINE_S,
            ),
        )
    return figures


def _over_time(
    title: str, frames: int, methods: Mapping[str, suite.Result], references: Mapping[str, Mapping[str, Any]]
) -> Figure:
    curves = {name: suite.over_time(result.videos, references, frames) for name, result in methods.items()}
    time, values, number = curves["model"]
    others = {NAMES[name]: (when, means[:, 0, _SHOWN]) for name, (when, means, _) in curves.items() if name != "model"}
    own = {variant: values[:, index, _SHOWN] for index, variant in enumerate(VARIANTS)}
    return plots.score_over_time(time, own, title, others=others, videos=number, ylabel="Live Score, ROUGE-L (%)")


def _example(results: Results, frames: SegmentFrames) -> str:
    """The video with the median score, so that the picture is neither the best nor the worst."""
    scored = results.scores[frames]["model"].videos
    names = sorted(
        results.references,
        key=lambda name: (float(scored[name].gamma[:, _SHOWN].mean()) if name in scored else -1.0, name),
    )
    # Among equals prefer one with events to show.
    named = [name for name in names if results.references[name]["references"][0]] or names
    return named[len(named) // 2]
