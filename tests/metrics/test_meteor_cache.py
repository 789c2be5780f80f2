"""METEOR's compiled tables: written whole, checked when opened, rebuilt when corrupt; damaged sources are named."""

import gzip
import hashlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from lvc_jax.errors import InputError
from lvc_jax.metrics.text.meteor import cache, resources, tables
from lvc_jax.metrics.text.meteor.sources import Files
from tests.metrics import meteor_files

ARRAYS = {
    "edges": np.arange(5),
    "flags": np.array([True, False]),
    "nothing": np.zeros(0, np.int32),
    "square": np.ones((2, 3), np.float32),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Files:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return meteor_files.write(tmp_path / "sources")


def test_arrays_come_back_read_only(tmp_path: Path) -> None:
    cache.write(tmp_path / "a.bin", ARRAYS)
    arrays = cache.read(tmp_path / "a.bin")
    assert arrays is not None and arrays.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        assert arrays[name].dtype == values.dtype and np.array_equal(arrays[name], values)
        assert not arrays[name].flags.writeable


def test_every_cut_and_every_altered_byte_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    cache.write(path, ARRAYS)
    whole = path.read_bytes()
    data = whole.rindex(np.arange(5).tobytes())
    for length in (*range(0, len(whole), 7), len(whole) - 1):
        path.write_bytes(whole[:length])
        assert cache.read(path) is None
    for place in (*range(0, whole.index(b"}", 40) + 1, 3), data, data + 8):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert cache.read(path) is None
    path.write_bytes(whole + b"x")
    assert cache.read(path) is None and cache.read(tmp_path / "absent.bin") is None


def test_built_once_and_rebuilt_when_corrupt(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    original = tables.build
    monkeypatch.setattr(tables, "build", lambda *arguments: built.append(1) or original(*arguments))
    assert resources.load(files).functions == resources.load(files).functions
    assert len(built) == 1
    path = resources.cache_path(files)
    path.write_bytes(path.read_bytes()[:-64])
    assert resources.load(files).bases["mice"] == ["mouse"]
    assert len(built) == 2 and cache.read(path) is not None


def test_other_content_gets_another_file(files: Files) -> None:
    before = resources.cache_path(files)
    meteor_files.write(files.jar.parent, meteor_files.PARAPHRASES[1:])
    assert resources.cache_path(files) != before


def test_another_form_needs_another_version(files: Files, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the digest differs the compiled form has changed: raise `tables.VERSION`, then renew both here."""
    resources.load(files)
    path = resources.cache_path(files)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    assert (tables.VERSION, digest) == (1, "01bdfd922c416c9228460b7b8c0b737efdc9845b26b8c856a925fe9b7c4ce6a8")
    monkeypatch.setattr(tables, "VERSION", 2)
    assert resources.cache_path(files) != path


def test_a_build_that_fails_leaves_nothing(files: Files) -> None:
    def fail() -> cache.Arrays:
        raise InputError("METEOR: broken")

    path = resources.cache_path(files)
    with pytest.raises(InputError, match="broken"):
        cache.open_or_build(path, fail)
    assert [file.suffix for file in path.parent.iterdir()] == [".lock"]


def test_a_write_that_fails_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(InputError, match="No space left"):
        cache.write(tmp_path / "a.bin", ARRAYS)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_folder_that_cannot_be_is_named(files: Files, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "taken"))
    with pytest.raises(InputError, match="XDG_CACHE_HOME"):
        resources.load(files)


def test_folder_follows_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "lvc_jax"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == Path.home() / ".cache" / "lvc_jax"


def test_two_processes_build_at_once(files: Files) -> None:
    code = (
        "from pathlib import Path; from lvc_jax.metrics.text.meteor import resources, sources\n"
        f"files = sources.Files(Path({str(files.jar)!r}), Path({str(files.paraphrases)!r}))\n"
        "print(len(resources.load(files).words))"
    )
    both = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) for _ in range(2)]
    answers = [process.communicate(timeout=120)[0].split() for process in both]
    assert answers[0] == answers[1] and [process.returncode for process in both] == [0, 0]
    path = resources.cache_path(files)
    assert sorted(file.suffix for file in path.parent.iterdir()) == [".bin", ".lock"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not gzip",
        gzip.compress(b"0.5\na\nb\n" * 99)[:-9],
        gzip.compress(b"0.5\na\n"),
        gzip.compress(b"0.5\n\xff\nb\n"),
    ],
    # Compressed bytes hold the time, and names of tests must be the same in every process.
    ids=["empty", "not_gzip", "cut_off", "unfinished_entry", "not_utf8"],
)
def test_damaged_paraphrases_are_named(files: Files, content: bytes) -> None:
    files.paraphrases.write_bytes(content)
    if content:
        with pytest.raises(InputError, match=r"paraphrase-en\.gz: damaged.*\[meteor\]"):
            tables.build(files)
    else:
        assert not tables.build(files)["edges"].size


@pytest.mark.parametrize("content", [b"", b"not a jar"])
def test_a_damaged_jar_is_named(files: Files, content: bytes) -> None:
    files.jar.write_bytes(content)
    with pytest.raises(InputError, match=r"meteor-1\.5\.jar: damaged"):
        resources.load(files)


def test_progress_reaches_the_end(files: Files) -> None:
    shares: list[float] = []
    tables.build(files, shares.append)
    assert shares == sorted(shares) and shares[-1] == 1
