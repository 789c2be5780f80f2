"""Features by video id: three ways of storing them, one behaviour."""

import json
import multiprocessing
import pickle

import h5py
import numpy as np
import pytest
from array_record.python.array_record_module import ArrayRecordWriter

from lvc_jax.data import feature_store
from lvc_jax.data.feature_store import FeatureInfo
from lvc_jax.errors import InputError

INFO = FeatureInfo("tsp", 5, 1.0667, 1.0667)
PLACES = {"npy": "features", "hdf5": "set/features.h5", "array_record": "set/features.array_record"}


@pytest.fixture(scope="module")
def videos():
    rng = np.random.default_rng(0)
    return {f"v_{name}": rng.normal(size=(length, 5)).astype(np.float32) for name, length in zip("cab", (3, 1, 700))}


@pytest.fixture(params=PLACES)
def path(request, tmp_path, videos):
    path = tmp_path / PLACES[request.param]
    feature_store.write_store(path, INFO, videos.items())
    return path


def test_what_was_written_is_read(path, videos):
    store = feature_store.open_store(path)
    assert store.info == INFO
    assert store.ids() == ["v_a", "v_b", "v_c"]
    assert len(store) == 3
    assert "v_a" in store
    assert "v_z" not in store
    for video_id, rows in videos.items():
        assert store[video_id].dtype == np.float32
        np.testing.assert_array_equal(store[video_id], rows)


def test_a_folder_opens_what_it_holds(path):
    assert len(feature_store.open_store(path.parent if path.suffix else path)) == 3


def test_float16_on_disk(path, videos, tmp_path):
    for place in PLACES.values():
        half = tmp_path / "half" / place
        feature_store.convert_store(path, half, "float16")
        rows = feature_store.open_store(half)["v_b"]
        assert rows.dtype == np.float32
        np.testing.assert_array_equal(rows, videos["v_b"].astype(np.float16))


def test_a_store_travels_to_other_processes(path, videos):
    store = feature_store.open_store(path)
    store["v_a"]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(store))["v_b"], videos["v_b"])


def test_a_worker_process_reads_a_pickled_store(tmp_path, videos):
    feature_store.write_store(tmp_path / "f.array_record", INFO, videos.items())
    store = feature_store.open_store(tmp_path / "f.array_record")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        rows = pool.apply(_read, (store, "v_b"))
    np.testing.assert_array_equal(rows, videos["v_b"])


def _read(store, video_id):
    return store[video_id]


def test_a_missing_video_is_named(path):
    with pytest.raises(InputError, match=r"features.*v_z"):
        feature_store.open_store(path)["v_z"]
    with pytest.raises(InputError, match="features"):
        feature_store.open_store(path)["../features/v_a"]


def test_a_file_cut_short_is_named(path):
    for file in path.glob("*.npy") if path.is_dir() else [path]:
        content = file.read_bytes()
        file.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="features"):
        feature_store.open_store(path)["v_b"]


def test_an_empty_file_is_named(path):
    for file in path.glob("*.npy") if path.is_dir() else [path]:
        file.write_bytes(b"")
    with pytest.raises(InputError, match="features"):
        feature_store.open_store(path)["v_b"]


def test_features_json_is_required_and_explained(path):
    clock = (path if path.is_dir() else path.parent) / "features.json"
    clock.unlink()
    with pytest.raises(InputError, match=r"features\.json: missing.*\"stride_s\""):
        feature_store.open_store(path)


