"""Torch files without torch: both containers, every type, and nothing that a file names is ever run."""

import collections
import contextlib
import io
import os
import pickle
import struct
import time
import zipfile

import ml_dtypes
import numpy as np
import pytest

from lvc_jax.conversion import torch_file, torch_writer
from lvc_jax.conversion.torch_records import Name, Record, Tensor
from lvc_jax.errors import InputError
from tests.conversion import made

TYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int64, np.int32, np.int16, np.int8, np.uint8, bool]


def zipped(path, orders, storages=(), folder="archive", compression=zipfile.ZIP_STORED, **other):
    """A zip container of these pickle orders and storages."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr(f"{folder}/data.pkl", orders)
        for key, content in enumerate(storages):
            archive.writestr(f"{folder}/data/{key}", content)
        for name, content in other.items():
            archive.writestr(f"{folder}/{name}", content)
    return path


def call(name, *arguments):
    """Orders that would call `name`."""
    module, _, attribute = name.rpartition(".")
    return b"c" + f"{module}\n{attribute}\n".encode() + b"(" + b"".join(arguments) + b"tR"


def plain(value):
    return pickle.dumps(value, protocol=2)[2:-1]


def tensor(offset, shape, strides, numel, kind="torch.FloatStorage", key="0"):
    module, _, attribute = kind.rpartition(".")
    storage = b"(" + plain("storage") + f"c{module}\n{attribute}\n".encode() + plain(key) + plain("cpu") + plain(numel)
    rest = plain(offset), plain(tuple(shape)), plain(tuple(strides)), plain(False), plain(None)
    return call("torch._utils._rebuild_tensor_v2", storage + b"tQ", *rest)


def file_of(tmp_path, orders, storages=()):
    return zipped(tmp_path / "file.pth", b"\x80\x02" + orders + b".", storages)


@pytest.mark.parametrize("container", ["zip", "deflated zip", "legacy", "legacy big-endian"])
def test_every_type_and_shape_in_every_container(tmp_path, container):
    random = np.random.default_rng(0)
    state = {np.dtype(kind).name: (100 * random.standard_normal((2, 3))).astype(kind) for kind in TYPES}
    state |= {"scalar": np.array(1.5, np.float32), "empty": np.zeros((0, 4), np.float32), "shared": state["float32"]}
    content = {"epoch": -129, "model": collections.OrderedDict(state), "more": [1.5, None, True, "ü", (2**40, ())]}
    path = tmp_path / "file.pth"
    if container == "zip":
        torch_writer.write(path, content)
    elif container == "deflated zip":
        orders, arrays = torch_writer.pickled(content)
        zipped(path, orders, [array.tobytes() for array in arrays], compression=zipfile.ZIP_DEFLATED)
    else:
        path.write_bytes(made.legacy(content, little=container == "legacy"))
    found = torch_file.read(path)
    assert (found["epoch"], found["more"]) == (content["epoch"], content["more"])
    assert list(found["model"]) == list(state)
    for name, array in state.items():
        value = found["model"][name].array()
        assert (value.dtype, value.shape) == (array.dtype, array.shape), name
        assert value.tobytes() == array.tobytes(), name
    assert found["model"]["shared"] == found["model"]["float32"]


def test_a_big_endian_zip(tmp_path):
    orders = b"\x80\x02" + tensor(0, (3,), (1,), 3) + b"."
    path = zipped(tmp_path / "file.pth", orders, [np.arange(3, dtype=">f4").tobytes()], byteorder=b"big")
    np.testing.assert_array_equal(torch_file.read(path).array(), [0, 1, 2])


@pytest.mark.parametrize(
    ("offset", "shape", "strides"), [(0, (3, 4), (4, 1)), (0, (4, 3), (1, 4)), (5, (2, 3), (4, 1)), (1, (2, 2), (8, 2))]
)
def test_offsets_and_strides(tmp_path, offset, shape, strides):
    base = np.arange(12, dtype=np.float32)
    path = file_of(tmp_path, tensor(offset, shape, strides, 12), [base.tobytes()])
    expected = np.lib.stride_tricks.as_strided(base[offset:], shape, [4 * stride for stride in strides])
    np.testing.assert_array_equal(torch_file.read(path).array(), expected)


@pytest.mark.parametrize(
    ("offset", "shape", "strides", "numel"),
    [
        (0, (13,), (1,), 12),
        (12, (1,), (1,), 12),
        (0, (2, 2), (12, 1), 12),
        (0, (2**40, 2), (0, 1), 12),
        (-1, (2,), (1,), 12),
        (0, (2,), (-1,), 12),
        (0, (2, 2), (1,), 12),
        (0, (12,), (1,), 13),
        (0, (1,), (1,), 2**61),
        (0.0, (1,), (1,), 12),
    ],
)
def test_no_tensor_reads_outside_its_storage(tmp_path, offset, shape, strides, numel):
    path = file_of(tmp_path, tensor(offset, shape, strides, numel), [bytes(48)])
    with pytest.raises(InputError, match=r"file\.pth: .*(storage|tensor)"):
        torch_file.read(path)


def test_inert_records_of_a_training_checkpoint(tmp_path):
    namespace = b"cargparse\nNamespace\n)\x81" + plain({"lr": 0.5}) + b"b"
    counter = call("collections.Counter", plain({4: 1, 6: 2}))
    default = b"ccollections\ndefaultdict\n(c__builtin__\ndict\ntR" + plain(1) + plain(2) + b"s"
    device, size = call("torch.device", plain("cpu")), call("torch.Size", plain((2, 3)))
    content = b"(" + namespace + counter + default + device + size + b"ctorch\nfloat32\nt"
    found = torch_file.read(file_of(tmp_path, content))
    record, dtype = Record("argparse.Namespace", {"lr": 0.5}), Name("torch.float32")
    assert found == (record, {4: 1, 6: 2}, {1: 2}, Record("torch.device", ("cpu",)), (2, 3), dtype)


class Custom:
    def __init__(self):
        self.value = 1


RAN = []


def run(*values):
    RAN.append(values)


class Runs:
    def __reduce__(self):
        return run, ("it",)


HOSTILE = {
    "os.system": call("os.system", plain("touch RAN")),
    "builtins.eval": call("builtins.eval", plain("open('RAN', 'w')")),
    "collections.OrderedDict.fromkeys": plain("collections")
    + plain("OrderedDict.fromkeys")
    + b"\x93"
    + plain(())
    + b"R",
    "torch.load": call("torch.load", plain("RAN")),
    "torch.storage._load_from_bytes": call("torch.storage._load_from_bytes", plain("RAN")),
    "numpy.core.multiarray.scalar": call("numpy.core.multiarray.scalar", plain(1)),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("container", ["zip", "legacy"])
def test_anything_else_is_refused_by_its_name_and_not_run(tmp_path, monkeypatch, name, container):
    monkeypatch.chdir(tmp_path)
    orders = b"\x80\x02" + HOSTILE[name] + b"."
    path = tmp_path / "file.pth"
    if container == "zip":
        zipped(path, orders)
    else:
        start = made.legacy({})
        path.write_bytes(start.replace(torch_writer.pickled({})[0], orders))
    with pytest.raises(InputError, match=rf"file\.pth: names {name}: refused"):
        torch_file.read(path)
    assert os.listdir(tmp_path) == ["file.pth"]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_objects_are_refused_in_every_protocol(tmp_path, protocol):
    for value in ({"model": Custom()}, {"model": Runs()}, {"model": print}):
        path = zipped(tmp_path / "file.pth", pickle.dumps(value, protocol=protocol))
        with pytest.raises(InputError, match="refused"):
            torch_file.read(path)
    assert not RAN


def test_all_that_is_refused_is_named_in_one_line(tmp_path):
    orders = b"}" + plain("a") + HOSTILE["os.system"] + plain({"state": 1}) + b"bs"
    orders += plain("b") + HOSTILE["builtins.eval"] + b"N" + plain(2) + b"ss"
    with pytest.raises(InputError) as refused:
        torch_file.read(file_of(tmp_path, orders))
    assert "names os.system, builtins.eval: refused" in str(refused.value)


@pytest.mark.parametrize(
    ("orders", "said"),
    [
        (b"U\x01aQ", "persistent id of kind"),
        (plain(("module", 1, 2, 3, 4)) + b"Q", "persistent id of kind 'module'"),
        (b"Pname\n.", "pickle order PERSID"),
        (b"(cos\nsystem\n" + plain("x") + b"o", "pickle order OBJ"),
        (b"(" + plain("x") + b"ios\nsystem\n", "pickle order INST"),
        (b"\x82\x01", "pickle order EXT1"),
        (call("torch.float32", plain(1)), "calls torch.float32"),
        (tensor(0, (1,), (1,), 1, kind="torch.QUInt8Storage"), "torch.QUInt8Storage"),
        (b"ccollections\nOrderedDict\n" + plain({"__call__": 1}) + b"b", "sets attributes"),
        (plain("text") + plain({"a": 1}) + b"b", "sets attributes"),
        (plain(3) + plain(()) + b"R", "calls something"),
        (b"}" + b"]" + b"Ns", "list as key"),
        (b"Nr\xff\xff\xff\xffh\x05", "damaged"),
        (b"0", "more values than there are"),
        (b"(" * 100, "ends in the middle"),
        (b"\x8e" + struct.pack("<Q", 2**62), "damaged"),
        (b"\x8b\xff\xff\xff\x7f", "damaged"),
        (b"", "damaged"),
        (b"\xff", "damaged"),
    ],
)
def test_hostile_orders(tmp_path, orders, said):
    begun = time.monotonic()
    with pytest.raises(InputError, match=rf"file\.pth: .*({said})"):
        torch_file.read(file_of(tmp_path, orders))
    assert time.monotonic() - begun < 5


def test_a_key_that_would_take_forever_to_hash_is_refused(tmp_path):
    orders = b"}" + b")" + b"2\x86" * 64 + b"Ns"
    with pytest.raises(InputError, match=r"tuple as key|damaged"):
        torch_file.read(file_of(tmp_path, orders))


@pytest.mark.parametrize("container", ["zip", "legacy"])
def test_cut_short_anywhere_is_one_line(tmp_path, container):
    path = tmp_path / "file.pth"
    content = {"model": {"a": np.arange(600, dtype=np.float32), "b": np.ones(3, np.float32)}}
    torch_writer.write(path, content)
    whole = path.read_bytes() if container == "zip" else made.legacy(content)
    for length in sorted({0, 1, 3, 4, 5, 20, 60, 200, len(whole) // 2, len(whole) - 30, len(whole) - 1}):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"file\.pth: "):
            torch_file.read(path)


def test_a_storage_of_another_size_than_its_tensors_say(tmp_path):
    whole, path = made.legacy([np.arange(5, dtype=np.float32)]), tmp_path / "file.pth"
    begin = len(whole) - 20 - 8
    path.write_bytes(whole[:begin] + struct.pack("<q", 4) + whole[begin + 8 :])
    with pytest.raises(InputError, match=r"file\.pth: storage 0 has not the 5 numbers of its tensors"):
        torch_file.read(path)


def arrays_of(value):
    """All tensors of the file, read."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [value.array()] if isinstance(value, Tensor) else [array for part in parts for array in arrays_of(part)]


