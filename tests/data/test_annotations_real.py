"""The published files: everything is read, and the repairs are as many as counted by hand."""

import pytest

from lvc_jax.data import annotations
from lvc_jax.data.annotations import Repair

# videos, events read, ends past the duration, events without length, non-ASCII, line breaks, leading or trailing space
EXPECTED = {
    "activitynet_captions/train.json": (10_009, 37_421, 29, 2, 24, 5, 25_731),
    "activitynet_captions/val_1.json": (4_917, 17_505, 5, 0, 24, 2, 11_639),
    "activitynet_captions/val_2.json": (4_885, 17_031, 1, 0, 8, 3, 11_483),
    "youcook2/train.json": (1_333, 10_337, 0, 0, 0, 0, 2),
    "youcook2/val.json": (457, 3_492, 0, 0, 0, 0, 3),
}
COUNTED = (Repair.CLIPPED, Repair.POINT, Repair.NON_ASCII, Repair.LINE_BREAK, Repair.SPACE_STRIPPED)


@pytest.mark.parametrize("name", EXPECTED)
def test_published_annotations(shared, name):
    videos, events, *repairs = EXPECTED[name]
    loaded = annotations.load(shared / "data" / name, fmt=name.split("_")[0].split("/")[0])
    assert len(loaded.videos) == videos
    assert [loaded.repairs[key] for key in COUNTED] == repairs
    assert sum(len(video.events) for video in loaded.videos.values()) == events - loaded.repairs[Repair.POINT]
    # Nothing else happened than what the table of the documentation lists for these files.
    assert set(loaded.repairs) <= {*COUNTED, Repair.SPACE_COLLAPSED}
    for video in loaded.videos.values():
        for event in video.events:
            assert 0 <= event.start < event.end <= video.duration
            assert event.sentence == " ".join(event.sentence.split())


def test_both_validation_files_make_two_reference_sets(shared):
    folder = shared / "data/activitynet_captions"
    loaded = annotations.load(folder / "val_1.json", second=folder / "val_2.json")
    sizes = [len(video.references) for video in loaded.videos.values()]
    assert (len(sizes), sizes.count(2)) == (4_917, 4_885)
    assert loaded.repairs[Repair.CLIPPED] == 6


def test_clips(shared):
    loaded = annotations.load(shared / "data/clips/annotations.json")
    videos = loaded.videos.values()
    assert len(videos) == 52
    assert sum(len(video.references) == 2 for video in videos) == 16
    assert all((shared / "data/clips" / video.file).is_file() for video in videos)
    assert set(loaded.repairs) <= {Repair.SPACE_STRIPPED}
