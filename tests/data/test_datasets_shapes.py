"""moving_shapes as a prepared dataset: rendered once, found again by its videos."""

from pathlib import Path

import pytest

from lvc_jax.data.datasets import open_dataset, shapes_builder, writing
from lvc_jax.errors import InputError

SIZES = {"train": 1, "val": 1, "test": 0}


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    source = shapes_builder.source(folder, sizes=SIZES, workers=1)
    writing.write(shapes_builder.MovingShapes, source, folder)
    return folder


def test_videos_captions_and_features(data_dir):
    dataset = open_dataset(data_dir, "moving_shapes", "train+val")
    assert len(dataset) == 2
    assert dataset.caption_kind == "synthetic"
    for record in dataset:
        assert len(record.references) == 2
        assert Path(record.video_path).name == f"{record.id}.mp4"
        assert Path(record.video_path).is_file()
        assert abs(len(record.features) * record.info.stride_s - record.duration) <= record.info.stride_s


def test_the_folder_may_move(data_dir, tmp_path):
    moved = data_dir.rename(tmp_path / "elsewhere")
    try:
        assert Path(open_dataset(moved, "moving_shapes", "val")[0].video_path).is_file()
    finally:
        moved.rename(data_dir)


def test_second_run_has_nothing_to_do(data_dir):
    seen = []
    source = shapes_builder.source(
        data_dir, sizes=SIZES, workers=1, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(2, 2)]
    assert writing.write(shapes_builder.MovingShapes, source, data_dir)[2]


def test_other_seed_is_refused(data_dir):
    with pytest.raises(InputError, match="seed"):
        shapes_builder.source(data_dir, sizes=SIZES, seed=2, workers=1)
