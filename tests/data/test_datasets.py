"""Preparing and reading: all or nothing, once, self-contained, the same numbers back."""

import json
import pickle

import numpy as np
import pytest

from lvc_jax.data.annotations import Event
from lvc_jax.data.datasets import Dataset, open_dataset, writing
from lvc_jax.data.datasets.reading import find
from lvc_jax.data.datasets.records import Source, Split, VideoRecord
from lvc_jax.errors import InputError
from tests.data.tiny import INFO, TinyCaptions, make_record, make_source, make_split


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    writing.write(TinyCaptions, make_source(train=5, val=2, test=3), folder)
    return folder


def files_of(folder) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_records_come_back_as_they_were(data_dir):
    dataset = open_dataset(data_dir, "tiny_captions", "train")
    assert len(dataset) == 5
    assert dataset.ids == tuple(f"train_{i:02d}" for i in range(5))
    assert dataset.info == INFO
    assert dataset.caption_kind == "synthetic"
    for i in (3, 0, 4):
        record, want = dataset[i], make_record(f"train_{i:02d}")
        assert (record.id, record.duration, record.references) == (want.id, want.duration, want.references)
        assert record.features.dtype == np.float32
        np.testing.assert_array_equal(record.features, want.features)
    assert dataset[-1].id == "train_04"
    with pytest.raises(IndexError):
        dataset[5]


def test_spans_and_sentences_need_no_features(data_dir):
    dataset = open_dataset(data_dir, "tiny_captions", "test")
    records = [make_record(video_id) for video_id in dataset.ids]
    assert [dataset.spans(i) for i in range(3)] == [(r.duration, r.references, len(r.features)) for r in records]
    assert dataset.sentences() == [e.sentence for r in records for events in r.references for e in events]


def test_splits_join_and_leave_out(data_dir):
    joined = open_dataset(data_dir, "tiny_captions", "val+test")
    assert [video_id.split("_")[0] for video_id in joined.ids] == ["val"] * 2 + ["test"] * 3
    assert joined[3].features.shape == make_record("test_01").features.shape
    rest = open_dataset(data_dir, "tiny_captions", "not_val")
    assert len(rest) == 8
    assert not any(video_id.startswith("val") for video_id in rest.ids)


@pytest.mark.parametrize("cache", [True, False])
def test_pickled_dataset_reads_the_same(data_dir, cache):
    dataset = open_dataset(data_dir, "tiny_captions", "train", cache=cache)
    first = dataset[2].features
    copy = pickle.loads(pickle.dumps(dataset))
    np.testing.assert_array_equal(copy[2].features, first)


def test_half_precision_on_disk(tmp_path):
    writing.write(TinyCaptions, make_source("float16", train=2), tmp_path)
    record, want = open_dataset(tmp_path, "tiny_captions", "train")[1], make_record("train_01")
    assert record.features.dtype == np.float32
    np.testing.assert_array_equal(record.features, want.features.astype(np.float16))


def test_second_run_says_so_and_changes_nothing(data_dir):
    before = {path: path.stat().st_mtime_ns for path in data_dir.rglob("*")}
    _, summary, was_there = writing.write(TinyCaptions, make_source(train=5, val=2, test=3), data_dir)
    assert was_there
    assert summary["splits"]["val"]["videos"] == 2
    assert {path: path.stat().st_mtime_ns for path in data_dir.rglob("*")} == before


def test_other_inputs_are_refused_until_overwritten(tmp_path):
    writing.write(TinyCaptions, make_source(train=2), tmp_path)
    with pytest.raises(InputError, match=r"other inputs \(counts differ\).*--overwrite"):
        writing.write(TinyCaptions, make_source(train=3), tmp_path)
    writing.write(TinyCaptions, make_source(train=3), tmp_path, overwrite=True)
    assert len(open_dataset(tmp_path, "tiny_captions", "train")) == 3
    assert not list(tmp_path.rglob(".preparing"))


def test_a_killed_run_leaves_nothing_and_the_next_one_finishes(tmp_path):
    done = []

    def stop(count: int) -> None:
        done.append(count)
        if len(done) == 3:
            raise KeyboardInterrupt

    source = make_source(train=5)
    with pytest.raises(KeyboardInterrupt):
        writing.write(TinyCaptions, source, tmp_path, progress=stop)
    with pytest.raises(InputError, match="not prepared"):
        open_dataset(tmp_path, "tiny_captions", "train")
    writing.write(TinyCaptions, source, tmp_path)
    assert len(open_dataset(tmp_path, "tiny_captions", "train")) == 5
    assert not list(tmp_path.rglob(".preparing"))


def test_unprepared_dataset_names_the_command(tmp_path):
    with pytest.raises(InputError, match=r"python -m lvc_jax.prepare --dataset=youcook2 --data_dir="):
        open_dataset(tmp_path, "youcook2", "train")


def test_unknown_split_lists_those_there_are(data_dir):
    for split in ("dev", "not_dev", "train+dev"):
        with pytest.raises(InputError, match="train, val, test"):
            open_dataset(data_dir, "tiny_captions", split)


