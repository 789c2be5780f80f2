"""The live command: files, cameras that are not there, Ctrl-C, and one line for every bad input."""

import functools
import json
import os
import re
import signal
import sys
import threading

import av
import jax
import numpy as np
import pytest

from lvc_jax import cli, live
from lvc_jax.backbones import BACKBONES
from lvc_jax.data.feature_store_info import FeatureInfo
from lvc_jax.data.vocabulary import WordVocabulary
from lvc_jax.errors import InputError
from lvc_jax.models import ModelConfig, init_params
from lvc_jax.training.checkpoints import Loaded, save_for_inference
from lvc_jax.training.run_config import default_config

INFO = BACKBONES["colour_moments"]().info
WORDS = [*(f"word{i}" for i in range(12)), "UNK"]
MODEL = ModelConfig(
    feature_dim=INFO.dim,
    vocab_size=WordVocabulary(WORDS).size,
    hidden_dim=32,
    num_frames=8,
    num_levels=2,
    num_heads=2,
    num_points=2,
    encoder_layers=1,
    decoder_layers=1,
    ff_dim=16,
    num_queries=4,
    max_events=4,
    embed_dim=16,
    rnn_dim=16,
    max_caption_len=5,
)
CUES = re.compile(r"(\d\d:\d\d:\d\d\.\d{3}) --> (\d\d:\d\d:\d\d\.\d{3})\n([^\n]+)\n\n")


@functools.cache
def params():
    return jax.tree.map(lambda leaf: 3 * leaf, init_params(MODEL, jax.random.key(1)))


def save(folder, info):
    config = default_config()
    config.streaming.min_events = 2
    config.streaming.segment_frames = 24
    save_for_inference(
        Loaded(
            step=1,
            config=config,
            model_config=MODEL,
            vocabulary=WordVocabulary(WORDS),
            feature_info=info,
            metrics={},
            params=params(),
        ),
        folder / "checkpoints",
    )
    return str(folder)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    info = FeatureInfo(INFO.backbone, INFO.dim, INFO.stride_s, INFO.window_s)
    return save(tmp_path_factory.mktemp("run"), info)


@pytest.fixture(scope="module")
def movie(tmp_path_factory):
    """2 seconds of a square that moves."""
    path = tmp_path_factory.mktemp("movie") / "square.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for i in range(20):
            picture = np.zeros((48, 64, 3), np.uint8)
            picture[10:30, 2 * i : 2 * i + 16] = [255, 10 * i, 0]
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return str(path)


def run(monkeypatch, **options):
    """Runs the command in this process; returns its exit code."""
    arguments = [f"--{name}={value}" for name, value in options.items()]
    monkeypatch.setattr(sys, "argv", ["live", *arguments])
    try:
        with pytest.raises(SystemExit) as ended:
            cli.run(live.main, live.FLAGS)
    finally:
        live.FLAGS.unparse_flags()
    return ended.value.code or 0


@pytest.fixture
def captioned(monkeypatch, capsys, checkpoint, movie, tmp_path):
    code = run(monkeypatch, checkpoint=checkpoint, source=movie, output=tmp_path / "out")
    return code, capsys.readouterr(), tmp_path / "out"


def test_a_file_gives_printed_captions_and_complete_files(captioned):
    code, printed, output = captioned
    assert code == 0, printed.err
    lines = [json.loads(line) for line in (output / "captions.jsonl").read_text().splitlines()]
    summary = json.loads((output / "summary.json").read_text())
    subtitles = (output / "captions.vtt").read_text()
    assert lines
    assert summary["segments"] == 3
    assert summary["captions"] == len(lines)
    assert summary["dropped_segments"] == 0
    assert summary["duration_s"] == pytest.approx(2.0)
    for name in (
        "real_time_factor",
        "step_latency_p50_s",
        "step_latency_p95_s",
        "time_to_first_caption_s",
        "warm_up_s",
    ):
        assert summary[name] > 0
    assert subtitles.startswith("WEBVTT\n\n")
    cues = CUES.findall(subtitles)
    assert [text for _, _, text in cues] == [line["sentence"] for line in lines]
    assert all(start < end <= "00:00:02.000" for start, end, _ in cues)
    first, *said, _ = printed.out.splitlines()
    assert "step 1: trained on activitynet_captions (captions: human captions), Δt = 24, 48, " in first
    assert first.endswith("memory M = 1")
    assert printed.err == ""
    for line, record in zip(said, lines, strict=True):
        assert record["sentence"] in line
        assert record["delay_s"] >= 0


