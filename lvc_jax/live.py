"""Captions a video file, a camera or a network stream while it plays.

    python -m lvc_jax.live --checkpoint=runs/shapes --source=talk.mp4 --output=captions

The first line says what the checkpoint was trained on. Each caption is printed as it is made, with its time, and is
never revised. The output folder gets captions.vtt, captions.jsonl (one object a caption) and summary.json. Ctrl-C ends
the stream cleanly, with complete files.
"""

import contextlib
import dataclasses
import itertools
import json
import math
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from absl import flags

from lvc_jax import backbones, cli
from lvc_jax.data import video
from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write
from lvc_jax.outputs import webvtt
from lvc_jax.outputs.jsonl import JsonLinesWriter
from lvc_jax.outputs.predictions import Item
from lvc_jax.streaming.capture import Capture, Segment
from lvc_jax.streaming.runner import Summary, run, warm_up
from lvc_jax.streaming.state import StreamConfig
from lvc_jax.training.checkpoints import Loaded, load_for_inference
from lvc_jax.training.trained_on import outside_training, trained_on
from lvc_jax.version import __version__

DEFAULT_MEMORY = 3  # two past segments and the current one (Live Video Captioning paper, Fig. 15)

FLAGS = flags.FlagValues()
CHECKPOINT = flags.DEFINE_string(
    "checkpoint", None, "Workdir of a training, or its checkpoints folder.", required=True, flag_values=FLAGS
)
SOURCE = flags.DEFINE_string(
    "source", None, "Video file, camera index such as 0, or rtsp://... address.", required=True, flag_values=FLAGS
)
OUTPUT = flags.DEFINE_string(
    "output", None, "Folder for captions.vtt, captions.jsonl, summary.json.", required=True, flag_values=FLAGS
)
SEGMENT_FRAMES = flags.DEFINE_integer(
    "segment_frames", None, "Δt in frames at 30 per second; default: the checkpoint's.", flag_values=FLAGS
)
MEMORY = flags.DEFINE_integer(
    "memory",
    None,
    "Segments in the window, the current one included; "
    f"default: the checkpoint's, or {DEFAULT_MEMORY} if it names none.",
    flag_values=FLAGS,
)
CONSOLIDATION = flags.DEFINE_enum(
    "consolidation",
    "events",
    ["slot", "events", "rerank"],
    "One caption a segment, one an event, or all of them.",
    flag_values=FLAGS,
)
BEAM_SIZE = flags.DEFINE_integer(
    "beam_size", None, "Hypotheses of a beam search for each caption; 1 is greedy.", lower_bound=1, flag_values=FLAGS
)
REALTIME = flags.DEFINE_bool(
    "realtime",
    None,
    "Play by the clock and drop whole segments when late; default: for cameras and network streams.",
    flag_values=FLAGS,
)
BACKBONE_WEIGHTS = flags.DEFINE_string(
    "backbone_weights",
    None,
    "Folder of the backbone's weights (python -m lvc_jax.convert --format=tsp), for a checkpoint trained on the "
    f"features of {' or '.join(sorted(backbones.NETWORKS))}.",
    flag_values=FLAGS,
)
MAX_SECONDS = flags.DEFINE_float(
    "max_seconds", None, "End the stream after this many seconds.", lower_bound=0.001, flag_values=FLAGS
)

T = TypeVar("T")


def main() -> None:
    stop = threading.Event()
    with _ending_cleanly(stop):
        live = video.is_live(SOURCE.value)
        if not live:
            video.open_source(SOURCE.value).close()
        loaded = load_for_inference(CHECKPOINT.value)
        extractor = _extractor(loaded)
        config = stream_config(loaded)
        print(f"checkpoint {CHECKPOINT.value}, step {loaded.step}: trained on {trained_on(loaded.config)}", flush=True)
        outside = outside_training(loaded.config, config.segment_frames)
        if outside:
            print(f"warning: {outside}", file=sys.stderr)
        summary = Summary()
        loaded = dataclasses.replace(loaded, params=warm_up(loaded.params, config, summary))
        realtime = live if REALTIME.value is None else REALTIME.value
        pictures = _started(_limited(video.frames(SOURCE.value), MAX_SECONDS.value))
        # A camera keeps its own time; only what could be read faster is held back.
        capture = Capture(
            pictures, extractor, config.segment_frames, realtime=realtime and not live, live=live, stop=stop
        )
        _caption(loaded, config, capture, stop, summary, drop=realtime)
    print(
        f"{summary.captions} captions in {summary.segments} segments ({summary.dropped_segments} dropped), "
        f"{summary.duration_s:.1f} s; real-time factor {_shown(summary.real_time_factor)}, "
        f"step p50 {_shown(summary.step_latency_p50_s)} s, p95 {_shown(summary.step_latency_p95_s)} s, "
        f"first caption after {_shown(summary.time_to_first_caption_s)} s, compiled in {_shown(summary.warm_up_s)} s; "
        f"files in {OUTPUT.value}"
    )


