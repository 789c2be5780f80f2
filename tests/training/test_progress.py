"""Plain lines where there is no terminal, and a bar that fits a narrow one."""

import io

import pytest
from rich.console import Console

from lvc_jax.training import progress
from lvc_jax.training.progress import TrainingProgress

VALUES = {"loss": 1.5, "loss_caption": 0.25, "loss_giou": 0.5, "videos_per_s": 12.0}


def test_plain_lines_tell_step_time_left_losses_and_speed(capsys):
    with TrainingProgress(10, 4) as bar:
        bar.advance(5)
        bar.show(5, VALUES)
        bar.say("a remark")
    line, remark = capsys.readouterr().out.splitlines()
    assert line.startswith("step 5/10 eta 0:0")
    assert line.endswith("loss 1.500 12.0 videos/s caption 0.250 giou 0.500")
    assert remark == "a remark"


def test_other_processes_print_nothing(capsys):
    with TrainingProgress(10, quiet=True) as bar:
        bar.show(5, VALUES)
        bar.say("a remark")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("width", [60, 120])
def test_a_bar_keeps_step_and_time_on_any_width(monkeypatch, width):
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=width)
    monkeypatch.setattr(progress, "Console", lambda: console)
    with TrainingProgress(10) as bar:
        bar.show(5, VALUES)
        bar.say("a remark")
    text = out.getvalue()
    assert "5/10" in text
    assert "loss 1.500" in text
    assert "a remark" in text
    assert "-:--:--" in text or "0:00:0" in text
