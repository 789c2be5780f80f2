"""The check of METEOR against the original program."""

from collections.abc import Sequence
from typing import Any

from lvc_jax.errors import InputError
from lvc_jax.metrics.text import meteor
from lvc_jax.metrics.text.meteor.java import command
from lvc_jax.metrics.text.meteor.sources import STEMMER, STEMMER_VERSION
from lvc_jax.metrics.text.scorers import PairScorer

SAMPLE = 500
_NOT_ASKED = "--verify-with-java checks METEOR: it must be among the scorers"


def check(asked: Sequence[str] | None) -> None:
    """Refuses the check before anything is scored, where it cannot be made.

    Args:
        asked: the scorers that were asked for; None for the default, which has METEOR where its extra is installed.

    Raises:
        InputError: METEOR was not asked for; its extra or Java is missing, with how to install it.
    """
    if asked is not None and "METEOR" not in asked:
        raise InputError(_NOT_ASKED)
    if not meteor.available():
        raise InputError(
            f"--verify-with-java: METEOR's extra (pycocoevalcap and {STEMMER}=={STEMMER_VERSION}) is not installed: "
            "run pip install 'lvc-jax[meteor]', or leave the flag out"
        )
    try:
        command()
    except InputError as error:
        raise InputError(f"--verify-with-java: {error}") from None


def compare(scorer: PairScorer | None) -> dict[str, Any]:
    """Scores a sample of the pairs of a run with the original program, which needs Java.

    Returns:
        `items` compared, `differing` in any statistic, and the `largest` difference of a score.

    Raises:
        InputError: METEOR was not among the scorers; no Java; METEOR's extra is missing.
    """
    if scorer is None or "METEOR" not in scorer.scorers:
        raise InputError(_NOT_ASKED)
    hypotheses, references = scorer.sample(SAMPLE)
    return meteor.verify_with_java(hypotheses, references)._asdict()