def stream_config(loaded: Loaded) -> StreamConfig:
    """The stream's constants: the flags, then the checkpoint's own settings."""
    settings = {"memory": DEFAULT_MEMORY, **loaded.config.streaming}
    info = loaded.feature_info
    return StreamConfig.from_settings(
        loaded.model_config,
        settings,
        info.stride_s,
        info.window_s,
        segment_frames=SEGMENT_FRAMES.value,
        memory=MEMORY.value,
        consolidation=CONSOLIDATION.value,
        beam_size=BEAM_SIZE.value,
    )


def _caption(
    loaded: Loaded, config: StreamConfig, capture: Capture, stop: threading.Event, summary: Summary, *, drop: bool
) -> None:
    output = Path(OUTPUT.value)
    with JsonLinesWriter(output / "captions.jsonl") as lines, webvtt.WebVttWriter(output / "captions.vtt") as subtitles:

        def on_captions(segment: Segment, items: list[Item], delay: float) -> None:
            for item in items:
                start, end = item["timestamp"]
                print(f"{webvtt.timestamp(round(start * 1000))} {item['sentence']} ({item['score']:.2f})", flush=True)
                lines.write({**item, "delay_s": round(delay, 4)})
                subtitles.write(start, end, item["sentence"])

        decode = loaded.vocabulary.decode
        try:
            run(loaded.params, config, capture, on_captions, decode=decode, drop=drop, stop=stop, summary=summary)
        finally:  # a source that fails midway leaves complete files too
            _write_summary(output / "summary.json", summary, config)


def _write_summary(path: Path, summary: Summary, config: StreamConfig) -> None:
    names = ("segment_frames", "memory", "mode", "consolidation", "beam_size")
    settings = {name: getattr(config, name) for name in names}
    about: dict[str, Any] = {"source": SOURCE.value, "checkpoint": CHECKPOINT.value, "version": __version__}
    with atomic_write(path) as file:
        json.dump({**summary.to_dict(), **settings, **about}, file, indent=1)
        file.write("\n")


def _extractor(loaded: Loaded) -> backbones.FeatureExtractor:
    """The backbone that the checkpoint was trained on."""
    wanted = loaded.feature_info
    if wanted.backbone not in backbones.NAMES:
        raise InputError(
            f"checkpoint {CHECKPOINT.value}: trained on {wanted.backbone!r} features, which live cannot make from "
            f"pixels; use a checkpoint trained on one of {', '.join(backbones.NAMES)}"
        )
    extractor = backbones.get(wanted.backbone, BACKBONE_WEIGHTS.value)
    for name in ("dim", "stride_s", "window_s"):
        # Of clocks written by hand (1.0667 for 16/15 s), only the first digits count.
        if not math.isclose(getattr(extractor.info, name), getattr(wanted, name), rel_tol=1e-4):
            raise InputError(
                f"checkpoint {CHECKPOINT.value}: its features have {name}={getattr(wanted, name)}, "
                f"{wanted.backbone} makes {getattr(extractor.info, name)}; train on features of this version"
            )
    return extractor


def _limited(pictures: Iterable[tuple[float, T]], seconds: float | None) -> Iterator[tuple[float, T]]:
    return (picture for picture in itertools.takewhile(lambda item: seconds is None or item[0] < seconds, pictures))


def _started(pictures: Iterator[T]) -> Iterator[T]:
    """The same pictures, the first of them read already: a source that fails does so before any file is made."""
    return itertools.chain([next(pictures)], pictures)


@contextlib.contextmanager
def _ending_cleanly(stop: threading.Event) -> Iterator[None]:
    """The first Ctrl-C (or termination signal) sets `stop`; a second one interrupts at once."""

    def _on_signal(number: int, frame: object) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    before = {number: signal.signal(number, _on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _shown(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.3f}"


if __name__ == "__main__":
    cli.run(main, FLAGS)
