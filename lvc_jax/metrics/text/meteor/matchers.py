"""The four matchers: exact, stem, synonym, paraphrase. All matches are collected before any is chosen."""

from typing import NamedTuple

from lvc_jax.metrics.text.meteor.phrases import Links
from lvc_jax.metrics.text.meteor.sentences import Sentence

EXACT, STEM, SYNONYM, PARAPHRASE = range(4)


class Match(NamedTuple):
    """`length` words of the reference from `start`, against `hyp_length` words of the hypothesis from `hyp_start`."""

    stage: int
    start: int
    length: int
    hyp_start: int
    hyp_length: int


Matches = dict[int, list[Match]]


def find(hypothesis: Sentence, reference: Sentence, links: Links) -> Matches:
    """All matches of a pair.

    Args:
        hypothesis: the sentence to judge.
        reference: what it is compared with.
        links: the paraphrases among the sentences of the run.

    Returns:
        reference position -> the matches that start there. Their order (stages; within a stage by hypothesis position;
        paraphrases as commented below) decides ties of the aligner.
    """
    result: Matches = {}
    at = hypothesis.index.at
    for position, code in enumerate(reference.codes):
        if code in at:
            result[position] = [Match(EXACT, position, 1, other, 1) for other in at[code]]
    if hypothesis.codes == reference.codes:
        return result
    _stems(result, hypothesis, reference)
    _synonyms(result, hypothesis, reference)
    _paraphrases(result, hypothesis, reference, links)
    return result


def _stems(result: Matches, hypothesis: Sentence, reference: Sentence) -> None:
    codes, stem_at = hypothesis.codes, hypothesis.index.stem_at
    for position, stem in enumerate(reference.stems):
        for other in stem_at.get(stem, ()):
            if codes[other] != reference.codes[position]:
                result.setdefault(position, []).append(Match(STEM, position, 1, other, 1))


def _synonyms(result: Matches, hypothesis: Sentence, reference: Sentence) -> None:
    codes, synset_at = hypothesis.codes, hypothesis.index.synset_at
    shared_keys = synset_at.keys()
    for position, synsets in enumerate(reference.synsets):
        if shared_keys.isdisjoint(synsets):
            continue
        others = {other for synset in shared_keys & synsets for other in synset_at[synset]}
        for other in sorted(others):
            if codes[other] != reference.codes[position]:
                result.setdefault(position, []).append(Match(SYNONYM, position, 1, other, 1))


def _paraphrases(result: Matches, hypothesis: Sentence, reference: Sentence, links: Links) -> None:
    # Phrases of the reference against their paraphrases in the hypothesis, then the other way round: an entry that the
    # table holds in both directions matches twice, which makes its words ambiguous.
    for own, other, swapped in ((reference, hypothesis, False), (hypothesis, reference, True)):
        phrase_at = other.phrase_at
        nodes = phrase_at.keys()
        for start, length, node in own.phrases:
            link = links.get(node)
            if link is None or nodes.isdisjoint(link[1]):
                continue
            for target in link[0]:
                for other_start, other_length in phrase_at.get(target, ()):
                    match = (
                        Match(PARAPHRASE, other_start, other_length, start, length)
                        if swapped
                        else Match(PARAPHRASE, start, length, other_start, other_length)
                    )
                    result.setdefault(match.start, []).append(match)
