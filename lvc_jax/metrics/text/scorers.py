"""Caption scores of (hypothesis, references) pairs by their printed names; every distinct pair is scored once.

Readings: `reference` gives the numbers of the caption evaluation toolkits to the digit, `standard` their definitions
without the odd corners (identical captions of fewer than four words, blank captions, a CIDEr corpus of one item): see
the modules `bleu`, `rouge` and `cider` for where they differ. METEOR is the same in both.
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

from lvc_jax.errors import InputError
from lvc_jax.metrics.text import bleu, cider, meteor, rouge
from lvc_jax.metrics.text.ngrams import Items, Tokens, items
from lvc_jax.metrics.text.parallel import map_rows
from lvc_jax.metrics.text.reading import Reading, check
from lvc_jax.metrics.text.tokenizer import tokenize_all

BLEU = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4")
SCORERS = (*BLEU, "METEOR", "ROUGE-L", "CIDEr")

# Pairs that are worth a process: METEOR aligns several hundred a second, a process takes about a second to start.
_METEOR_PAIRS = 1500

Pair = tuple[str, tuple[str, ...]]


def meteor_available() -> bool:
    """Whether METEOR's extra is installed."""
    return meteor.available()


class PairScorer:
    """Scores pairs, remembering what it has scored.

    Args:
        scorers: names from `SCORERS`.
        reading: "reference" (the toolkits' numbers) or "standard" (without their odd corners).

    Raises:
        InputError: an unknown scorer or reading; METEOR without its extra.
    """

    def __init__(self, scorers: Sequence[str], *, reading: Reading = "reference"):
        unknown = [name for name in scorers if name not in SCORERS]
        if unknown:
            raise InputError(f"text scores: scorer {unknown[0]!r}: choose from {', '.join(SCORERS)}")
        check(reading)
        if "METEOR" in scorers:
            meteor.require()
        self.scorers = tuple(scorers)
        self._reading: Reading = reading
        self._tokens: dict[str, Tokens] = {}
        self._place: dict[Pair, int] = {}
        self._kept: dict[str, np.ndarray] = {}

    def sentence(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> dict[str, Float[np.ndarray, " n"]]:
        """Scores of n sentences.

        Args:
            hypotheses: n raw captions.
            references: for each one or more raw captions.

        Returns:
            {scorer: [n]}, fractions (CIDEr: 0 to 10, document frequencies over the n items of this call).

        Raises:
            InputError: lengths differ, an item has no reference, or something is no string.
        """
        index, coded = self._prepare(hypotheses, references)
        result: dict[str, np.ndarray] = {}
        if self._wants_bleu:
            result.update(zip(BLEU, bleu.score(self._bleu(index), self._reading).T, strict=True))
        if "METEOR" in self.scorers:
            result["METEOR"] = meteor.sentence(self._kept["METEOR"][index])
        if "ROUGE-L" in self.scorers:
            result["ROUGE-L"] = self._kept["ROUGE-L"][index]
        if coded is not None:
            result["CIDEr"] = cider.similarity(coded, reading=self._reading)
        return {name: result[name] for name in self.scorers}

    def calls(
        self,
        hypotheses: Sequence[str],
        references: Sequence[Sequence[str]],
        group: Int[np.ndarray, " n"],
        groups: int,
    ) -> dict[str, Float[np.ndarray, " groups"]]:
        """What one call of the toolkits' scorers on the items of each group prints.

        BLEU of the group's summed counts, METEOR of its summed statistics, mean ROUGE-L, mean CIDEr with the group as
        its corpus. A group without items scores 0.

        Args:
            hypotheses: n raw captions.
            references: for each one or more raw captions.
            group: the group of each item, 0 <= group < groups.
            groups: how many groups there are.

        Returns:
            {scorer: [groups]}, fractions (CIDEr: 0 to 10).

        Raises:
            InputError: as `sentence`; a group outside its range.
        """
        group = np.asarray(group, np.int64).reshape(-1)
        if len(group) != len(hypotheses):
            raise InputError(f"text scores: {len(group)} groups for {len(hypotheses)} items: must be as many")
        if len(group) and not 0 <= group.min() <= group.max() < groups:
            raise InputError(f"text scores: group {group.min()} to {group.max()}: must be from 0 to {groups - 1}")
        index, coded = self._prepare(hypotheses, references)
        number = np.bincount(group, minlength=groups)
        result: dict[str, np.ndarray] = {}
        if self._wants_bleu:
            result.update(zip(BLEU, bleu.score(bleu.total(self._bleu(index), group, groups), self._reading).T))
        if "METEOR" in self.scorers:
            result["METEOR"] = meteor.aggregate(self._kept["METEOR"][index], group, groups)
        if "ROUGE-L" in self.scorers:
            result["ROUGE-L"] = _mean(self._kept["ROUGE-L"][index], group, number)
        if coded is not None:
            result["CIDEr"] = _mean(cider.similarity(coded, group, groups, self._reading), group, number)
        return {name: np.where(number > 0, result[name], 0.0) for name in self.scorers}

    @property
    def pairs(self) -> int:
        """Distinct pairs scored so far."""
        return len(self._place)

    def sample(self, number: int, seed: int = 0) -> tuple[list[str], list[list[str]]]:
        """Pairs out of all that were scored, each at most once, as the original METEOR receives them.

        Args:
            number: of pairs at most.
            seed: of the draw.

        Returns:
            captions and their references, tokens joined by blanks.
        """
        pairs = list(self._place)
        if len(pairs) > number:
            drawn = np.random.default_rng(seed).choice(len(pairs), number, replace=False)
            pairs = [pairs[index] for index in sorted(drawn.tolist())]
        hypotheses, references = self._tokenised(pairs)
        return [" ".join(tokens) for tokens in hypotheses], [[" ".join(one) for one in own] for own in references]

    @property
    def _wants_bleu(self) -> bool:
        return any(name in BLEU for name in self.scorers)

    def _bleu(self, index: Int[np.ndarray, " n"]) -> bleu.Statistics:
        rows = self._kept["BLEU"][index]
        return bleu.Statistics(rows[:, :4], rows[:, 4:8], rows[:, 8], rows[:, 9])

    def _prepare(
        self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]
    ) -> tuple[Int[np.ndarray, " n"], Items | None]:
        """Scores the new pairs; the place of each item among all pairs, and the coded items if CIDEr is wanted."""
        pairs = _pairs(hypotheses, references)
        new: dict[Pair, int] = {}
        for place, pair in enumerate(pairs):
            if pair not in self._place:
                new.setdefault(pair, place)
        sentences = {text: None for hyp, refs in new for text in (hyp, *refs) if text not in self._tokens}
        self._tokens.update(zip(sentences, tokenize_all(list(sentences)), strict=True))
        coded = items(*self._tokenised(pairs)) if "CIDEr" in self.scorers else None
        self._score(list(new), None if coded is None else coded.take(np.fromiter(new.values(), np.int64, len(new))))
        self._place.update(zip(new, range(len(self._place), len(self._place) + len(new)), strict=True))
        return np.fromiter((self._place[pair] for pair in pairs), np.int64, len(pairs)), coded

    def _tokenised(self, pairs: Sequence[Pair]) -> tuple[list[Tokens], list[list[Tokens]]]:
        tokens = self._tokens
        return [tokens[hyp] for hyp, _ in pairs], [[tokens[text] for text in refs] for _, refs in pairs]

    def _score(self, pairs: Sequence[Pair], coded: Items | None) -> None:
        """Keeps the scores of new pairs; `coded`: the same pairs, where they are coded already."""
        hypotheses, references = self._tokenised(pairs)
        rows = {}
        if self._wants_bleu:
            coded = items(hypotheses, references) if coded is None else coded
            rows["BLEU"] = np.column_stack(bleu.count(coded))
        if "ROUGE-L" in self.scorers:
            rows["ROUGE-L"] = rouge.score(hypotheses, references, self._reading)
        if "METEOR" in self.scorers:
            rows["METEOR"] = np.zeros((0, 23))
        if "METEOR" in self.scorers and pairs:
            lines = [" ".join(tokens) for tokens in hypotheses]
            others = [[" ".join(tokens) for tokens in group] for group in references]
            # The first pair here: should the resources be missing or not compiled yet, that is met once.
            meteor.statistics(lines[:1], others[:1])
            rows["METEOR"] = map_rows(meteor.statistics, lines, others, smallest=_METEOR_PAIRS)
        for name, values in rows.items():
            before = self._kept.get(name)
            self._kept[name] = values if before is None else np.concatenate([before, values])


def _pairs(hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> list[Pair]:
    if len(hypotheses) != len(references):
        raise InputError(
            f"text scores: {len(hypotheses)} captions and {len(references)} lists of references: must be as many"
        )
    for place, (hyp, refs) in enumerate(zip(hypotheses, references, strict=True)):
        if isinstance(refs, str) or not len(refs):
            raise InputError(f"text scores: item {place}: references must be a list of at least one sentence")
        if not isinstance(hyp, str) or not all(isinstance(text, str) for text in refs):
            raise InputError(f"text scores: item {place}: captions and references must be strings")
    return [(hyp, tuple(refs)) for hyp, refs in zip(hypotheses, references, strict=True)]


def _mean(
    values: Float[np.ndarray, " n"], group: Int[np.ndarray, " n"], number: Int[np.ndarray, " groups"]
) -> Float[np.ndarray, " groups"]:
    return np.bincount(group, weights=values, minlength=len(number)) / np.maximum(number, 1)
