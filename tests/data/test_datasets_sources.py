"""What each dataset is made from, on small hand-made inputs."""

import json
import os

import av
import numpy as np
import pytest
import scipy.io

from lvc_jax import backbones
from lvc_jax.data.datasets import (
    activitynet_captions,
    annotated,
    clips,
    fifty_salads,
    open_dataset,
    registry,
    writing,
    youcook2,
)
from lvc_jax.data.datasets.oracle_actions import OracleActions
from lvc_jax.data.feature_store import FeatureInfo, save_info, write_store
from lvc_jax.errors import InputError

HEADER = "video-name,t-start,t-end,action-label,video-duration,filename,fps,video-frames,temporal-region-label\n"


def captions(*ids: str, duration: float = 6.0) -> dict:
    return {name: {"duration": duration, "timestamps": [[0, 2.5]], "sentences": [f" Says {name}."]} for name in ids}


def write_json(path, content) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def write_features(folder, *ids: str, rows: int = 6) -> None:
    folder.mkdir(exist_ok=True)
    save_info(folder, FeatureInfo("tsp", 4, 1.0, 1.0))
    for number, name in enumerate(ids):
        np.save(folder / f"{name}.npy", np.full((rows, 4), number, np.float16))


@pytest.fixture
def activitynet(tmp_path):
    write_json(tmp_path / "train.json", captions("v_a", "v_b"))
    write_json(tmp_path / "val_1.json", captions("v_c", "v_d"))
    write_json(tmp_path / "val_2.json", captions("v_c"))
    return tmp_path


def test_activitynet_from_a_feature_folder(activitynet, tmp_path):
    write_features(tmp_path / "tsp", "v_a", "b", "v_c", "v_d")
    source = activitynet_captions.source(str(activitynet), str(tmp_path / "tsp"))
    folder, summary, _ = writing.write(activitynet_captions.ActivitynetCaptions, source, tmp_path / "out")
    assert folder.relative_to(tmp_path / "out").parts == ("activitynet_captions", "tsp", "1.0.0")
    assert summary["caption_kind"] == "human captions"
    assert summary["splits"]["val"]["captions"] == [2, 1]
    assert summary["splits"]["train"]["repairs"] == {"sentence: surrounding space stripped": 2}
    val = open_dataset(tmp_path / "out", "activitynet_captions", "val")
    assert [len(record.references) for record in val] == [2, 1]
    assert val[0].events[0].sentence == "Says v_c."
    # Features are found with and without the prefix "v_".
    assert open_dataset(tmp_path / "out", "activitynet_captions", "train")[1].features[0, 0] == 1


def test_missing_features_name_the_video(activitynet, tmp_path):
    write_features(tmp_path / "tsp", "v_a", "v_c", "v_d")
    source = activitynet_captions.source(str(activitynet), str(tmp_path / "tsp"))
    with pytest.raises(InputError, match=r"video v_b.*--skip_missing"):
        writing.write(activitynet_captions.ActivitynetCaptions, source, tmp_path / "out")
    _, summary, _ = writing.write(activitynet_captions.ActivitynetCaptions, source, tmp_path / "out", skip_missing=True)
    assert list(summary["splits"]["train"]["skipped"]) == ["v_b"]


def test_missing_annotation_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"train\.json: not found"):
        youcook2.source(str(tmp_path), str(tmp_path))


def test_youcook2(tmp_path):
    write_json(tmp_path / "train.json", captions("v_a"))
    write_json(tmp_path / "val.json", captions("v_b"))
    write_features(tmp_path / "tsn", "a", "b")
    writing.write(youcook2.Youcook2, youcook2.source(str(tmp_path), str(tmp_path / "tsn")), tmp_path / "out")
    assert open_dataset(tmp_path / "out", "youcook2", "train+val").ids == ("v_a", "v_b")


def test_stored_id_prefers_the_exact_name(tmp_path):
    class Store(dict):
        info = None

    assert annotated.stored_id(Store({"v_a": 1, "a": 2}), "v_a") == "v_a"
    assert annotated.stored_id(Store({"v_a": 1}), "a") == "v_a"


