"""Decoding: times from timestamps, and one clear line for what is no video."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from lvc_jax.data import video
from lvc_jax.errors import InputError
from tests.data.video_files import picture, write, write_audio


def times(path: Path) -> list[float]:
    return [time for time, _ in video.frames(path)]


@pytest.mark.parametrize(
    "stamps",
    [
        pytest.param([0, 40, 80, 120], id="constant rate"),
        pytest.param([0, 10, 500, 510, 1400], id="variable rate"),
        pytest.param([0], id="one frame"),
    ],
)
def test_times_are_those_of_the_file(tmp_path: Path, stamps: list[int]) -> None:
    path = write(tmp_path / "a.mkv", stamps)
    np.testing.assert_allclose(times(path), np.array(stamps) / 1000, atol=1e-6)


def test_the_first_frame_is_at_zero(tmp_path: Path) -> None:
    path = write(tmp_path / "late.mkv", [5000, 5100, 5300])
    np.testing.assert_allclose(times(path), [0, 0.1, 0.3], atol=1e-6)


def test_missing_timestamps_follow_the_rate(tmp_path: Path) -> None:
    path = write(tmp_path / "raw.m4v", [0, 1, 2, 3], container="m4v")
    found = times(path)
    assert len(found) == 4
    assert found[0] == 0
    assert (np.diff(found) > 0).all()


def test_frames_are_rgb_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", [0, 40, 80, 120])
    for index, (_, frame) in enumerate(video.frames(path)):
        assert frame.dtype == np.uint8
        assert frame.shape == (32, 48, 3)
        assert np.abs(frame.astype(int) - picture(40 + 5 * index))[16:, 16:].max() < 8
        assert frame[4, 4, 0] > frame[4, 4, 2] + 100


def test_odd_sizes_and_resizing(tmp_path: Path) -> None:
    path = write(tmp_path / "odd.avi", [0, 1, 2], size=(47, 31), codec="rawvideo")
    assert [frame.shape for _, frame in video.frames(path)] == [(31, 47, 3)] * 3
    assert [frame.shape for _, frame in video.frames(path, size=(20, 10))] == [(10, 20, 3)] * 3


def test_a_rotated_file_is_turned_upright(tmp_path: Path) -> None:
    path = write(tmp_path / "a.mp4", [0, 40])
    data = bytearray(path.read_bytes())
    # The matrix of the track header turns the picture by 90 degrees clockwise when it is shown.
    at = data.index(b"tkhd") + 4 + 40
    one, minus_one, zero, unit = (v.to_bytes(4, "big", signed=True) for v in (0x10000, -0x10000, 0, 0x40000000))
    data[at : at + 36] = b"".join((zero, one, zero, minus_one, zero, zero, zero, zero, unit))
    turned = tmp_path / "turned.mp4"
    turned.write_bytes(data)
    _, upright = next(video.frames(path))
    _, frame = next(video.frames(turned))
    np.testing.assert_array_equal(frame, np.rot90(upright, -1))
    assert next(video.frames(turned, size=(16, 24)))[1].shape == (24, 16, 3)


def test_duration(tmp_path: Path) -> None:
    assert video.duration(write(tmp_path / "a.mp4", [0, 500, 1000, 1500])) == pytest.approx(1.5, abs=0.51)
    assert video.duration(write(tmp_path / "a.mkv", [0, 500, 1000, 1500])) == pytest.approx(1.5, abs=0.51)


def _not_a_video(folder: Path, kind: str) -> Path:
    path = folder / f"{kind}.mp4"
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "text":
        path.write_text("this is no video\n" * 50)
    elif kind == "header only":
        path.write_bytes(write(folder / "good.mp4", range(0, 400, 40)).read_bytes()[:300])
    elif kind == "folder":
        path.mkdir()
    elif kind == "sound":
        write_audio(path)
    return path


@pytest.mark.parametrize("kind", ["missing", "empty", "text", "header only", "folder", "sound"])
def test_what_is_no_video_is_one_clear_line(tmp_path: Path, kind: str) -> None:
    path = _not_a_video(tmp_path, kind)
    for read in (lambda: list(video.frames(path)), lambda: video.duration(path)):
        with pytest.raises(InputError, match=path.name) as caught:
            read()
        assert "\n" not in str(caught.value)


def test_damaged_packets_raise_or_are_passed_over(tmp_path: Path) -> None:
    path = write(tmp_path / "a.avi", range(0, 400, 10), codec="ffv1")
    data = bytearray(path.read_bytes())
    with av.open(str(path)) as container:
        for index, packet in enumerate(container.demux(video=0)):
            if packet.size and index % 4 == 3:
                data[packet.pos + 8 : packet.pos + 8 + packet.size] = b"\xff" * packet.size
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"a\.avi: damaged"):
        times(path)
    found = [time for time, _ in video.frames(path, skip_damaged=True)]
    assert len(found) == 30
    assert found == sorted(found)


def test_live_sources_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be opened.*check that it is plugged in"):
        video.open_source("97")
    with pytest.raises(InputError, match=r"cannot be opened.*check the address"):
        video.open_source("rtsp://127.0.0.1:9/none")
    assert video.is_live(0)
    assert video.is_live("rtsp://host/stream")
    assert not video.is_live("clip.mp4")


def test_a_file_whose_name_is_a_number_is_no_camera(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "0", [0, 40], container="matroska")
    assert not video.is_live("0")
    assert times(Path("0")) == [0, 0.04]
    assert video._failed_midway("0", OSError(5, "Input/output error")).startswith("0: damaged video data")


@pytest.mark.parametrize(
    ("source", "advice"),
    [
        ("sound.mp4", "give a playable file with pictures"),
        ("file://{}/sound.mp4", "check the address"),
        ("97", "plugged"),
    ],
)
def test_a_source_without_pictures_is_told_what_its_kind_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, advice: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_audio(tmp_path / "sound.mp4")
    monkeypatch.setattr(video, "_open_camera", lambda index: av.open("sound.mp4"))
    with pytest.raises(InputError, match=f"holds no video stream; .*{advice}"):
        video.open_source(source.format(tmp_path))


@contextlib.contextmanager
def _sender(content: bytes, ending: str, head: bytes = b"") -> Iterator[int]:
    """The port of a server that sends `head` and half of `content`, then ends the connection in its way."""
    done = threading.Event()

    def serve() -> None:
        with server.accept()[0] as connection:
            if head:
                connection.recv(65536)
            connection.sendall(head + content[: len(content) // 2])
            if ending == "stall":
                done.wait(30)
            elif ending == "reset":
                time.sleep(0.3)  # what was sent must be read before it is thrown away with the connection
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            done.set()
            thread.join(30)


def _until_it_fails(address: str) -> tuple[int, str]:
    taken = 0
    with pytest.raises(InputError) as caught:
        for _ in video.frames(address):
            taken += 1
    return taken, str(caught.value)


@pytest.mark.parametrize(
    ("protocol", "ending", "reason"),
    [("tcp", "reset", "reset by peer"), ("tcp", "stall", "nothing came for 0.5 s"), ("http", "close", "Input/output")],
)
def test_a_connection_that_fails_midway_is_no_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, ending: str, reason: str
) -> None:
    monkeypatch.setattr(video, "_NETWORK_TIMEOUT_S", 0.5)
    content = write(tmp_path / "a.ts", range(0, 4000, 40), codec="mpeg2video", rate=25).read_bytes()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: video/mp2t\r\nContent-Length: {len(content)}\r\n\r\n".encode()
    with _sender(content, ending, head if protocol == "http" else b"") as port:
        address = f"{protocol}://127.0.0.1:{port}"
        taken, message = _until_it_fails(address)
    assert 0 < taken < 100
    assert message.startswith(f"{address}: the connection failed (")
    assert reason in message
    assert message.endswith("check the network and the sender, then start again")


def test_a_sender_that_closes_ends_the_stream(tmp_path: Path) -> None:
    content = write(tmp_path / "a.ts", range(0, 4000, 40), codec="mpeg2video", rate=25).read_bytes()
    with _sender(content, "close") as port:
        assert 0 < len(list(video.frames(f"tcp://127.0.0.1:{port}"))) < 100


def test_a_camera_that_stops_is_no_damaged_file() -> None:
    error = OSError(19, "No such device")
    assert video._failed_midway("0", error).startswith("camera 0: stopped delivering (No such device); check")
    assert video._failed_midway("a.mp4", error).startswith("a.mp4: damaged video data (No such device); repair")


@pytest.mark.parametrize("name", ["charades_013SD.mp4", "mmaction2_test.avi", "v_GGSY1Qvo990.mp4"])
def test_real_clips(shared: Path, name: str) -> None:
    path = shared / "data" / "clips" / name
    found = times(path)
    assert found[0] == 0
    assert found == sorted(found)
    assert found[-1] <= video.duration(path) + 0.2


def test_durations_of_all_real_clips(shared: Path) -> None:
    folder = shared / "data" / "clips"
    listed = json.loads((folder / "annotations.json").read_text(encoding="utf-8"))
    # One AVI file's annotated duration assumes another rate than the file has.
    for entry in listed.values():
        if entry["file"] != "mmaction2_test.avi":
            assert video.duration(folder / entry["file"]) == pytest.approx(entry["duration"], abs=0.2), entry["file"]
