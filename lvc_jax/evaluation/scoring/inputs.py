"""Annotation and prediction files in the form that the metrics take."""

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lvc_jax.data import annotations, annotations_formats
from lvc_jax.errors import InputError
from lvc_jax.evaluation import suite
from lvc_jax.evaluation.scoring import coverage
from lvc_jax.outputs import predictions

References = dict[str, dict[str, Any]]
AnnotationFile = dict[str, annotations_formats.RawVideo]


@dataclasses.dataclass(frozen=True)
class Predicted:
    """A predictions file: its path, its header, and {video: [items with timestamp and sentence]}."""

    path: str
    header: Mapping[str, Any]
    items: dict[str, list[Any]]

    def notes(self, references: Mapping[str, Any]) -> list[str]:
        """What is to be said of the predictions beside these annotated videos: ids and times that hardly fit."""
        scored = {video: own for video, own in self.items.items() if video in references}
        strangers = coverage.strangers(references.keys(), self.items.keys())
        return [*strangers, *reversed_notes(scored, "timestamp", "their tIoU with every event is 0")]

    def segment_frames(self, asked: str | None = None) -> suite.SegmentFrames | None:
        """The Δt of the file: what was asked for, or else what the header says; None where neither says one.

        Raises:
            InputError: several, or none that can be read.
        """
        said = self.header.get("segment_frames") if asked is None else asked
        if said is None:
            return None
        flag = f"--segment_frames={said}"
        where = flag if asked is not None else f"{self.path}: header: segment_frames={said}"
        try:
            frames = suite.parse_segment_frames(str(said))
        except InputError as error:
            raise InputError(where + str(error).removeprefix(flag)) from None
        if len(frames) != 1:
            raise InputError(f"{where}: a predictions file has one Δt")
        return frames[0]


@contextlib.contextmanager
def naming(predictions: str, references: Sequence[str]) -> Iterator[None]:
    """Puts the files before an error of a metric, which knows no files; one that names a file or a flag stays."""
    try:
        yield
    except InputError as error:
        if str(error).startswith("--") or any(path in str(error) for path in (predictions, *references)):
            raise
        raise InputError(f"{predictions} against {','.join(references)}: {error}") from None


def read_predictions(
    path: str, references: Mapping[str, Any], *, reversed_times: bool = False, strangers: bool = False
) -> Predicted:
    """Reads a predictions file whose items all have sentences, for some of the videos.

    Args:
        path: the file.
        references: videos that are annotated; at least one of them must be in the file, unless it is empty.
        reversed_times: let a timestamp end before it starts; `Predicted.notes` says so. Where slots are of time such a
            caption has no place, and it is refused.
        strangers: let none of the videos be annotated, for metrics that say what that means.

    Raises:
        InputError: naming the file, the video and the field.
    """
    header, items = predictions.read(path, reversed_times=reversed_times)
    for video, own in items.items():
        for index, item in enumerate(own):
            if "sentence" not in item:
                raise InputError(f"{path}: video {video}: item {index}: a prediction without a sentence has no score")
    if items and not items.keys() & references.keys() and not strangers:
        raise InputError(
            f"{path}: none of its videos is annotated: it has {next(iter(items))!r}, "
            f"the references have {next(iter(references))!r}"
        )
    return Predicted(path, header, dict(items))


def reversed_notes(items: Mapping[str, Sequence[Mapping[str, Any]]], field: str, meaning: str) -> list[str]:
    """The note on predictions that end before they start; every metric that takes them says so by it.

    Args:
        items: {video: its predictions}, of the videos that are scored.
        field: that holds [start, end].
        meaning: what they count for.
    """
    found = [
        (video, index, item[field])
        for video, own in items.items()
        for index, item in enumerate(own)
        if item[field][1] < item[field][0]
    ]
    if not found:
        return []
    video, index, times = found[0]
    return [
        f"Predictions that end before they start: {len(found)} (first: video {video!r}, item {index}: "
        f"{times[0]:g} to {times[1]:g} s): {meaning}."
    ]


def read_annotations(paths: Sequence[str], *, lenient: bool = False, timeless: bool = False) -> list[AnnotationFile]:
    """Annotation files, one for each annotator, nothing repaired.

    Args:
        paths: of the files.
        lenient, timeless: see `annotations_formats.read`; what the readings `reference` take.

    Raises:
        InputError: naming the file, the video and the field; no video in any file.
    """
    files = [annotations_formats.read(path, "auto", lenient=lenient, timeless=timeless) for path in paths]
    if not any(files):
        raise InputError(f"{','.join(paths)}: no videos: nothing to score against")
    return files


def as_written(files: Sequence[AnnotationFile], *, keep_places: bool) -> References:
    """References as the files have them, videos of all files.

    Args:
        files: from `read_annotations`.
        keep_places: a video that a file lacks has an empty annotation set in its place, so that place k is the same
            file for every video; otherwise only the sets of the files that hold the video.

    Returns:
        {video: {"duration": seconds, "references": [[(start, end, sentence), ...], ...]}}; a duration is NaN where a
        file lacks it.
    """
    places = [max((len(video.references) for video in file.values()), default=1) for file in files]
    result: References = {}
    for video in dict.fromkeys(name for file in files for name in file):
        sets: list[list[tuple[float, float, str]]] = []
        for file, number in zip(files, places):
            own = file[video].references if video in file else ()
            sets += [[(event.start, event.end, event.sentence) for event in events] for events in own]
            sets += [[] for _ in range(number - len(own) if keep_places else 0)]
        duration = next(file[video].duration for file in files if video in file)
        result[video] = {"duration": duration, "references": sets}
    return result


def repaired(paths: Sequence[str]) -> tuple[References, Counter[str]]:
    """References as `evaluate` has them, repaired by the rules of docs/data.md, and how often each repair was made.

    Args:
        paths: an annotation file, or the files of two annotators; videos that only the second has count too.

    Raises:
        InputError: more than two files, or a file that cannot be read.
    """
    if len(paths) > 2:
        raise InputError(f"--references: {len(paths)} files; expected one, or two separated by a comma")
    loaded = annotations.load(paths[0], second=paths[1] if len(paths) > 1 else None)
    videos = dict(loaded.videos)
    repairs = Counter(loaded.repairs)
    if repairs.pop(annotations.Repair.SECOND_UNKNOWN, 0):
        second = annotations.load(paths[1])
        for video in second.videos.keys() - videos.keys():
            repairs.update(second.video_repairs[video])
        videos |= {video: own for video, own in second.videos.items() if video not in videos}
    return suite.plain_references(videos), repairs


def repair_notes(repairs: Counter[str]) -> list[str]:
    """One sentence on the events that were changed or lost, if there are any."""
    changed = {name: number for name, number in repairs.items() if name in annotations.STRICT}
    if not changed:
        return []
    return ["References repaired: " + "; ".join(f"{name} ({number})" for name, number in changed.items()) + "."]
