"""Features in one array_record file: a record per video and, as the last record, the list of video ids."""

import io
import json
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter
from jaxtyping import Float

from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.data.feature_store_rows import checked_id, checked_rows, stored_rows
from lvc_jax.errors import InputError

# Read-ahead helps reading in order and costs random access.
_READ_OPTIONS = "readahead_buffer_size:0,max_parallelism:0"


class ArrayRecordStore:
    """Random access by video id over an array_record file written by `write_array_record`."""

    def __init__(self, path: Path, info: FeatureInfo):
        """Opens the file and reads its index.

        Raises:
            InputError: if it is not an array_record file of features, or is cut short.
        """
        self.info = info
        self._path = path
        self._reader: ArrayRecordReader | None = None
        self._pid = 0
        self._positions = {video_id: i for i, video_id in enumerate(self._read_index())}

    def ids(self) -> list[str]:
        """All video ids, sorted."""
        return sorted(self._positions)

    def files(self) -> list[Path]:
        """The files that hold the rows."""
        return [self._path]

    def __contains__(self, video_id: object) -> bool:
        return video_id in self._positions

    def __len__(self) -> int:
        return len(self._positions)

    def __getitem__(self, video_id: str) -> Float[np.ndarray, "l c"]:
        """Rows of a video, float32.

        Raises:
            InputError: naming the file and the video, if it is missing, damaged or does not fit features.json.
        """
        where = f"{self._path}: video {video_id!r}"
        if video_id not in self._positions:
            raise InputError(f"{where}: no such record; extract its features or leave the video out")
        try:
            (record,) = self._open().read([self._positions[video_id]])
            array = np.load(io.BytesIO(record), allow_pickle=False)
        except (ValueError, EOFError, OSError, RuntimeError, IndexError) as error:
            raise InputError(f"{where}: damaged ({error}); write the file again") from None
        return checked_rows(array, where, self.info)

    def __getstate__(self) -> dict[str, Any]:
        # An open reader cannot travel to a worker process; the worker opens its own.
        return {**self.__dict__, "_reader": None}

    def _open(self) -> ArrayRecordReader:
        # A reader inherited through fork has lost its threads.
        if self._reader is None or self._pid != os.getpid():
            self._reader = ArrayRecordReader(str(self._path), _READ_OPTIONS)
            self._pid = os.getpid()
        return self._reader

    def _read_index(self) -> list[str]:
        try:
            reader = self._open()
            if not reader.ok() or reader.num_records() < 1:
                raise ValueError("it is cut short or holds no record")
            (record,) = reader.read([reader.num_records() - 1])
            ids = json.loads(record)["ids"]
            if len(ids) != reader.num_records() - 1:
                raise ValueError(f"{len(ids)} ids for {reader.num_records() - 1} records")
        except (ValueError, RuntimeError, OSError, IndexError, KeyError, TypeError) as error:
            raise InputError(f"{self._path}: not a whole array_record of features ({error}); write it again") from None
        return ids


def write_array_record(
    path: Path, info: FeatureInfo, videos: Iterable[tuple[str, Float[np.ndarray, "l c"]]], dtype: str
) -> None:
    """Writes one record per video and the index; see `feature_store.write_store`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    ids = []
    # The writer takes a path, not an open file: the whole file is made in a folder beside its place, then moved.
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        unfinished = Path(folder) / path.name
        writer = ArrayRecordWriter(str(unfinished), "group_size:1")
        try:
            for video_id, rows in videos:
                buffer = io.BytesIO()
                stored = stored_rows(rows, f"{path}: video {video_id!r}", info, dtype)
                np.save(buffer, stored, allow_pickle=False)
                writer.write(buffer.getvalue())
                ids.append(checked_id(video_id))
            writer.write(json.dumps({"ids": ids}).encode())
        finally:
            writer.close()
        os.replace(unfinished, path)
