"""The two readings of a text score: as the caption evaluation toolkits print it, or without their odd corners."""

from typing import Literal, get_args

from lvc_jax.errors import InputError

Reading = Literal["reference", "standard"]
READINGS: tuple[str, ...] = get_args(Reading)


def check(reading: str) -> None:
    """Refuses an unknown reading.

    Raises:
        InputError: `reading` is not one of `READINGS`.
    """
    if reading not in READINGS:
        raise InputError(f"text scores: reading={reading!r}: choose one of {', '.join(READINGS)}")
