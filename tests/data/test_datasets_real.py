"""The builders on real data."""

import itertools
import json
from collections import Counter

import numpy as np
import pytest

from lvc_jax.data import annotations
from lvc_jax.data.datasets import activitynet_captions, fifty_salads, open_dataset, writing, youcook2
from lvc_jax.data.datasets.oracle_actions import OracleActions
from lvc_jax.data.feature_store import FeatureInfo, save_info

FIRST = 40  # videos of each annotation file


@pytest.fixture(scope="module")
def salads(shared, tmp_path_factory):
    folder = tmp_path_factory.mktemp("salads")
    _, summary, _ = writing.write(fifty_salads.FiftySalads, fifty_salads.source(shared / "data/50salads"), folder)
    return folder, summary


def test_salads_folds(salads):
    folder, summary = salads
    assert {name: split["videos"] for name, split in summary["splits"].items()} == {
        f"fold_{n}": 10 for n in range(1, 6)
    }
    assert summary["caption_kind"] == "verbalised labels"
    train = open_dataset(folder, "fifty_salads", "not_fold_5")
    assert len(train) == 40
    assert train.info == FeatureInfo("svm_scores", 18, 1.0, 1.0)
    for i in range(len(train)):
        span = train.spans(i)
        assert span.duration == span.n_rows
        assert all(0 <= event.start < event.end <= span.duration for event in span.references[0])


def test_salad_labels_are_the_listed_actions(shared):
    """The list is in label order: what is cut goes into the bowl next, dressing and serving come last."""
    listed = (shared / "data/50salads/mid_level_actions.txt").read_text(encoding="utf-8").split()
    assert listed == list(fifty_salads.ACTIONS) == sorted(listed)
    action = {sentence: name for name, sentence in fifty_salads.ACTIONS.items()}
    after: dict[str, Counter] = {name: Counter() for name in listed}
    place: dict[str, list[float]] = {name: [] for name in listed}
    for split in fifty_salads.source(shared / "data/50salads").splits.values():
        for video_id in split.ids:
            video = split.read(video_id)
            names = [action[event.sentence] for event in video.events]
            for one, two in itertools.pairwise(names):
                after[one][two] += 1
            for name, event in zip(names, video.events):
                place[name].append(event.start / video.duration)
    for thing in ("cheese", "cucumber", "lettuce", "tomato"):
        assert after[f"cut_{thing}"].most_common(1)[0][0] == f"place_{thing}_into_bowl"
    assert after["peel_cucumber"].most_common(1)[0][0] == "cut_cucumber"
    order = sorted(listed, key=lambda name: np.mean(place[name]))
    assert set(order[-3:]) == {"mix_ingredients", "add_dressing", "serve_salad_onto_plate"}


def test_salad_scores_point_at_the_labels(salads):
    """The column of a score is the label's id: the arg-max caption is right more than half of the time."""
    dataset = open_dataset(salads[0], "fifty_salads", "not_fold_1")
    right = total = 0
    for record in dataset:
        said = [fifty_salads.SENTENCES[label] for label in record.features.argmax(axis=1)]
        for event in record.events:
            seconds = range(int(event.start), int(event.end))
            right += sum(said[second] == event.sentence for second in seconds)
            total += len(seconds)
    assert right / total > 0.5


def subset(source_file, target, count: int = FIRST) -> list[str]:
    content = json.loads(source_file.read_text(encoding="utf-8"))
    first = dict(list(content.items())[:count])
    target.write_text(json.dumps(first), encoding="utf-8")
    return list(first)


def test_activitynet_with_oracle_actions(shared, tmp_path):
    real = shared / "data/activitynet_captions"
    subset(real / "train.json", tmp_path / "train.json")
    val = subset(real / "val_1.json", tmp_path / "val_1.json")
    content = json.loads((real / "val_2.json").read_text(encoding="utf-8"))
    second = {name: content[name] for name in val if name in content}
    (tmp_path / "val_2.json").write_text(json.dumps(second), encoding="utf-8")
    source = activitynet_captions.source(str(tmp_path), f"oracle:{real}")
    _, summary, _ = writing.write(activitynet_captions.ActivitynetCaptions, source, tmp_path / "out")
    assert summary["feature_info"] == {
        "backbone": "oracle_action_labels",
        "dim": 201,
        "stride_s": 1.0,
        "window_s": 1.0,
    }
    dataset = open_dataset(tmp_path / "out", "activitynet_captions", "val")
    assert len(dataset) == FIRST
    assert sum(len(record.references) == 2 for record in dataset) == len(second)
    for record in dataset:
        assert len(record.features) == int(np.ceil(record.duration - 1e-6))
        assert set(np.unique(record.features)) <= {0.0, 1.0}
        assert (record.features.sum(axis=1) >= 1).all()


def test_every_activitynet_video_has_action_segments(shared):
    real = shared / "data/activitynet_captions"
    loaded = [annotations.load(real / f"{name}.json", fmt="activitynet") for name in ("train", "val_1")]
    durations = {video.id: video.duration for part in loaded for video in part.videos.values()}
    store = OracleActions(real, durations)
    assert len(store.classes) == 200
    assert len(store) == len(durations) == 10009 + 4917


def test_youcook2(shared, tmp_path):
    real, features = shared / "data/youcook2", tmp_path / "features"
    features.mkdir()
    save_info(features, FeatureInfo("made_up", 2, 2.0, 2.0))
    for name in ("train", "val"):
        for video_id in subset(real / f"{name}.json", tmp_path / f"{name}.json"):
            np.save(features / f"{video_id}.npy", np.ones((100, 2), np.float32))
    source = youcook2.source(str(tmp_path), str(features))
    _, summary, _ = writing.write(youcook2.Youcook2, source, tmp_path / "out")
    assert [split["videos"] for split in summary["splits"].values()] == [FIRST, FIRST]
    record = open_dataset(tmp_path / "out", "youcook2", "train")[0]
    assert record.id == "v_GLd3aX16zBg"
    assert record.duration == 241.62
    assert record.events[0].sentence == "spread margarine on two slices of white bread"
