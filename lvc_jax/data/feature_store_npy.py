"""Features as a folder of <video id>.npy files."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from jaxtyping import Float

from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.data.feature_store_rows import checked_id, checked_rows, stored_rows
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write


class NpyStore:
    """Random access by video id over a folder of .npy files, each [L, C]; float16 on disk is allowed."""

    def __init__(self, folder: Path, info: FeatureInfo):
        self.info = info
        self._folder = folder
        self._ids = sorted(path.name[: -len(".npy")] for path in folder.glob("*.npy"))
        self._known = frozenset(self._ids)

    def ids(self) -> list[str]:
        """All video ids, sorted."""
        return list(self._ids)

    def files(self) -> list[Path]:
        """The files that hold the rows."""
        return [self._folder / f"{video_id}.npy" for video_id in self._ids]

    def __contains__(self, video_id: object) -> bool:
        return video_id in self._known

    def __len__(self) -> int:
        return len(self._ids)

    def __getitem__(self, video_id: str) -> Float[np.ndarray, "l c"]:
        """Rows of a video, float32.

        Raises:
            InputError: naming the file, if it is missing, damaged or does not fit features.json.
        """
        path = self._folder / f"{video_id}.npy"
        if video_id not in self._known:
            raise InputError(f"{path}: no features for video {video_id!r}; extract them or leave the video out")
        try:
            # allow_pickle=False: a feature file never runs code.
            array = np.load(path, allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            raise InputError(f"{path}: damaged or not a .npy of numbers ({error}); extract it again") from None
        if not isinstance(array, np.ndarray):
            raise InputError(f"{path}: an archive of arrays, not one array; save it with numpy.save")
        return checked_rows(array, str(path), self.info)


def write_npy(
    folder: Path, info: FeatureInfo, videos: Iterable[tuple[str, Float[np.ndarray, "l c"]]], dtype: str
) -> None:
    """Writes one .npy file per video, each whole or not at all; see `feature_store.write_store`."""
    for video_id, rows in videos:
        path = folder / f"{checked_id(video_id)}.npy"
        with atomic_write(path, "wb") as file:
            np.save(file, stored_rows(rows, str(path), info, dtype), allow_pickle=False)
