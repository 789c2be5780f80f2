"""The metrics file: whole digits, no line twice, no half line."""

import pytest

from lvc_jax.errors import InputError
from lvc_jax.training.metric_log import MetricLog, read


def test_what_is_written_is_read_back_exactly(tmp_path):
    log = MetricLog(tmp_path)
    log.write(1, {"loss": 0.1 + 0.2, "lr": 1e-9})
    log.close()
    assert read(tmp_path / "metrics.jsonl") == [{"step": 1, "loss": 0.1 + 0.2, "lr": 1e-9}]


def test_resuming_drops_later_and_half_written_lines(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1, "loss": 1.0}\n{"step": 2, "loss": 2.0}\n{"step": 3, "loss": 3.0}\n{"step": 4, "lo')
    log = MetricLog(tmp_path, start_step=2)
    log.write(3, {"loss": 3.5})
    log.close()
    assert [(r["step"], r["loss"]) for r in read(path)] == [(1, 1.0), (2, 2.0), (3, 3.5)]


@pytest.mark.parametrize("line", ["nonsense", "[1]", '{"loss": 1}', '{"step": null}', '{"step": Infinity}'])
def test_a_foreign_file_is_refused(tmp_path, line):
    (tmp_path / "metrics.jsonl").write_text(f'{line}\n{{"step": 2, "loss": 1.0}}\n')
    with pytest.raises(InputError, match=r"metrics.jsonl: line 1"):
        MetricLog(tmp_path, start_step=2)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "metrics.jsonl").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"metrics.jsonl: cannot be read"):
        read(tmp_path / "metrics.jsonl")