def test_an_untrained_segment_length_is_warned_of_once(monkeypatch, capsys, checkpoint, movie, tmp_path):
    assert run(monkeypatch, checkpoint=checkpoint, source=movie, output=tmp_path, segment_frames=30) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: Δt = 30 is outside what the checkpoint was trained on (Δt = 24, 48, ")


def test_max_seconds_ends_the_stream(monkeypatch, checkpoint, movie, tmp_path):
    assert run(monkeypatch, checkpoint=checkpoint, source=movie, output=tmp_path, max_seconds=0.95) == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["duration_s"] == pytest.approx(1.0)
    assert summary["segments"] == 2


def test_ctrl_c_ends_cleanly_with_complete_files(monkeypatch, checkpoint, movie, tmp_path):
    def endless(source):
        i = 0
        while True:
            yield i / 10, np.full((48, 64, 3), i % 256, np.uint8)
            i += 1

    monkeypatch.setattr(live.video, "frames", endless)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    started = live.Capture

    def capture(*arguments, **options):
        timer.start()
        return started(*arguments, **options)

    monkeypatch.setattr(live, "Capture", capture)
    before = signal.getsignal(signal.SIGINT)
    code = run(monkeypatch, checkpoint=checkpoint, source=movie, output=tmp_path, realtime="true")
    assert code == 0
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert 0.5 < summary["duration_s"] < 10
    assert summary["segments"] == int(summary["duration_s"] / 0.8 - 1e-6) + 1
    lines = (tmp_path / "captions.jsonl").read_text().splitlines()
    assert len(lines) == summary["captions"] == len(CUES.findall((tmp_path / "captions.vtt").read_text()))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_source_that_fails_midway_leaves_complete_files(monkeypatch, capsys, checkpoint, movie, tmp_path):
    def torn(source):
        for i in range(20):
            yield i / 10, np.full((48, 64, 3), 10 * i, np.uint8)
        raise InputError("rtsp://camera: connection reset")

    monkeypatch.setattr(live.video, "frames", torn)
    assert run(monkeypatch, checkpoint=checkpoint, source=movie, output=tmp_path) == 2
    assert capsys.readouterr().err == "error: rtsp://camera: connection reset\n"
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["segments"] == 3
    assert summary["duration_s"] == pytest.approx(2.0)
    lines = (tmp_path / "captions.jsonl").read_text().splitlines()
    assert len(lines) == summary["captions"] == len(CUES.findall((tmp_path / "captions.vtt").read_text())) > 0
    assert json.loads(lines[-1])["segment"] == 2  # the partial segment


def bad_inputs(tmp_path, checkpoint, movie):
    empty, noise = tmp_path / "empty.mp4", tmp_path / "noise.mp4"
    empty.write_bytes(b"")
    noise.write_bytes(bytes(range(256)) * 64)
    return {
        "no such video file": {"source": tmp_path / "none.mp4"},
        "is empty": {"source": empty},
        "cannot be opened": {"source": noise},
        "is a folder": {"source": tmp_path},
        "no checkpoint": {"checkpoint": tmp_path},
        "segment_frames": {"segment_frames": 0},
        "memory": {"memory": 0},
        "--consolidation": {"consolidation": "vote"},
        "max_seconds": {"max_seconds": -1},
    }


@pytest.mark.parametrize(
    "message",
    [
        "no such video file",
        "is empty",
        "cannot be opened",
        "is a folder",
        "no checkpoint",
        "segment_frames",
        "memory",
        "--consolidation",
        "max_seconds",
    ],
)
def test_bad_input_gives_one_line_and_code_2(monkeypatch, capsys, checkpoint, movie, tmp_path, message):
    options = {"checkpoint": checkpoint, "source": movie, "output": tmp_path / "out"}
    assert run(monkeypatch, **{**options, **bad_inputs(tmp_path, checkpoint, movie)[message]}) == 2
    error = capsys.readouterr().err
    assert len(error.splitlines()) == 1, error
    assert message in error
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_of_features_that_pixels_cannot_give_is_refused(monkeypatch, capsys, movie, tmp_path):
    folder = save(tmp_path / "run", FeatureInfo("c3d", INFO.dim, 1.0667, 1.0667))
    assert run(monkeypatch, checkpoint=folder, source=movie, output=tmp_path / "out") == 2
    assert "'c3d' features" in capsys.readouterr().err


def test_a_checkpoint_of_another_clock_is_refused(monkeypatch, capsys, movie, tmp_path):
    folder = save(tmp_path / "run", FeatureInfo("colour_moments", INFO.dim, 0.2, 0.4))
    assert run(monkeypatch, checkpoint=folder, source=movie, output=tmp_path / "out") == 2
    assert "stride_s=0.2" in capsys.readouterr().err


def test_real_video_has_the_right_duration(monkeypatch, shared, checkpoint, tmp_path):
    source = shared / "data" / "clips" / "mmaction2_demo.mp4"
    assert run(monkeypatch, checkpoint=checkpoint, source=source, output=tmp_path) == 0
    with av.open(str(source)) as container:
        duration = container.duration / av.time_base
    assert json.loads((tmp_path / "summary.json").read_text())["duration_s"] == pytest.approx(duration, abs=0.1)
