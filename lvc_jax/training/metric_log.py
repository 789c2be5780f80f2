"""Numbers of a run on disk: `metrics.jsonl`, and event files that TensorBoard reads."""

import json
from collections.abc import Mapping
from pathlib import Path

from tensorboardX import SummaryWriter

from lvc_jax.errors import InputError
from lvc_jax.files import atomic_write


class MetricLog:
    """Appends one JSON object a logged step to `<workdir>/metrics.jsonl`, and the same numbers to TensorBoard files.

    Args:
        workdir: the run's folder.
        start_step: the step that training resumes from; later lines of an earlier attempt are dropped, so that
            every step stands there once.
    """

    def __init__(self, workdir: Path, start_step: int = 0):
        workdir.mkdir(parents=True, exist_ok=True)
        self.path = workdir / "metrics.jsonl"
        _drop_after(self.path, start_step)
        self._file = self.path.open("a", encoding="utf-8")
        self._board = SummaryWriter(str(workdir / "tensorboard"), purge_step=start_step + 1, flush_secs=10)

    def write(self, step: int, values: Mapping[str, float]) -> None:
        """Writes one record; floats keep all their digits, so equal losses are equal text."""
        self._file.write(json.dumps({"step": step, **values}) + "\n")
        self._file.flush()
        for name, value in values.items():
            self._board.add_scalar(name, value, step)

    def close(self) -> None:
        self._file.close()
        self._board.close()


def read(path: Path) -> list[dict[str, float]]:
    """The records of a `metrics.jsonl`; a last line cut short by a kill is left out.

    Raises:
        InputError: if it cannot be read, or any other line is not a JSON object with a step.
    """
    records = []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: cannot be read: {error}; remove it") from None
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            records.append({**record, "step": int(record["step"])})
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            if number < len(lines):
                raise InputError(f"{path}: line {number} is not a metrics record; remove it or the file") from None
    return records


def _drop_after(path: Path, step: int) -> None:
    if not path.exists():
        return
    kept = [record for record in read(path) if record["step"] <= step]
    with atomic_write(path) as file:
        file.writelines(json.dumps(record) + "\n" for record in kept)
