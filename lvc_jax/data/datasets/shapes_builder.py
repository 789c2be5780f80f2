"""moving_shapes as a prepared dataset: rendered here if it is not there yet, then written like any other."""

from collections.abc import Callable
from pathlib import Path

from lvc_jax.data import annotations
from lvc_jax.data.caption_kinds import CAPTION_KINDS
from lvc_jax.data.datasets import clips, moving_shapes
from lvc_jax.data.datasets.builder import CaptionBuilder
from lvc_jax.data.datasets.records import Source
from lvc_jax.data.datasets.writing import digest
from lvc_jax.data.feature_store import open_store

RENDERED = "rendered"
# Not 0: the features were designed while looking at the videos of seed 0, test split included.
DEFAULT_SEED = 1
# From the prepared folder <data_dir>/moving_shapes/<feature set>/<version> to the rendered one.
_FROM_PREPARED = Path("..", "..", RENDERED)


class MovingShapes(CaptionBuilder):
    """Rendered videos of coloured shapes; synthetic."""

    DESCRIPTION = "Rendered videos of coloured shapes that enter, move, grow, spin, blink, collide and leave."
    CAPTION_KIND = CAPTION_KINDS["moving_shapes"]


def source(
    data_dir: Path,
    *,
    sizes: dict[str, int],
    seed: int = DEFAULT_SEED,
    workers: int | None = None,
    dtype: str = "float32",
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Source:
    """Renders what is missing in <data_dir>/moving_shapes/rendered and reads it.

    Args:
        data_dir: the folder of all datasets.
        sizes: videos of the splits "train", "val" and "test"; a split that is not named has its usual size.
        seed: of the whole dataset.
        workers: rendering processes; None: one a core.
        dtype: of the features on disk.
        progress: called with (videos rendered, videos in all).

    Raises:
        InputError: if the folder holds the rendering of another seed or version, or a size is out of range.
    """
    root = Path(data_dir) / MovingShapes.name / RENDERED
    moving_shapes.generate(root, **sizes, seed=seed, workers=workers, progress=progress)
    store = open_store(root / moving_shapes.FEATURES)
    splits, digests = {}, {}
    for name in moving_shapes.SPLITS:
        path = root / f"annotations_{name}.json"
        if sizes.get(name) == 0:
            continue
        digests[name] = digest(path)
        loaded = annotations.load(path, fmt="clips")
        splits[name] = clips.make_split(loaded, store.info, lambda video, _: store[video.id], root, _FROM_PREPARED)
    return Source(store.info, splits, {"annotations": digests}, dtype)
