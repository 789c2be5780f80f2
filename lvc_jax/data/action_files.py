"""Files of online action detection: annotated and detected segments with labels, in the Instantaneous Accuracy layout.

Annotations: {"database": {video: {"subset", "duration": seconds, "annotations": [{"label", "segment": [s, e]}]}}}.
Detections: {"results": {video: [{"label", "segment": [s, e], optionally "score"}]}}. Other fields are ignored.
"""

import os
from collections import Counter
from typing import Any

from lvc_jax.data.json_fields import list_of, number_of, object_of, read_json, record_of, required, span_of, text_of
from lvc_jax.errors import InputError

Segment = dict[str, Any]
Annotated = dict[str, dict[str, Any]]


def read_annotations(path: str | os.PathLike, subset: str | None = None) -> Annotated:
    """Reads an annotation file.

    Args:
        path: the JSON file.
        subset: the exact name of the part to take, such as "Test"; None takes all videos.

    Returns:
        {video: {"duration": seconds, "subset": name or "", "annotations": [{"segment": [s, e], "label"}]}}. Times are
        as in the file: segments may be empty, reversed or reach beyond the video.

    Raises:
        InputError: naming the file, the video and the field; or the subsets that there are, if it is none of them.
    """
    where = os.fspath(path)
    content = record_of(where, read_json(path, "annotation"), "an object with the field 'database'")
    database = object_of(where, "database", required(where, content, "database"))
    videos = {video: _annotated(f"{where}: video {video!r}", record) for video, record in database.items()}
    if subset is None:
        return videos
    sizes = Counter(record["subset"] for record in videos.values())
    if subset not in sizes:
        known = ", ".join(f"{name!r} ({number} videos)" for name, number in sorted(sizes.items())) or "none"
        raise InputError(f"{where}: no video of subset {subset!r}; subsets there: {known}")
    return {video: record for video, record in videos.items() if record["subset"] == subset}


def _annotated(where: str, record: Any) -> dict[str, Any]:
    record = record_of(where, record)
    duration = number_of(where, "duration", required(where, record, "duration"))
    if duration < 0:
        raise InputError(f"{where}: field 'duration': {duration} is below 0; give the length in seconds")
    return {
        "duration": duration,
        "subset": text_of(where, "subset", record.get("subset", "")),
        "annotations": _segments(where, "annotations", required(where, record, "annotations")),
    }


def read_detections(path: str | os.PathLike) -> dict[str, list[Segment]]:
    """Reads a file of detected segments.

    Returns:
        {video: [{"segment": [s, e], "label", "score" where the file has one}]}, in the order of the file.

    Raises:
        InputError: naming the file, the video and the field.
    """
    where = os.fspath(path)
    content = record_of(where, read_json(path, "predictions"), "an object with the field 'results'")
    results = object_of(where, "results", required(where, content, "results"))
    return {video: _segments(f"{where}: video {video!r}", "results", items) for video, items in results.items()}


def _segments(where: str, field: str, items: Any) -> list[Segment]:
    return [_segment(where, f"{field}[{i}]", item) for i, item in enumerate(list_of(where, field, items))]


def _segment(where: str, field: str, item: Any) -> Segment:
    item = object_of(where, field, item)
    for name in ("segment", "label"):
        if name not in item:
            raise InputError(f"{where}: field '{field}.{name}' is missing")
    result: Segment = {
        "segment": list(span_of(where, f"{field}.segment", item["segment"])),
        "label": text_of(where, f"{field}.label", item["label"]),
    }
    if item.get("score") is not None:
        result["score"] = number_of(where, f"{field}.score", item["score"], "")
    return result
