"""The check of METEOR against the original program."""

from typing import Any

from lvc_jax.errors import InputError
from lvc_jax.metrics.text import meteor
from lvc_jax.metrics.text.scorers import PairScorer

SAMPLE = 500


def compare(scorer: PairScorer | None) -> dict[str, Any]:
    """Scores a sample of the pairs of a run with the original program, which needs Java.

    Returns:
        `items` compared, `differing` in any statistic, and the `largest` difference of a score.

    Raises:
        InputError: METEOR was not among the scorers; no Java; METEOR's extra is missing.
    """
    if scorer is None or "METEOR" not in scorer.scorers:
        raise InputError("--verify-with-java checks METEOR: it must be among the scorers")
    hypotheses, references = scorer.sample(SAMPLE)
    return meteor.verify_with_java(hypotheses, references)._asdict()
