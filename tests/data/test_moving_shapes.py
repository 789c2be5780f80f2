"""The embedded dataset: grammar, scenes, rendering, and that files, captions and features belong together."""

import itertools
import json
import re

import numpy as np
import pytest

from lvc_jax import backbones
from lvc_jax.data import annotations, video
from lvc_jax.data.datasets import moving_shapes, moving_shapes_grammar, moving_shapes_render
from lvc_jax.data.datasets.moving_shapes_actors import EXTENT, HEIGHT, WIDTH
from lvc_jax.data.datasets.moving_shapes_scene import make_scene
from lvc_jax.data.extraction import extract, feature_info
from lvc_jax.data.feature_store import open_store
from lvc_jax.errors import InputError

SIZES = {"train": 2, "val": 1, "test": 1}


@pytest.fixture(scope="module")
def scenes():
    return [make_scene(0, split, index) for split in ("train", "test") for index in range(120)]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("moving_shapes")
    moving_shapes.generate(folder, **SIZES, seed=3, workers=1)
    return folder


def _all_sentences() -> tuple[list[str], list[str]]:
    """Every sentence of the first and of the second reference set."""
    pairs = [
        moving_shapes_grammar.sentences(action, ((colour, shape),))
        for action, colour, shape in itertools.product(
            moving_shapes_grammar.SINGLE_ACTIONS, moving_shapes_grammar.COLOURS, moving_shapes_grammar.SHAPES
        )
        if moving_shapes_grammar.allowed(action, shape)
    ]
    pairs += [
        moving_shapes_grammar.sentences(moving_shapes_grammar.COLLIDE, ((colour_a, shape_a), (colour_b, shape_b)))
        for colour_a, colour_b in itertools.combinations(moving_shapes_grammar.COLOURS, 2)
        for shape_a, shape_b in itertools.product(moving_shapes_grammar.SHAPES, moving_shapes_grammar.SHAPES)
    ]
    first, second = zip(*pairs)
    return list(first), list(second)


def test_the_grammar_has_many_distinct_plain_sentences():
    first, second = _all_sentences()
    assert len(first) == len(second) == len(set(first)) == len(set(second)) >= 150
    assert not set(first) & set(second)
    for sentence in (*first, *second):
        assert re.fullmatch(r"[a-z]+( [a-z]+)+\.", sentence)


def test_scenes_are_a_function_of_seed_split_and_index():
    assert make_scene(5, "val", 2) == make_scene(5, "val", 2)
    scenes = [make_scene(seed, split, i) for seed in (5, 6) for split in ("train", "val", "test") for i in (0, 1)]
    assert len({scene.events for scene in scenes}) == len(scenes)


def test_times_of_scenes(scenes):
    for scene in scenes:
        assert 5 <= scene.duration <= 60
        assert scene.events
        for event in scene.events:
            assert 0 <= event.start < event.end <= scene.duration + 1e-6
            assert 2 - 1e-6 <= event.end - event.start <= 6


def test_share_of_silence_and_of_simultaneous_events(scenes):
    beats = np.concatenate(
        [
            [sum(e.start < t < e.end for e in scene.events) for t in np.arange(0.2, scene.duration, 0.4)]
            for scene in scenes
        ]
    )
    assert 0.2 <= (beats == 0).mean() <= 0.4
    assert (beats > 1).mean() > 0.1
    assert beats.max() == 3


def test_all_actions_colours_and_shapes_occur(scenes):
    events = [event for scene in scenes for event in scene.events]
    assert {event.action for event in events} == set(moving_shapes_grammar.ACTIONS)
    things = {thing for event in events for thing in event.things}
    assert len(things) == len(moving_shapes_grammar.COLOURS) * len(moving_shapes_grammar.SHAPES)