def test_two_feature_sets_need_a_name(tmp_path):
    writing.write(TinyCaptions, make_source(train=2), tmp_path)
    other = Source(INFO.__class__("more numbers", 3, 0.4, 0.4), {"train": make_split("train", 1)}, {})
    writing.write(TinyCaptions, other, tmp_path)
    with pytest.raises(InputError, match="several feature sets"):
        open_dataset(tmp_path, "tiny_captions", "train")
    assert len(open_dataset(tmp_path, "tiny_captions/numbers", "train")) == 2
    assert len(open_dataset(tmp_path, "tiny_captions/more numbers", "train")) == 1


def record_with(features) -> VideoRecord:
    return VideoRecord("bad", 5.0, ((Event(0.0, 1.0, "x"),),), np.asarray(features), INFO)


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (np.zeros((0, 3)), "shape"),
        (np.zeros((4, 2)), "shape"),
        (np.zeros(3), "shape"),
        (np.full((2, 3), np.nan), "not finite"),
        (np.full((2, 3), 1e6), "not finite in float16"),
    ],
)
def test_unusable_features_are_named(tmp_path, features, words):
    source = Source(INFO, {"train": Split(["bad"], lambda _: record_with(features))}, {}, "float16")
    with pytest.raises(InputError, match=f"video bad: .*{words}"):
        writing.write(TinyCaptions, source, tmp_path)


def test_skip_missing_counts_what_it_skips(tmp_path):
    def read(video_id: str) -> VideoRecord:
        if video_id == "train_01":
            raise InputError("no features of video train_01")
        return make_record(video_id)

    source = Source(INFO, {"train": Split(["train_00", "train_01", "train_02"], read)}, {})
    with pytest.raises(InputError, match="train_01"):
        writing.write(TinyCaptions, source, tmp_path)
    _, summary, _ = writing.write(TinyCaptions, source, tmp_path, skip_missing=True)
    assert summary["splits"]["train"]["skipped"] == {"train_01": "no features of video train_01"}
    dataset = open_dataset(tmp_path, "tiny_captions", "train")
    assert dataset.ids == ("train_00", "train_02")
    np.testing.assert_array_equal(dataset[1].features, make_record("train_02").features)


def test_a_split_without_a_usable_video(tmp_path):
    def read(video_id: str) -> VideoRecord:
        raise InputError(f"no features of video {video_id}")

    source = Source(INFO, {"train": make_split("train", 1), "val": Split(["a", "b"], read)}, {})
    with pytest.raises(InputError, match="split val: none of its 2 videos"):
        writing.write(TinyCaptions, source, tmp_path, skip_missing=True)


def test_records_stand_alone(tmp_path):
    """The array_record files hold everything; TFDS itself reads them."""
    import tensorflow_datasets as tfds

    folder, _, _ = writing.write(TinyCaptions, make_source(train=2), tmp_path)
    record = tfds.builder_from_directory(folder).as_data_source("train")[1]
    want = make_record("train_01")
    annotation = json.loads(record["annotation"])
    assert record["id"].decode() == "train_01"
    assert annotation["duration"] == want.duration
    assert annotation["references"][0] == [[e.start, e.end, e.sentence] for e in want.events]


def test_damaged_index_is_named(tmp_path):
    folder, _, _ = writing.write(TinyCaptions, make_source(train=2), tmp_path)
    (folder / "index_train.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"index_train\.json.*--overwrite"):
        Dataset(folder, ["train"])


@pytest.mark.parametrize("content", ["[]", "3", "null", "{}", '{"inputs": 3}', '[{"id": 3}]', "[1]", "{"])
def test_descriptions_that_hold_something_else_are_one_line(tmp_path, content):
    folder, _, _ = writing.write(TinyCaptions, make_source(train=2), tmp_path)
    (folder / "prepared.json").write_text(content, encoding="utf-8")
    for use in (
        lambda: Dataset(folder, ["train"]),
        lambda: open_dataset(tmp_path, "tiny_captions", "train"),
        lambda: writing.prepared_summary(folder, {}),
    ):
        with pytest.raises(InputError, match="--overwrite") as caught:
            use()
        assert str(folder) in str(caught.value)


@pytest.mark.parametrize(
    "content", ["3", "null", "[1]", '[{"id": "a"}]', '[{"id": "a", "video": null, "duration": 1}]']
)
def test_an_index_that_holds_something_else_is_one_line(tmp_path, content):
    folder, _, _ = writing.write(TinyCaptions, make_source(train=2), tmp_path)
    (folder / "index_train.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match="--overwrite"):
        Dataset(folder, ["train"])


def test_find_prefers_nothing_hidden(tmp_path):
    folder, _, _ = writing.write(TinyCaptions, make_source(train=2), tmp_path)
    assert find(tmp_path, "tiny_captions") == folder
    assert files_of(folder) == {
        "dataset_info.json",
        "features.json",
        "index_train.json",
        "prepared.json",
        "tiny_captions-train.array_record-00000-of-00001",
    }
