"""A folder that appears under its name only when everything is in it."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lvc_jax.errors import InputError
from lvc_jax.files import check_writable


def check_new(folder: str | os.PathLike) -> None:
    """Finds out before long work whether `new_folder` could make it.

    Raises:
        InputError: something is there that is no empty folder, or nothing can be written there.
    """
    place = Path(folder)
    check_writable(place, "--output")
    if os.path.lexists(place) and (not place.is_dir() or any(place.iterdir())):
        raise InputError(f"--output={folder}: is there already; name a new folder, or remove this one")


@contextlib.contextmanager
def new_folder(folder: str | os.PathLike) -> Iterator[Path]:
    """Yields a temporary folder beside `folder`, which takes its name if the block ends without an error.

    Raises:
        InputError: see `check_new`.
    """
    check_new(folder)
    target = Path(folder).absolute()
    target.parent.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield place
        umask = os.umask(0)
        os.umask(umask)
        place.chmod(0o777 & ~umask)
        place.replace(target)  # an empty folder of that name gives way
    except BaseException:
        shutil.rmtree(place, ignore_errors=True)
        raise
