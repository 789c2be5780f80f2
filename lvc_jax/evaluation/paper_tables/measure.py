"""Everything that the tables say of one predictions file, in both readings."""

import dataclasses
from collections.abc import Mapping, Sequence

from lvc_jax.data import segments
from lvc_jax.evaluation import suite
from lvc_jax.evaluation.paper_tables import files
from lvc_jax.evaluation.paper_tables.files import Row
from lvc_jax.evaluation.scoring import coverage, inputs
from lvc_jax.evaluation.scoring.captions import live_coverage
from lvc_jax.metrics import dense_captioning, live_score, slots
from lvc_jax.metrics.live_score import Reading
from lvc_jax.metrics.text.scorers import PairScorer

READINGS = ("reference", "paper")
ORIGINAL, SPLIT, LIVE = "original", "split", "live"
_VERSIONS = {"reference": "2018", "paper": "strict"}


@dataclasses.dataclass(frozen=True)
class Values:
    """Scores {name: fraction}, the signature line of them, and what they cover."""

    scores: Mapping[str, float]
    signature: str
    coverage: Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Measured:
    """A row with its values: {(part, reading): Values}; offline captions have the part `original` only; and notes."""

    row: Row
    values: Mapping[tuple[str, str], Values]
    notes: tuple[str, ...] = ()


class Meter:
    """Scores predictions files against one set of references; no pair of sentences is scored twice.

    Args:
        paths: annotation files, one for each annotator, at most two.
        scorers: text scorers.

    Raises:
        InputError: files that cannot be read; METEOR without its extra.
    """

    def __init__(self, paths: Sequence[str], scorers: Sequence[str]):
        # The evaluators take annotations as they are written; the Δt clock needs them repaired, as `score` has it.
        annotated = inputs.read_annotations(paths)
        self.written = inputs.as_written(annotated, keep_places=True)
        self._toolkit = inputs.as_written(annotated, keep_places=False)
        self._repaired, repairs = inputs.repaired(paths)
        self.notes = inputs.repair_notes(repairs)
        self.scorers = tuple(scorers)
        self._dense = {
            reading: PairScorer(scorers, reading="reference" if reading == "reference" else "standard")
            for reading in READINGS
        }
        # Live Scores have the scorers' `reference` reading in either mode; CIDEr of a slot is made apart.
        own = live_score.pair_scorer(Reading(scorers=self.scorers))
        self._live = own if "CIDEr" in scorers else self._dense["reference"]

    def measure(self, row: Row) -> Measured:
        """All values of a predictions file.

        Raises:
            InputError: naming file, video and field of what cannot be scored.
        """
        row, found = files.read(row, self.written)
        values = {(ORIGINAL, reading): self._offline(self.written, found, reading) for reading in READINGS}
        if row.segment_frames != "video":
            slots.check(self.written, {}, segments.segment_seconds(row.segment_frames))
            pieces = suite.split_references(self.written, row.segment_frames)
            for reading in READINGS:
                own = self._offline(pieces, found, reading)
                head, mark, version = own.signature.rpartition("|v:")
                line = f"{head}|events:cut@dt{row.segment_frames}{mark}{version}"
                values[SPLIT, reading] = dataclasses.replace(own, signature=line)
            for reading in READINGS:
                values[LIVE, reading] = self._over_time(found, reading, row.segment_frames)
        return Measured(row, values, tuple(f"{row.path}: {note}" for note in found.notes(self.written)))

    def _offline(self, references: inputs.References, found: inputs.Predicted, reading: str) -> Values:
        result = dense_captioning.evaluate(
            references, found.items, _VERSIONS[reading], scorers=self.scorers, pair_scorer=self._dense[reading]
        )
        return Values(result.scores, result.signature, {**result.coverage, **coverage.videos(references, found.items)})

    def _over_time(self, found: inputs.Predicted, mode: str, frames: int) -> Values:
        references = self._toolkit if mode == "reference" else self._repaired
        reading = Reading(frames, mode="reference" if mode == "reference" else "paper", scorers=self.scorers)
        videos = live_score.score_videos(references, found.items, reading, self._live)
        covered = live_coverage(references, found, videos)
        return Values(live_score.summary(videos, reading.names), reading.signature, covered)