def test_flipped_bits_are_read_as_something_or_refused_in_one_line(tmp_path):
    path, random = tmp_path / "file.pth", np.random.default_rng(0)
    content = {"model": {"a": np.arange(6, dtype=np.float32), "b": np.ones(3, np.float16)}, "epoch": 3}
    torch_writer.write(path, content)
    read = 0
    for whole in (path.read_bytes(), made.legacy(content)):
        for _ in range(200):
            damaged = bytearray(whole)
            damaged[random.integers(len(whole))] ^= 1 << random.integers(8)
            path.write_bytes(damaged)
            with contextlib.suppress(InputError):
                read += len(arrays_of(torch_file.read(path))) > 0
    assert 50 < read < 350


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no zip", b"\x00" * 200, b"hello, world\n" * 9, b"\x80\x02N."])
def test_no_torch_file_at_all(tmp_path, content):
    path = tmp_path / "file.pth"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"file\.pth: .*; give a file that torch\.save wrote"):
        torch_file.read(path)
    with pytest.raises(InputError, match="no such file"):
        torch_file.read(tmp_path / "none.pth")
    with pytest.raises(InputError, match="cannot be read"):
        torch_file.read(tmp_path)


def test_a_zip_without_or_with_two_pickles(tmp_path):
    path = tmp_path / "file.pth"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/readme", b"")
    with pytest.raises(InputError, match=r"with 0 entries data\.pkl"):
        torch_file.read(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/data.pkl", b"\x80\x02N.")
        archive.writestr("b/data.pkl", b"\x80\x02N.")
    with pytest.raises(InputError, match=r"with 2 entries data\.pkl"):
        torch_file.read(path)


def test_the_writer_takes_only_what_it_knows(tmp_path):
    with pytest.raises(TypeError, match="object has no place"):
        torch_writer.write(tmp_path / "file.pth", {"a": object()})
    assert not list(tmp_path.iterdir())


def test_written_numbers_lie_at_multiples_of_64(tmp_path):
    path = tmp_path / "file.pth"
    torch_writer.write(path, [np.full(n, 7, np.uint8) for n in range(1, 200, 9)])
    content = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for info in archive.infolist():
            (extra,) = struct.unpack("<H", content[info.header_offset + 28 : info.header_offset + 30])
            assert (info.header_offset + 30 + len(info.filename) + extra) % 64 == 0
