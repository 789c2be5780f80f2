"""What a checkpoint says of its training."""

import subprocess
import sys

import pytest

from lvc_jax.data.caption_kinds import CAPTION_KINDS
from lvc_jax.data.datasets.registry import BUILDERS
from lvc_jax.training.run_config import default_config
from lvc_jax.training.trained_on import outside_training, trained_on


def config(**changes):
    result = default_config()
    result.update(changes)
    return result


def test_one_line_says_what_was_trained_on() -> None:
    shapes = config(dataset="moving_shapes", segment_frames=(48,), memory=3)
    assert trained_on(shapes) == "moving_shapes (captions: synthetic), Δt = 48 frames, memory M = 3"
    salads = config(dataset="fifty_salads/scores", segment_frames=(24, 150))
    assert trained_on(salads).startswith("fifty_salads/scores (captions: verbalised labels), Δt = 24, 150 frames,")
    assert trained_on(config(dataset="own", mode="video")) == "own, whole videos, memory M = 1"


@pytest.mark.parametrize(
    ("mode", "asked", "known"),
    [
        ("segment", 48, True),
        ("segment", 60, False),
        ("segment", "video", False),
        ("video", "video", True),
        ("video", 48, False),
    ],
)
def test_what_lies_outside_the_training_is_told_of(mode: str, asked: int | str, known: bool) -> None:
    note = outside_training(config(mode=mode, segment_frames=(24, 48)), asked)
    if known:
        assert note is None
    else:
        trained = "whole videos" if mode == "video" else "Δt = 24, 48 frames"
        assert note == f"Δt = {asked} is outside what the checkpoint was trained on ({trained}): expect worse captions."


def test_the_kinds_of_captions_are_those_of_the_data_sets() -> None:
    assert {name: builder.CAPTION_KIND for name, (builder, _) in BUILDERS.items()} == CAPTION_KINDS


def test_saying_it_needs_no_data_set_library() -> None:
    program = "import lvc_jax.training.trained_on, sys; sys.exit('tensorflow_datasets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
