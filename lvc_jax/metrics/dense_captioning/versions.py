"""The evaluators that printed the published numbers, by name, and one in which every odd case is defined.

Common to `2018`, `2021` and `vidchapters` (as measured on the original programs): a caption is paired with every event
of every annotation set that it meets at tIoU >= τ, a caption that meets none with a garbage reference; a scorer is
called once per video and τ; the value is the mean over videos, then over τ. Precision and recall ask for tIoU strictly
above τ. The union has a guard of 1e-8, so that an exact ratio falls just below its threshold. Only the first 1,000
predictions of a video are read. A reversed interval meets nothing. The tokenizer reads a call's captions as lines of
one text (`text.lines`).

Where the originals stop with an error, these versions give: an empty list of predictions counts as no prediction; a
video without any event has recall and precision 0, and its captions meet the garbage; no predicted video gives 0.

`strict` differs from `2021` in:

- the interval's ratio is exact, and tIoU >= τ (tolerance 1e-9) is asked for in both parts;
- all predictions of a video are read; a caption without a letter or digit is no caption;
- an event that nobody can describe (no length, reversed, no letter or digit) is left out;
- a prediction without length or reversed stays, and meets nothing;
- a video without events counts only if it has captions: they have precision 0 and meet the garbage, recall is left out;
- every caption is tokenised alone, and the text scorers take their `standard` reading.
"""

import dataclasses
from collections.abc import Iterable

from lvc_jax.errors import InputError
from lvc_jax.metrics.text.garbage import word_in_none
from lvc_jax.metrics.text.reading import Reading


@dataclasses.dataclass(frozen=True)
class Version:
    """The rules of one evaluator.

    Attributes:
        name: as in `VERSIONS`.
        garbage: the reference of a caption that meets no event; None takes one word that no caption contains.
        max_predictions: predictions of a video that are read; None for all.
        skip_missing: videos that are not in the predictions do not count (else they count 0).
        strict: the rules listed at the top of this file.
    """

    name: str
    garbage: str | None = None
    max_predictions: int | None = 1000
    skip_missing: bool = False
    strict: bool = False

    @property
    def reading(self) -> Reading:
        """The reading of the text scorers."""
        return "standard" if self.strict else "reference"

    def garbage_for(self, captions: Iterable[str]) -> str:
        """The reference of captions that meet no event.

        Args:
            captions: all captions of the run.
        """
        return word_in_none(captions) if self.garbage is None else self.garbage


VERSIONS = {
    version.name: version
    for version in (
        # One word for BLEU, ROUGE-L and CIDEr, four for METEOR, whose normaliser cuts it.
        Version("2018", garbage="abc123!@#"),
        Version("2021"),
        Version("vidchapters", skip_missing=True),
        Version("strict", max_predictions=None, strict=True),
    )
}


def version_named(name: str) -> Version:
    """The version of that name.

    Raises:
        InputError: no such version.
    """
    if name not in VERSIONS:
        raise InputError(f"dense_captioning: version {name!r}: choose one of {', '.join(VERSIONS)}")
    return VERSIONS[name]
