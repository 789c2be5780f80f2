"""Which flags of `score` a metric makes use of, and beside which other choices."""

from collections.abc import Collection, Iterable

CLOCK = "where a slot is Δt of time"
SLOTS = "where a video has more than one slot"
LIVE = "where captions are live"
PAPER = "in mode paper"
SENTENCES = "with variant a, b or c"
LIMITS = "with variant a"
SEGMENTS = "for files of segments"
PICTURES = "where there is a picture to draw"
"""What may hold of a score; `Scored.holds` says what does."""


def _flags(*names: str, when: tuple[str, ...] = ()) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names, when)


_TEXT = _flags("mode", "scorers", "verify-with-java") | _flags("plot", when=(PICTURES,))
_ACTIONS = (
    _flags("mode")
    | _flags("plot", when=(PICTURES,))
    | _flags("slot", "subset", when=(SEGMENTS,))  # files of frames have neither
)
_TIMED = _flags("silent", "missed", when=(CLOCK,))
_FIXED_BY_REFERENCE = _flags("clock", "gamma", "reference_sets", when=(PAPER,))
_WINDOWED = _flags("window", when=(SLOTS,)) | _flags("history", when=(PAPER, SLOTS))
_LIVE_SCORE = _flags("scorers") | _FIXED_BY_REFERENCE | _WINDOWED | _TIMED

USES: dict[str | None, dict[str, tuple[str, ...]]] = {
    # The suite has Live Scores and timeliness of live captions only; the rest of it takes no choice but Δt.
    None: _flags("mode", "segment_frames")
    | _flags("plot", when=(PICTURES,))
    | _flags("timeliness", when=(LIVE,))
    | {name: (LIVE, *when) for name, when in _LIVE_SCORE.items()},
    "text": _TEXT,
    "dense_captioning": _TEXT | _flags("version", "tiou", "paragraph"),
    "soda": _TEXT
    | _flags("variants", "reference_sets")
    | _flags("scorers", "verify-with-java", when=(SENTENCES,))
    | _flags("tiou", when=(LIMITS,)),
    "live_score": _TEXT | _LIVE_SCORE | _flags("segment_frames", when=(CLOCK,)) | _flags("fps", when=(CLOCK, SLOTS)),
    "instantaneous_accuracy": _ACTIONS,
    "average_precision": _ACTIONS | _flags("implementation", "ambiguous", "ignore", "per_stage"),
}
"""{metric: {flag: what has to hold}}; None is the suite. Predictions, references and output are used by all."""

FLAGS = frozenset(flag for flags in USES.values() for flag in flags)


def notes(metric: str | None, given: Iterable[str], holds: Collection[str]) -> list[str]:
    """A note on the flags that change nothing.

    Args:
        metric: what is scored; None for the suite.
        given: names out of `FLAGS`.
        holds: what holds of this score.
    """
    words = []
    for flag in sorted(given):
        needed = USES[metric].get(flag)
        if needed is None:
            words.append(f"--{flag}")
        elif lacking := [condition for condition in needed if condition not in holds]:
            words.append(f"--{flag} (only {lacking[0]})")
    return [f"Not used by {metric or 'the suite'}: {', '.join(words)}."] if words else []
