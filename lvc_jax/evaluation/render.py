"""The files of an evaluation: predictions, scores, tables, plots, report."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from matplotlib.figure import Figure

from lvc_jax.data.segments import segment_seconds
from lvc_jax.evaluation import action_scores, suite, table
from lvc_jax.evaluation.baselines import NAMES
from lvc_jax.evaluation.run import Results, Run
from lvc_jax.evaluation.suite import SegmentFrames
from lvc_jax.files import atomic_write
from lvc_jax.metrics.live_score import VARIANTS, Reading
from lvc_jax.outputs import plots, predictions, report

_TIMELINE_S = 60.0  # bars of longer videos would be too narrow to hold their sentences
_SHOWN = Reading().names.index("ROUGE-L")
ACTIONS_TITLE = (
    f"The same captions as actions: online action detection, Δt of the metrics {action_scores.SLOT_S:g} s (percent)"
)


def rows(results: Results) -> dict[str, dict[str, dict[str, float | None]]]:
    """{Δt: {method: {metric: value}}}."""
    return {
        str(frames): {name: result.metrics for name, result in methods.items()}
        for frames, methods in results.scores.items()
    }


def action_rows(results: Results) -> dict[str, dict[str, dict[str, float | None]]]:
    """{Δt: {method: {reading/metric: value}}}; empty where captions are no actions."""
    return {str(frames): own.rows for frames, own in results.actions.items()}


def signatures(run: Run, results: Results) -> dict[str, list[str]]:
    """{Δt: signature lines of every number}."""
    lines = {}
    for frames in run.segment_frames:
        lines[str(frames)] = suite.signatures(frames, rule=run.rule)
        if frames in results.actions:
            lines[str(frames)] += [line for own in results.actions[frames].signatures.values() for line in own]
    return lines


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
    lines = signatures(run, results)
    numbers, acted = rows(results), action_rows(results)
    for frames, items in results.predictions.items():
        predictions.write(
            output / f"predictions_{frames}.json", results.headers[frames], cast(Any, items), run.header["features"]
        )
    content = {
        "signature": lines,
        "caption_kind": kind,
        **{name: run.header[name] for name in ("dataset", "split", "features", "checkpoint", "step", "version")},
        "videos": len(run.selection),
        "notes": results.notes,
        "rows": numbers,
    }
    if results.caption_losses is not None:
        content["caption_loss"] = results.caption_losses
    _write_text(output / "scores.json", json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
    text = table.as_text(title, numbers, results.notes, meanings=table.legend())
    markdown = table.as_markdown(title, numbers, results.notes)
    tables = [table.for_report("Scores (percent where no unit is given)", numbers)]
    if acted:
        notes = list(dict.fromkeys(note for own in results.actions.values() for note in own.notes))
        given = (ACTIONS_TITLE, acted, notes, table.ACTION_COLUMNS)
        text += "\n" + table.as_text(*given, table.legend(table.ACTION_COLUMNS))
        markdown += "\n" + table.as_markdown(*given)
        tables.append(table.for_report(ACTIONS_TITLE, acted, table.ACTION_COLUMNS))
    for frames, own in results.actions.items():
        action_scores.write(output / f"actions_{frames}.json", own)
    _write_text(output / "table.txt", text)
    _write_text(output / "table.md", markdown)
    pictures = []
    for name, caption, figure in _figures(title, results):
        drawn = plots.png(figure)
        with atomic_write(output / f"{name}.png", "wb") as file:
            file.write(drawn)
        pictures.append(report.Picture(caption, drawn))
    provenance = {
        "command": command,
        **{name: str(value) for name, value in run.header.items() if name != "version"},
        **{
            f"stream, Δt = {frames}": ", ".join(
                f"{name} {header[name]}" for name in ("consolidation", "memory", "mode")
            )
            for frames, header in results.headers.items()
        },
        **{f"signatures, Δt = {frames}": "  ".join(own) for frames, own in lines.items()},
        "versions": ", ".join(f"{name} {version}" for name, version in report.versions().items()),
    }
    report.write(
        output / "report.html",
        title=title,
        kind=kind,
        tables=[*tables, *table.all_metrics(numbers)],
        pictures=pictures,
        notes=results.notes,
        provenance=provenance,
    )


def _write_text(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text)


def _figures(title: str, results: Results) -> Iterator[tuple[str, str, Figure]]:
    """File name, caption and figure, one after the other."""
    for frames, methods in results.scores.items():
        if frames != "video":
            yield (
                f"live_score_{frames}",
                f"Live Score over time, ROUGE-L, Δt = {frames} frames ({segment_seconds(frames):g} s)",
                _over_time(title, frames, methods, results.references),
            )
        video = _example(results, frames)
        yield (
            f"timeline_{frames}",
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
        if frames in results.actions:
            own = results.actions[frames]
            yield (
                f"actions_{frames}",
                f"Instantaneous accuracy of video {own.example.video}, Δt = {frames}, reading paper: the video "
                "whose aIA is the model's median",
                action_scores.figure(own, f"Captions as actions, Δt = {frames}"),
            )


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
