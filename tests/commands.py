"""Commands called in this process, with flag values that last for one call."""

import contextlib
from collections.abc import Iterator
from types import ModuleType


@contextlib.contextmanager
def given(command: ModuleType, **values: object) -> Iterator[None]:
    """The command's flags hold these values inside the block, and their defaults after it."""
    command.FLAGS.mark_as_parsed()
    for name, value in values.items():
        command.FLAGS[name].value = value
    try:
        yield
    finally:
        command.FLAGS.unparse_flags()
