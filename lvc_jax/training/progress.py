"""What a person sees while a model trains: a bar on a terminal, plain lines elsewhere."""

import time
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column


class TrainingProgress:
    """Context manager around a rich progress bar with time left, losses and videos a second.

    Args:
        total: steps of the whole run.
        start: steps already done.
        quiet: prints nothing (processes other than the first).
    """

    def __init__(self, total: int, start: int = 0, *, quiet: bool = False):
        self.total, self.start, self.quiet = total, start, quiet
        self._began = time.monotonic()
        self._bar: Progress | None = None
        self._task: Any = None
        console = Console()
        if console.is_terminal and not quiet:
            self._bar = Progress(
                MofNCompleteColumn(table_column=Column(no_wrap=True)),
                BarColumn(bar_width=12, table_column=Column(min_width=12)),
                TimeRemainingColumn(elapsed_when_finished=True, table_column=Column(no_wrap=True)),
                # The last column alone gives way on a narrow terminal.
                TextColumn("{task.fields[losses]}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
                console=console,
                expand=True,
            )

    def __enter__(self) -> "TrainingProgress":
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("train", total=self.total, completed=self.start, losses="compiling")
        return self

    def __exit__(self, *exc: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, step: int) -> None:
        """Moves the bar to `step`."""
        if self._bar is not None:
            self._bar.update(self._task, completed=step)

    def show(self, step: int, values: Mapping[str, float]) -> None:
        """Shows the numbers of a logged step."""
        if self.quiet:
            return
        text = _summary(values)
        if self._bar is not None:
            self._bar.update(self._task, completed=step, losses=text)
            return
        left = (time.monotonic() - self._began) / max(1, step - self.start) * (self.total - step)
        print(f"step {step}/{self.total} eta {_clock(left)} {text}", flush=True)

    def say(self, line: str) -> None:
        """Prints one line beside the bar."""
        if self.quiet:
            return
        if self._bar is not None:
            self._bar.console.print(line, highlight=False, markup=False)
        else:
            print(line, flush=True)


def _summary(values: Mapping[str, float]) -> str:
    shown = [f"loss {values['loss']:.3f}"]
    if "videos_per_s" in values:
        shown.append(f"{values['videos_per_s']:.1f} videos/s")
    for name in ("caption", "giou", "cls", "count"):
        if f"loss_{name}" in values:
            shown.append(f"{name} {values[f'loss_{name}']:.3f}")
    return " ".join(shown)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
