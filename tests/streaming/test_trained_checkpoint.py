"""The shipped checkpoint, on videos rendered for these tests: it has learnt, its memory matters, and it is live."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import lvc_jax
from lvc_jax.data.datasets import open_dataset, shapes_builder, writing
from lvc_jax.evaluation.selection import Selection
from lvc_jax.metrics import online
from lvc_jax.streaming import StreamConfig, init, pad_rows, step
from lvc_jax.streaming.offline import live_segments, predict
from lvc_jax.training.checkpoints import load_for_inference
from tests.streaming.conftest import assert_close, assert_same, play

ASSET = Path(lvc_jax.__file__).parent / "assets" / "moving_shapes"
FRAMES = 48


@pytest.fixture(scope="module")
def model():
    return load_for_inference(ASSET)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shapes")
    source = shapes_builder.source(folder, sizes={"train": 0, "val": 0, "test": 3}, seed=20_000, workers=1)
    writing.write(shapes_builder.MovingShapes, source, folder)
    return open_dataset(folder, "moving_shapes", "test")


def stream_config(model, consolidation):
    settings = {**model.config.streaming, "segment_frames": FRAMES, "consolidation": consolidation}
    return StreamConfig.from_settings(model.model_config, settings, model.feature_info.stride_s)


@pytest.fixture(scope="module")
def config(model):
    return stream_config(model, "events")  # what the live command does unless told otherwise


@pytest.fixture(scope="module")
def streams(dataset):
    return [live_segments(r.features, r.info, r.duration, FRAMES) for r in dataset]


@pytest.fixture(scope="module")
def captions(model, dataset, streams):
    """What evaluation says, by consolidation."""
    clips = [(record.id, rows, record.duration) for record, rows in zip(dataset, streams, strict=True)]
    return {
        how: predict(model.params, stream_config(model, how), clips, decode=model.vocabulary.decode)
        for how in ("slot", "events")
    }


@pytest.mark.parametrize("how", ["slot", "events"])
def test_it_says_what_is_on_and_keeps_silent_otherwise(dataset, captions, how):
    scores = online.score(Selection(dataset).references(), captions[how], FRAMES / 30)
    assert scores["exact_match"] >= 0.6
    assert scores["silent_kept"] >= 0.9


def test_memory_changes_captions(model, config, streams):
    assert config.memory == 3
    other = streams[1][:2]
    changed = 0
    for k in range(2, len(streams[0]) - 1):
        own, _ = play(model.params, streams[0][k - 2 : k + 1], config)
        borrowed, _ = play(model.params, [*other, streams[0][k]], config)
        changed += bool((own[-1]["tokens"] != borrowed[-1]["tokens"]).any())
    assert changed > 0


def test_causality_bit_for_bit(model, config, streams):
    whole, _ = play(model.params, streams[0], config)
    for cut in (1, len(whole) // 2, len(whole) - 1):
        future = [rows[::-1] * 2 for rows in streams[0][cut:]]
        changed, _ = play(model.params, streams[0][:cut] + future, config)
        for k in range(cut):
            assert_same(whole[k], changed[k])


def test_interleaved_streams_get_what_each_gets_alone(model, config, streams):
    states = [init(config, model.params) for _ in streams]
    found = [[] for _ in streams]
    for k in range(max(map(len, streams))):
        for i, rows in enumerate(streams):
            if k < len(rows):
                states[i], said = step(model.params, states[i], *pad_rows(config, rows[k]))
                found[i].append(jax.tree.map(np.array, said))
    for rows, together in zip(streams, found, strict=True):
        alone, _ = play(model.params, rows, config)
        for expected, said in zip(alone, together, strict=True):
            assert_close(expected, said)


def test_live_says_the_same_as_evaluation(dataset, captions, tmp_path):
    record = dataset[0]
    expected = captions["events"][record.id]
    options = {
        "checkpoint": ASSET,
        "source": record.video_path,
        "output": tmp_path,
        "segment_frames": FRAMES,
    }
    command = [sys.executable, "-m", "lvc_jax.live", *(f"--{name}={value}" for name, value in options.items())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "captions.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["sentence"] for line in lines] == [item["sentence"] for item in expected]
    np.testing.assert_allclose(
        [line["timestamp"] for line in lines], [item["timestamp"] for item in expected], atol=0.2
    )


def test_the_example_of_the_readme_runs():
    text = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    code = text.split("```python\n")[1].split("```")[0]
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(lvc_jax.__file__).parents[1], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3
