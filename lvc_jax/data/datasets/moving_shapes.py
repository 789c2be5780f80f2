"""The embedded default dataset: coloured shapes that move, rendered to real video files, with exact captions.

Synthetic: its results say that the system learns, nothing about real footage. See `moving_shapes_scene` for what
happens in a video and `moving_shapes_grammar` for what is said about it.
"""

import contextlib
import json
import multiprocessing
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from lvc_jax import backbones
from lvc_jax.data.datasets.moving_shapes_render import FPS, write_video
from lvc_jax.data.datasets.moving_shapes_scene import SPLITS, Scene, make_scene
from lvc_jax.data.extraction import extract, feature_info
from lvc_jax.data.feature_store import save_info
from lvc_jax.data.feature_store_npy import write_npy
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write

BACKBONE = "colour_moments"
VERSION = 1  # of scenes, drawing and features; another version never mixes with what a folder already holds
VIDEOS, FEATURES, RECIPE = "videos", "features", "recipe.json"
_BLAS_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def generate(
    root: str | os.PathLike,
    *,
    train: int = 280,
    val: int = 24,
    test: int = 40,
    seed: int = 0,
    workers: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> None:
    """Renders the dataset and extracts its features from the rendered files.

    Writes <root>/videos/<id>.mp4, <root>/annotations_{train,val,test}.json (clips format, two reference sets, `file`
    relative to the json's folder) and the feature folder <root>/features. What is there already is kept, so an
    interrupted call goes on where it stopped, and a larger split adds to a smaller one. Every file appears whole.
    A video depends on (seed, split, index) alone, so no two splits share one.

    Args:
        root: the folder to write.
        train, val, test: numbers of videos.
        seed: of the whole dataset.
        workers: processes; default one a core. With 1 everything runs in this process.
        progress: called with (videos done, videos in all).

    Raises:
        InputError: the folder holds the dataset of another seed or version; a number is out of range.
    """
    root, sizes = Path(root), {"train": train, "val": val, "test": test}
    for name, value in {**sizes, "seed": seed}.items():
        if value < 0:
            raise InputError(f"moving_shapes: {name}={value}: must not be negative")
    _claim(root, {"dataset": "moving_shapes", "version": VERSION, "seed": seed})
    jobs = [(str(root), seed, split, index) for split in SPLITS for index in range(sizes[split])]
    todo = [job for job in jobs if not all(path.exists() for path in _outputs(*job))]
    progress(len(jobs) - len(todo), len(jobs))
    for count, _ in enumerate(_in_processes(todo, workers), start=len(jobs) - len(todo) + 1):
        progress(count, len(jobs))
    for split in SPLITS:
        scenes = [make_scene(seed, split, index) for index in range(sizes[split])]
        with atomic_write(root / f"annotations_{split}.json") as file:
            json.dump({scene.video_id: scene.annotation(_file(scene), FPS) for scene in scenes}, file, indent=1)
    save_info(root / FEATURES, feature_info(backbones.get(BACKBONE)))


def _file(scene: Scene) -> str:
    return f"{VIDEOS}/{scene.video_id}.mp4"


def _outputs(root: str, seed: int, split: str, index: int) -> tuple[Path, Path]:
    scene_id = f"shapes_{split}_{index:05d}"
    return Path(root, VIDEOS, f"{scene_id}.mp4"), Path(root, FEATURES, f"{scene_id}.npy")


def _claim(root: Path, recipe: dict) -> None:
    path = root / RECIPE
    if path.exists():
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except ValueError:
            found = None
        if found != recipe:
            raise InputError(f"{path}: holds {found}, asked for {recipe}; choose another folder or remove this one")
    with atomic_write(path) as file:
        json.dump(recipe, file)


def _make_one(job: tuple[str, int, str, int]) -> None:
    video_path, feature_path = _outputs(*job)
    scene = make_scene(*job[1:])
    if not video_path.exists():
        write_video(scene, video_path)
    extractor = backbones.get(BACKBONE)
    rows = extract(video_path, extractor)
    write_npy(feature_path.parent, feature_info(extractor), [(scene.video_id, rows)], "float32")


def _in_processes(jobs: list[tuple[str, int, str, int]], workers: int | None) -> Iterator[None]:
    workers = min(workers or os.cpu_count() or 1, max(1, len(jobs)))
    if workers == 1:
        yield from map(_make_one, jobs)
        return
    # Spawned, since forking a process that has started JAX or codec threads may hang.
    with (
        _one_thread_each(),
        ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        try:
            yield from pool.map(_make_one, jobs, chunksize=2)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Child processes that start inside use one thread each for linear algebra."""
    before = {name: os.environ.get(name) for name in _BLAS_THREADS}
    os.environ.update(dict.fromkeys(_BLAS_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