def test_shapes_stay_in_the_picture_and_colours_apart(scenes):
    for scene in scenes:
        actions = {(event.start, thing[0]): event.action for event in scene.events for thing in event.things}
        for actor in scene.actors:
            crossing = actions.get((actor.start, actor.colour)) in ("enter", "leave")
            for time in np.arange(actor.start, actor.end, 0.2):
                pose = actor.pose(time)
                if pose and not crossing:
                    reach = 0.9 * EXTENT * pose[2]
                    assert reach <= pose[0] <= WIDTH - reach
                    assert reach <= pose[1] <= HEIGHT - reach
        for time in np.arange(0.2, scene.duration, 0.4):
            colours = [actor.colour for actor in scene.actors if actor.start < time < actor.end]
            assert len(colours) == len(set(colours))


@pytest.mark.parametrize("shape", moving_shapes_grammar.SHAPES)
def test_shapes_of_one_radius_have_one_area_and_fit_their_extent(shape):
    axis = np.linspace(-2, 2, 801)
    u, v = np.meshgrid(axis, axis)
    inside = moving_shapes_render._depth(shape, u, v) > 0
    assert inside.mean() * 16 == pytest.approx(np.pi, rel=0.02)
    assert np.hypot(u, v)[inside].max() <= EXTENT * 1.06


def test_files_captions_and_features_belong_together(root):
    store = open_store(root / "features")
    assert store.info == feature_info(backbones.get("colour_moments"))
    seen = []
    for split, size in SIZES.items():
        path = root / f"annotations_{split}.json"
        videos = annotations.load(path, fmt="clips").videos
        assert len(videos) == size
        for video_id, entry in json.loads(path.read_text(encoding="utf-8")).items():
            assert video.duration(root / entry["file"]) == pytest.approx(entry["duration"], abs=1e-3)
            first, second = videos[video_id].references
            assert [(e.start, e.end) for e in first] == [(e.start, e.end) for e in second]
            assert len(store[video_id]) == round(entry["duration"] / store.info.stride_s)
            seen.append(video_id)
    assert sorted(seen) == store.ids()


def test_features_are_those_of_the_pixels_and_streaming_gives_the_same(root):
    store = open_store(root / "features")
    path = root / "videos" / "shapes_val_00000.mp4"
    np.testing.assert_array_equal(extract(path, backbones.get("colour_moments")), store["shapes_val_00000"])


def test_captions_tell_what_the_pixels_show(root):
    """The hue that the features see change is the colour that the caption names."""
    scene, rows = make_scene(3, "train", 0), open_store(root / "features")["shapes_train_00000"]
    brief = rows[:, 72:102].reshape(len(rows), 6, 5)
    for beat, row in enumerate(brief):
        time = (beat + 0.5) * 0.4
        events = [event for event in scene.events if event.start < time < event.end]
        named = {colour for event in events for colour, _ in event.things}
        assert {moving_shapes_grammar.COLOURS[hue] for hue in np.flatnonzero(row[:, 4])} == named


def test_a_second_call_makes_only_what_is_missing(root):
    videos = {path: path.stat().st_mtime_ns for path in (root / "videos").iterdir()}
    lost = root / "features" / "shapes_test_00000.npy"
    before = np.load(lost)
    lost.unlink()
    calls = []
    moving_shapes.generate(root, **SIZES, seed=3, workers=1, progress=lambda done, total: calls.append((done, total)))
    assert calls == [(3, 4), (4, 4)]
    np.testing.assert_array_equal(np.load(lost), before)
    assert {path: path.stat().st_mtime_ns for path in (root / "videos").iterdir()} == videos


def test_another_seed_in_the_same_folder_is_refused(root):
    with pytest.raises(InputError, match=r"recipe\.json"):
        moving_shapes.generate(root, **SIZES, seed=4, workers=1)
    with pytest.raises(InputError, match="must not be negative"):
        moving_shapes.generate(root, train=-1, workers=1)


@pytest.mark.slow
def test_worker_processes_make_the_same_files(root, tmp_path):
    moving_shapes.generate(tmp_path, **SIZES, seed=3, workers=2)
    for path in (root / "features").glob("*.npy"):
        np.testing.assert_array_equal(np.load(path), np.load(tmp_path / "features" / path.name))
