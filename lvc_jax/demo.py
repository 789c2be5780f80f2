"""The whole system once, on the embedded data: prepare, train, evaluate, caption a held-out video live.

    python -m lvc_jax.demo

Each step is one of the other commands, printed before it runs, so that it can be repeated by hand. Everything it makes
is synthetic (moving_shapes) and labelled so.
"""

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

from absl import flags

from lvc_jax import cli
from lvc_jax.errors import InputError

FLAGS = flags.FlagValues()
CONFIG = flags.DEFINE_string("config", "configs/shapes.py", "Config file of the embedded default.", flag_values=FLAGS)
DATA_DIR = flags.DEFINE_string(
    "data_dir", "data", "Where the rendered videos and their features go.", flag_values=FLAGS
)
WORKDIR = flags.DEFINE_string(
    "workdir", "runs/shapes", "Where the checkpoint, the scores and the report go.", flag_values=FLAGS
)
SEGMENT_FRAMES = flags.DEFINE_integer(
    "segment_frames", 48, "Δt in frames at 30 per second.", lower_bound=1, flag_values=FLAGS
)
NUM_TRAIN_STEPS = flags.DEFINE_integer(
    "num_train_steps", None, "Fewer steps than the config's, for a quick look.", flag_values=FLAGS
)


def _command(name: str, **options: object) -> list[str]:
    given = [f"--{key.replace('__', '.')}={value}" for key, value in options.items() if value is not None]
    return [sys.executable, "-m", f"lvc_jax.{name}", *given]


def _run(title: str, command: list[str]) -> float:
    print(f"\n== {title}\n$ python {shlex.join(command[1:])}", flush=True)
    begun = time.monotonic()
    done = subprocess.run(command, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return time.monotonic() - begun


def _held_out_video(data_dir: Path, video_id: str) -> Path:
    found = sorted((data_dir / "moving_shapes").rglob(f"{video_id}.mp4"))
    if not found:
        raise InputError(f"no rendered video {video_id}.mp4 under {data_dir}: run the prepare step again")
    return found[0]


def _predictions(path: Path) -> tuple[str, list[dict]]:
    results = json.loads(path.read_text(encoding="utf-8"))["results"]
    video_id = max(sorted(results), key=lambda name: len(results[name]))
    return video_id, results[video_id]


def main() -> None:
    if not Path(CONFIG.value).is_file():
        raise InputError(f"no config file {CONFIG.value}: run from the repository's root, or give --config")
    workdir, data_dir, frames = Path(WORKDIR.value), Path(DATA_DIR.value), SEGMENT_FRAMES.value
    scores, live = workdir / "evaluation", workdir / "live"
    seconds = {}
    prepare = _command("prepare", dataset="moving_shapes", data_dir=data_dir)
    seconds["prepare"] = _run("Render the videos, extract features from their pixels", prepare)
    train = _command(
        "train",
        config=CONFIG.value,
        workdir=workdir,
        config__data_dir=data_dir,
        config__num_train_steps=NUM_TRAIN_STEPS.value,
    )
    seconds["train"] = _run("Train", train)
    evaluate = _command(
        "evaluate",
        checkpoint=workdir,
        split="test",
        segment_frames=frames,
        output=scores,
        data_dir=data_dir,
        consolidation="events",
    )
    seconds["evaluate"] = _run("Evaluate on held-out videos, beside baselines", evaluate)
    video_id, expected = _predictions(scores / f"predictions_{frames}.json")
    caption = _command(
        "live",
        checkpoint=workdir,
        source=_held_out_video(data_dir, video_id),
        output=live,
        segment_frames=frames,
        consolidation="events",
    )
    seconds["live"] = _run(f"Caption the held-out video {video_id} live", caption)
    lines = (live / "captions.jsonl").read_text(encoding="utf-8").splitlines()
    same = [json.loads(line)["sentence"] for line in lines] == [item["sentence"] for item in expected]
    print(f"\nThe live captions are {'the same as' if same else 'NOT those of'} the evaluation of {video_id}.")
    print("Seconds: " + ", ".join(f"{name} {value:.0f}" for name, value in seconds.items()))
    print(f"Report (moving_shapes, synthetic): {scores / 'report.html'}")
    print(f"Subtitles: {live / 'captions.vtt'}")
    if not same:
        sys.exit(cli.EXIT_ERROR)


if __name__ == "__main__":
    cli.run(main, FLAGS)