def test_oracle_actions(tmp_path):
    lines = [
        "a,0.2,1.6,Zumba,3.3,v_a.mp4,30,99,Action",
        "a,1.0,3.0,Archery,3.3,v_a.mp4,30,99,Action",
        "a,0,0.2,,3.3,v_a.mp4,30,99,No action",
        "b,2.0,2.0,Zumba,3,v_b.mp4,30,90,Action",
        "b,0,3,,3,v_b.mp4,30,90,No action",
    ]
    (tmp_path / "action_segments_train.csv").write_text(HEADER + "\n".join(lines), encoding="utf-8")
    store = OracleActions(tmp_path, {"v_a": 3.3, "v_b": 3.0, "v_c": 2.0})
    assert store.classes == ("Archery", "Zumba")
    assert store.info == FeatureInfo("oracle_action_labels", 3, 1.0, 1.0)
    assert store.ids() == ["v_a", "v_b"]
    # The middles 0.5, 1.5, 2.5 and 3.5 decide; two classes may be on at once.
    np.testing.assert_array_equal(store["v_a"], [[0, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 1]])
    np.testing.assert_array_equal(store["v_b"], [[0, 0, 1]] * 3)
    assert store.dropped == {"action_segments_train.csv": 1}
    with pytest.raises(InputError, match="v_c"):
        store["v_c"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("video-name,t-start\n", "no column 't-end'"),
        (HEADER + "a,zero,1,Zumba,3,v_a.mp4,30,90,Action\n", "line 2"),
        (HEADER + "a,nan,1,Zumba,3,v_a.mp4,30,90,Action\n", "finite"),
    ],
)
def test_bad_action_segments(tmp_path, text, words):
    (tmp_path / "action_segments_train.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=words):
        OracleActions(tmp_path, {"v_a": 3.0})


def test_no_action_segments(tmp_path):
    with pytest.raises(InputError, match=r"action_segments_\*\.csv"):
        OracleActions(tmp_path, {})


def test_runs_of_labels_become_events():
    events = fifty_salads.label_events(np.array([0, 3, 3, 0, 3, 4, 4, 4, 0]))
    assert [(e.start, e.end, e.sentence) for e in events] == [
        (1.0, 3.0, "the person adds pepper."),
        (4.0, 5.0, "the person adds pepper."),
        (5.0, 8.0, "the person adds salt."),
    ]
    assert fifty_salads.label_events(np.zeros(5, int)) == ()


def test_missing_salad_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"Split_1\.mat: not found"):
        fifty_salads.source(tmp_path)


def test_damaged_salad_file_is_named(tmp_path):
    for n in fifty_salads.FOLDS:
        (tmp_path / f"50salads_mid_SVM_Split_{n}.mat").write_bytes(b"not matlab")
    with pytest.raises(InputError, match=r"Split_1\.mat: not a readable MATLAB file"):
        fifty_salads.source(tmp_path)