BAD_ROWS = {
    "NaN": (np.full((2, 5), np.nan), "NaN or infinity in row 0"),
    "infinity": (np.array([[0.0] * 5, [np.inf] * 5]), "NaN or infinity in row 1"),
    "too large for float32": (np.full((2, 5), 1e300), "NaN or infinity"),
    "no rows": (np.zeros((0, 5)), "no rows"),
    "wrong width": (np.zeros((2, 4)), "rows have 4 numbers but features.json says dim 5"),
    "one dimension": (np.zeros(5), r"found shape \(5,\)"),
    "three dimensions": (np.zeros((1, 2, 5)), r"found shape \(1, 2, 5\)"),
    "complex": (np.zeros((2, 5), complex), "expected real numbers"),
    "text": (np.full((2, 5), "a"), "expected real numbers"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_features_are_refused_by_file_name(tmp_path, case):
    rows, message = BAD_ROWS[case]
    feature_store.save_info(tmp_path, INFO)
    np.save(tmp_path / "v_1.npy", rows)
    with pytest.raises(InputError, match=rf"v_1\.npy: .*{message}"):
        feature_store.open_store(tmp_path)["v_1"]
    with pytest.raises(InputError, match=message):
        feature_store.write_store(tmp_path / "out.h5", INFO, [("v_1", rows)])
    assert not (tmp_path / "out.h5").exists()


def test_pickled_objects_are_never_loaded(tmp_path):
    feature_store.save_info(tmp_path, INFO)
    np.save(tmp_path / "v_1.npy", np.array([{"a": 1}], object), allow_pickle=True)
    with pytest.raises(InputError, match=r"v_1\.npy: damaged or not a \.npy of numbers"):
        feature_store.open_store(tmp_path)["v_1"]


def test_an_archive_is_not_an_array(tmp_path):
    feature_store.save_info(tmp_path, INFO)
    with open(tmp_path / "v_1.npy", "wb") as file:
        np.savez(file, a=np.zeros((2, 5)))
    with pytest.raises(InputError, match=r"v_1\.npy: an archive"):
        feature_store.open_store(tmp_path)["v_1"]


def test_whole_numbers_and_doubles_become_float32(tmp_path):
    feature_store.save_info(tmp_path, INFO)
    np.save(tmp_path / "v_1.npy", np.ones((2, 5), np.int64))
    np.save(tmp_path / "v_2.npy", np.asfortranarray(np.ones((2, 5), np.float64)))
    store = feature_store.open_store(tmp_path)
    assert store["v_1"].dtype == store["v_2"].dtype == np.float32
    assert store["v_2"].flags.c_contiguous


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "expected an object"),
        ('{"backbone": "tsp"}', "'dim' is missing"),
        ({"backbone": ""}, "'backbone'"),
        ({"backbone": 3}, "'backbone'"),
        ({"dim": 0}, "'dim'"),
        ({"dim": 5.0}, "'dim'"),
        ({"dim": True}, "'dim'"),
        ({"stride_s": 0}, "'stride_s'"),
        ({"stride_s": "1"}, "'stride_s'"),
        ({"window_s": float("nan")}, "'window_s'"),
        ({"window_s": -1}, "'window_s'"),
    ],
)
def test_a_wrong_features_json_is_named(tmp_path, content, message):
    text = content if isinstance(content, str) else json.dumps({**INFO.to_dict(), **content})
    (tmp_path / "features.json").write_text(text)
    with pytest.raises(InputError, match=rf"features\.json: .*{message}"):
        feature_store.load_info(tmp_path)


def test_info_round_trip_ignores_notes(tmp_path):
    (tmp_path / "features.json").write_text(json.dumps({**INFO.to_dict(), "note": "mine"}))
    assert feature_store.load_info(tmp_path) == INFO == FeatureInfo.from_dict(INFO.to_dict())


def test_nothing_or_too_much_to_open(tmp_path, videos):
    with pytest.raises(InputError, match="no such feature folder"):
        feature_store.open_store(tmp_path / "none")
    with pytest.raises(InputError, match="no feature file"):
        feature_store.open_store(tmp_path)
    (tmp_path / "x.csv").write_text("1")
    with pytest.raises(InputError, match="unknown feature file"):
        feature_store.open_store(tmp_path / "x.csv")
    for name in ("a.h5", "b.array_record"):
        feature_store.write_store(tmp_path / name, INFO, videos.items())
    with pytest.raises(InputError, match=r"more than one feature set; name the file to open, such as .*a\.h5"):
        feature_store.open_store(tmp_path)
    feature_store.write_store(tmp_path / "empty" / "c.h5", INFO, [])
    with pytest.raises(InputError, match="holds no video"):
        feature_store.open_store(tmp_path / "empty")


def test_writing_refuses_what_it_cannot_keep(tmp_path, videos):
    for name in ("", "a/b", ".hidden", "a\nb"):
        with pytest.raises(InputError, match="cannot name a file"):
            feature_store.write_store(tmp_path / "f", INFO, [(name, np.zeros((1, 5)))])
    with pytest.raises(InputError, match="too large for float16"):
        feature_store.write_store(tmp_path / "f", INFO, [("v_1", np.full((1, 5), 1e6))], "float16")
    with pytest.raises(InputError, match="choose float16 or float32"):
        feature_store.write_store(tmp_path / "f", INFO, videos.items(), "int8")
    feature_store.write_store(tmp_path / "f", INFO, videos.items())
    with pytest.raises(InputError, match="describes other features"):
        feature_store.write_store(tmp_path / "f", FeatureInfo("c3d", 5, 1.0, 1.0), videos.items())


def test_hdf5_groups_with_one_dataset(tmp_path):
    feature_store.save_info(tmp_path, INFO)
    with h5py.File(tmp_path / "c3d.hdf5", "w") as file:
        file["v_1/c3d_features"] = np.ones((2, 5))
        file["v_2/a"] = file["v_2/b"] = np.ones((2, 5))
    store = feature_store.open_store(tmp_path / "c3d.hdf5")
    np.testing.assert_array_equal(store["v_1"], np.ones((2, 5)))
    with pytest.raises(InputError, match=r"c3d\.hdf5: video 'v_2': the group holds \['a', 'b'\]"):
        store["v_2"]


def test_an_array_record_of_something_else(tmp_path):
    feature_store.save_info(tmp_path, INFO)
    writer = ArrayRecordWriter(str(tmp_path / "x.array_record"), "group_size:1")
    writer.write(b"hello")
    writer.close()
    with pytest.raises(InputError, match=r"x\.array_record: not a whole array_record of features"):
        feature_store.open_store(tmp_path / "x.array_record")
