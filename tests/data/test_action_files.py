"""Files of online action detection: what is read, and one line for what is not."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lvc_jax.data import action_files, frame_files
from lvc_jax.errors import InputError
from lvc_jax.metrics import average_precision_score, instantaneous_accuracy

SEGMENT = {"label": "A", "segment": [0.5, 2]}
VIDEO = {"subset": "Test", "duration": 4, "annotations": [SEGMENT]}


def written(path: Path, content: object) -> Path:
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_annotations_and_detections(tmp_path: Path) -> None:
    content = {"database": {"a": {**VIDEO, "fps": 30}, "b": {**VIDEO, "subset": "Train", "annotations": []}}}
    path = written(tmp_path / "gt.json", content)
    assert action_files.read_annotations(path, "Test") == {
        "a": {"duration": 4.0, "subset": "Test", "annotations": [{"label": "A", "segment": [0.5, 2.0]}]}
    }
    assert list(action_files.read_annotations(path)) == ["a", "b"]
    items = {"results": {"a": [{**SEGMENT, "score": 0.3}, {**SEGMENT, "score": None}], "b": []}}
    assert action_files.read_detections(written(tmp_path / "p.json", items)) == {
        "a": [{"label": "A", "segment": [0.5, 2.0], "score": 0.3}, {"label": "A", "segment": [0.5, 2.0]}],
        "b": [],
    }


def test_golden_data_set_from_files(shared: Path, tmp_path: Path) -> None:
    content = json.loads((shared / "golden/instantaneous_accuracy/dataset_small.json").read_text())
    truth, said = written(tmp_path / "gt.json", content["gt"]), written(tmp_path / "p.json", content["pred"])
    for row in content["results"]:
        if row["videos"]:
            annotated = action_files.read_annotations(truth, row["subset"])
            result = instantaneous_accuracy.score(annotated, action_files.read_detections(said))
            assert result.scores == {"maIA": row["maIA"], "weighted_maIA": row["maIA_weighted"]}
        else:
            with pytest.raises(InputError, match="no video of subset 'validation'; subsets there: 'Test'"):
                action_files.read_annotations(truth, row["subset"])


def test_golden_frames_from_files(shared: Path, tmp_path: Path) -> None:
    for case in json.loads((shared / "golden/average_precision/cases.json").read_text())["multi_class"]:
        truth, said = (
            frame_files.read(written(tmp_path / name, {"classes": case["class_names"], "frames": {"v": case[name]}}))
            for name in ("ground_truth", "prediction")
        )
        ignore = [truth.classes[case["ignore_index"]]] if case["ignore_index"] >= 0 else []
        result = average_precision_score.score(truth.videos, said.videos, truth.classes, "lstr", ignore=ignore)
        assert result.scores["mAP"] == pytest.approx(case["out"]["mean_AP"], abs=1e-15)


def test_thumos14_files(shared: Path) -> None:
    videos = action_files.read_annotations(shared / "data/oad/thumos14_ground_truth.json", "Test")
    items = action_files.read_detections(shared / "data/oad/thumos14_c3d_predictions.json")
    assert len(videos) == len(items) == 212
    assert sum(map(len, items.values())) == 5584


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([], "expected an object with the field 'database', found a list"),
        ({}, "field 'database' is missing"),
        ({"database": []}, "field 'database': expected an object"),
        ({"database": {"a": 3}}, "video 'a': expected an object, found a number"),
        ({"database": {"a": {"annotations": []}}}, "video 'a': field 'duration' is missing"),
        ({"database": {"a": {**VIDEO, "duration": -1}}}, "video 'a': field 'duration': -1.0 is below 0"),
        ({"database": {"a": {**VIDEO, "duration": True}}}, "expected a number of seconds, found true or false"),
        ({"database": {"a": {**VIDEO, "subset": 3}}}, "video 'a': field 'subset': expected text"),
        ({"database": {"a": {**VIDEO, "annotations": [3]}}}, r"field 'annotations\[0\]': expected an object"),
        ({"database": {"a": {**VIDEO, "annotations": [{}]}}}, r"field 'annotations\[0\]\.segment' is missing"),
        (
            {"database": {"a": {**VIDEO, "annotations": [{"label": "A", "segment": [1]}]}}},
            r"field 'annotations\[0\]\.segment': expected \[start, end\]",
        ),
        (
            {"database": {"a": {**VIDEO, "annotations": [{"label": "A", "segment": "12"}]}}},
            r"field 'annotations\[0\]\.segment': expected \[start, end\] in seconds, found text",
        ),
        (
            {"database": {"a": {**VIDEO, "annotations": [{"label": 3, "segment": [1, 2]}]}}},
            r"field 'annotations\[0\]\.label': expected text",
        ),
        ({"database": {"a": VIDEO}}, r"no video of subset 'test'; subsets there: 'Test' \(1 videos\)"),
        ('{"database": ', "not valid JSON"),
        ('{"database": {"a": {"duration": NaN, "annotations": []}}}', "nan is not a finite number of seconds"),
        ('{"database": {"a": 1, "a": 2}}', "key 'a' occurs twice"),
    ],
)
def test_bad_annotations(tmp_path: Path, content: object, message: str) -> None:
    path = written(tmp_path / "gt.json", content)
    with pytest.raises(InputError, match=message) as caught:
        action_files.read_annotations(path, "test")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"results": {"a": {}}}, "video 'a': field 'results': expected a list, found an object"),
        (
            {"results": {"a": [{**SEGMENT, "score": "x"}]}},
            r"field 'results\[0\]\.score': expected a number, found text",
        ),
        ({"results": {"a": [{**SEGMENT, "segment": [0, "x"]}]}}, r"field 'results\[0\]\.segment\[1\]': expected a num"),
        ({"result": {}}, "field 'results' is missing"),
    ],
)
def test_bad_detections(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        action_files.read_detections(written(tmp_path / "p.json", content))


def test_no_such_file(tmp_path: Path) -> None:
    for read in (action_files.read_annotations, action_files.read_detections, frame_files.read):
        for name in ("none.json", "none.npz"):
            with pytest.raises(InputError, match=r"no such \w+ file"):
                read(tmp_path / name)


VALUES = [[0.1, 0.9], [0.5, 0.5]]


def test_frames_as_json_and_as_arrays(tmp_path: Path) -> None:
    one = frame_files.read(written(tmp_path / "f.json", {"classes": ["BG", "A"], "frames": {"v": VALUES, "w": []}}))
    np.savez(tmp_path / "f.npz", classes=np.array(["A", "BG"]), v=np.array(VALUES)[:, ::-1], w=np.zeros((0, 2)))
    two = frame_files.read(tmp_path / "f.npz")
    assert one.classes == ["BG", "A"]
    assert one.videos["v"].tolist() == VALUES
    assert one.videos["w"].shape == (0, 2)
    assert frame_files.same_classes(one, two, "f.npz").videos["v"].tolist() == VALUES
    with pytest.raises(InputError, match=r"g.npz: field 'classes': 'A' is in one file only"):
        frame_files.same_classes(one, two._replace(classes=["B", "BG"]), "g.npz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"classes": ["A"], "frames": {}}, "field 'classes': 1 names"),
        ({"classes": ["A", 3], "frames": {}}, r"field 'classes\[1\]': expected text"),
        ({"classes": ["A", "B"]}, "field 'frames' is missing"),
        ({"classes": ["A", "B"], "frames": {"v": [[1]]}}, r"video 'v': array \[1, 1\]; expected \[frames, 2 classes\]"),
        (
            {"classes": ["A", "B"], "frames": {"v": [[], []]}},
            r"video 'v': array \[2, 0\]; expected \[frames, 2 classes\]",
        ),
        ({"classes": ["A", "B"], "frames": {"v": [[1, 2], [1]]}}, "video 'v': frames of unequal length"),
        ({"classes": ["A", "B"], "frames": {"v": [["a", "b"]]}}, "video 'v': expected numbers"),
        ('{"classes": ["A", "B"], "frames": {"v": [[0, 1], [0, NaN]]}}', "video 'v': frame 1, class 1: not a finite"),
    ],
)
def test_bad_frames(tmp_path: Path, content: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        frame_files.read(written(tmp_path / "f.json", content))


def test_bad_archives(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04 nothing")
    np.savez(tmp_path / "b.npz", v=np.zeros((2, 2)))
    np.savez(tmp_path / "c.npz", classes=np.array(["A", "B"]), v=np.array([{}], dtype=object))
    np.save(tmp_path / "d.npy", np.zeros(3))
    (tmp_path / "d.npy").rename(tmp_path / "d.npz")
    for name, message in (
        ("a.npz", "not a readable .npz"),
        ("b.npz", "array 'classes'"),
        ("c.npz", "not a readable .npz"),
        ("d.npz", "not a readable .npz"),
    ):
        with pytest.raises(InputError, match=message):
            frame_files.read(tmp_path / name)


JSONISH = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["segment", "label", "score", "duration", "annotations", "subset", "v"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(JSONISH)
def test_any_json_is_read_or_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, content: object) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    for read, whole in (
        (action_files.read_annotations, {"database": {"v": content}}),
        (action_files.read_detections, {"results": {"v": content}}),
        (frame_files.read, {"classes": ["A", "B"], "frames": {"v": content}}),
    ):
        try:
            read(written(path, whole))
        except InputError as error:
            message = str(error)
            assert "\n" not in message and "any.json" in message