def write_video(path, seconds: float = 2.0) -> None:
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for number in range(round(seconds * 10)):
            picture = np.full((48, 64, 3), number * 10 % 255, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


@pytest.fixture
def clip_folder(tmp_path):
    folder = tmp_path / "clips"
    folder.mkdir()
    content = {f"c{i}": {"file": f"c{i}.mp4", **captions("x", duration=2.0)["x"]} for i in range(4)}
    write_json(folder / "annotations.json", content)
    for name in content:
        write_video(folder / f"{name}.mp4")
    return folder


def test_clips_extract_features_once(clip_folder, tmp_path):
    out = tmp_path / "out"
    _, summary, _ = writing.write(clips.Clips, clips.source(str(clip_folder), out), out)
    assert summary["feature_info"]["backbone"] == "colour_moments"
    dataset = open_dataset(out, "clips", "+".join(name for name in summary["splits"]))
    assert sorted(dataset.ids) == ["c0", "c1", "c2", "c3"]
    assert len(dataset[0].features) == 5
    assert dataset[0].video_path == str(clip_folder / f"{dataset.ids[0]}.mp4")
    kept = sorted((out / "clips" / "extracted").rglob("*.npy"))
    times = [path.stat().st_mtime_ns for path in kept]
    writing.write(clips.Clips, clips.source(str(clip_folder), out), out, overwrite=True)
    assert [path.stat().st_mtime_ns for path in kept] == times


def test_clips_extract_with_weights_of_their_own(clip_folder, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(clips, "load_fingerprint", lambda folder: folder.name + "0" * 16)
    plain = backbones.get("colour_moments")
    monkeypatch.setattr(backbones, "get", lambda name, weights: asked.append((name, weights.name)) or plain)
    for weights in ("first", "second"):
        source = clips.source(str(clip_folder), tmp_path, backbone="tsp", weights=tmp_path / weights)
        assert source.inputs["weights"].startswith(weights)
        split = next(iter(source.splits.values()))
        split.read(split.ids[0])
    assert asked == [("tsp", "first"), ("tsp", "second")]
    assert len({path.parent.name for path in tmp_path.rglob("*.npy")}) == 2


def test_named_split_files(clip_folder, tmp_path):
    (clip_folder / "annotations.json").rename(clip_folder / "annotations_test.json")
    write_features(tmp_path / "features", "c0", "c1", "c2", "c3")
    source = clips.source(str(clip_folder), tmp_path, features=str(tmp_path / "features"))
    assert list(source.splits) == ["test"]
    writing.write(clips.Clips, source, tmp_path / "out")
    assert len(open_dataset(tmp_path / "out", "clips", "test")) == 4


def test_a_video_keeps_its_split_when_others_are_added(tmp_path):
    names = [f"clip {i}" for i in range(200)]
    content = {name: {"file": "x.mp4", **captions("x")["x"]} for name in names}
    write_json(tmp_path / "annotations.json", content)
    all_of_them = clips.source(str(tmp_path), tmp_path).splits
    write_json(tmp_path / "annotations.json", dict(list(content.items())[:100]))
    half = clips.source(str(tmp_path), tmp_path).splits
    assert 20 <= len(all_of_them["val"].ids) <= 60
    # Every caption has a space to strip, which is counted where the video goes.
    for split in all_of_them.values():
        assert dict(split.repairs) == {"sentence: surrounding space stripped": len(split.ids)}
    assert [name for name in all_of_them["val"].ids if name in names[:100]] == list(half["val"].ids)


def test_missing_clip_is_named(clip_folder, tmp_path):
    (clip_folder / "c2.mp4").unlink()
    with pytest.raises(InputError, match=r"video c2: no file"):
        writing.write(clips.Clips, clips.source(str(clip_folder), tmp_path / "out"), tmp_path / "out")


REFUSED = "was prepared from other inputs .*--overwrite"


@pytest.mark.parametrize("end", ["", "/features.h5", "/features.array_record"])
def test_replaced_features_are_refused_until_overwritten(tmp_path, end):
    write_json(tmp_path / "train.json", captions("a"))
    write_json(tmp_path / "val.json", captions("b"))
    path = f"{tmp_path / 'tsn'}{end}"

    def extract_and_prepare(value: float | None, **options):
        if value is not None:
            rows = np.full((6, 4), value, np.float32)
            write_store(path, FeatureInfo("tsn", 4, 1.0, 1.0), [("a", rows), ("b", rows)])
        return writing.write(youcook2.Youcook2, youcook2.source(str(tmp_path), path), tmp_path / "out", **options)

    assert not extract_and_prepare(1.0)[2]
    assert extract_and_prepare(None)[2]
    with pytest.raises(InputError, match=REFUSED):
        extract_and_prepare(2.0)
    assert not extract_and_prepare(None, overwrite=True)[2]
    assert open_dataset(tmp_path / "out", "youcook2", "train")[0].features[0, 0] == 2


def test_replaced_activitynet_features_are_refused(activitynet, tmp_path):
    write_features(tmp_path / "tsp", "v_a", "v_b", "v_c", "v_d")
    options = str(activitynet), str(tmp_path / "tsp")
    before = activitynet_captions.source(*options).inputs
    assert activitynet_captions.source(*options).inputs == before
    write_features(tmp_path / "tsp", "v_a", rows=7)
    after = activitynet_captions.source(*options).inputs
    assert {name for name in before if before[name] != after[name]} == {"feature_files"}


def test_a_replaced_clip_is_refused_then_extracted_anew(clip_folder, tmp_path):
    out = tmp_path / "out"
    writing.write(clips.Clips, clips.source(str(clip_folder), out), out)
    assert writing.write(clips.Clips, clips.source(str(clip_folder), out), out)[2]
    write_video(clip_folder / "c1.mp4", seconds=1.0)
    os.utime(clip_folder / "c1.mp4", (0, 0))  # older than the features that were kept
    with pytest.raises(InputError, match=REFUSED):
        writing.write(clips.Clips, clips.source(str(clip_folder), out), out)
    _, summary, _ = writing.write(clips.Clips, clips.source(str(clip_folder), out), out, overwrite=True)
    dataset = open_dataset(out, "clips", "+".join(summary["splits"]))
    assert {record.id: len(record.features) for record in dataset} == {"c0": 5, "c1": 2, "c2": 5, "c3": 5}


@pytest.mark.parametrize("dtype", [None, "float32", "float16"])
def test_the_given_dtype_goes_to_disk(activitynet, tmp_path, dtype):
    (tmp_path / "action_segments_train.csv").write_text(HEADER + "a,0,2,Zumba,6,v_a.mp4,30,99,Action\n")
    for n in fifty_salads.FOLDS:
        video = np.empty((1, 1), object)
        scores, labels = video.copy(), video.copy()
        scores[0, 0], labels[0, 0] = np.ones((3, 18)), np.zeros((1, 3))
        scipy.io.savemat(tmp_path / f"50salads_mid_SVM_Split_{n}.mat", {"S": scores, "Y": labels})
    common = {"data_dir": tmp_path / "out", "annotations": str(activitynet), "feature_dtype": dtype}
    oracle = registry.Options(features=f"oracle:{tmp_path}", **common)
    assert registry.make("activitynet_captions", oracle)[1].dtype == (dtype or "float16")
    builder, source = registry.make("fifty_salads", registry.Options(features=str(tmp_path), **common))
    assert writing.write(builder, source, tmp_path / "out")[1]["inputs"]["dtype"] == (dtype or "float32")
