"""Runs the original program on a sample and compares."""

import shutil
import subprocess
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from lvc_jax.errors import InputError
from lvc_jax.metrics.text.meteor import score, sources
from lvc_jax.metrics.text.meteor.scorer import clean_hypothesis, statistics


class Comparison(NamedTuple):
    """Ours against the original.

    items: how many were compared. differing: how many have any of the 23 statistics different. largest: the largest
    difference of a score, a fraction.
    """

    items: int
    differing: int
    largest: float


def command() -> list[str]:
    """The command line of the original, which then reads `request`s from its standard input.

    Raises:
        InputError: no Java, or the extra `[meteor]` is not installed.
    """
    jar = sources.require().jar
    java = shutil.which("java")
    if java is None:
        raise InputError("METEOR: java: not found on this machine: install a Java runtime, or leave the check out")
    options = ["-Dfile.encoding=UTF-8", "-Duser.language=en", "-Xmx2G"]
    return [java, *options, "-jar", str(jar), "-", "-", "-stdio", "-l", "en", "-norm"]


def request(hypothesis: str, references: Sequence[str]) -> str:
    """The line that asks the original for the statistics of one hypothesis; its answer is one line of 23 numbers."""
    line = " ||| ".join(["SCORE", *references, clean_hypothesis(hypothesis)])
    # A line end inside a caption would break the protocol.
    return line.replace("\r", " ").replace("\n", " ") + "\n"


def java_statistics(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, timeout: float | None = None
) -> Float[np.ndarray, "n 23"]:
    """The original's statistics, by its line protocol.

    Args:
        hypotheses: n captions.
        references: for each of them one or more references.
        timeout: seconds after which to give up; None waits.

    Returns:
        statistics [n, 23].

    Raises:
        InputError: no Java, the extra `[meteor]` is not installed, or the program fails.
    """
    lines = "".join(map(request, hypotheses, references)).encode("utf-8", "replace")
    program = command()
    try:
        done = subprocess.run(program, input=lines, capture_output=True, timeout=timeout, check=True)
        rows = [[float(value) for value in line.split()] for line in done.stdout.decode().splitlines()]
        return np.array(rows, np.float64).reshape(len(hypotheses), score.COLUMNS)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise InputError(f"METEOR: the original program failed ({error}): leave the check out") from None


def verify_with_java(
    hypotheses: Sequence[str], references: Sequence[Sequence[str]], *, timeout: float | None = None
) -> Comparison:
    """Scores a sample with the original program and with ours.

    Args:
        hypotheses: n captions, tokens joined by blanks.
        references: for each of them one or more references.
        timeout: seconds after which to give up; None waits.

    Returns:
        what differs.

    Raises:
        InputError: see `java_statistics` and `statistics`.
    """
    ours = statistics(hypotheses, references)
    theirs = java_statistics(hypotheses, references, timeout=timeout)
    scores = np.abs(score.sentence(ours) - score.sentence(theirs))
    return Comparison(len(ours), int((ours != theirs).any(axis=1).sum()), float(scores.max(initial=0.0)))
