"""Chooses among the matches of a pair: a beam search over reference positions."""

from collections import Counter
from operator import itemgetter

from lvc_jax.metrics.text.meteor.matchers import EXACT, Match, Matches

WIDTH = 40
# A state's rank is one number, smaller is better: matched words, then chunks, then distance.
_CHUNK = 1 << 40
_WORD = 1 << 60


def _gain(match: Match) -> int:
    """Matched words, both sides. Outside the exact stage half a word each, cut to whole numbers: a single one is 0."""
    if match.stage == EXACT:
        return match.length + match.hyp_length
    return match.length // 2 + match.hyp_length // 2


def _fixed(matches: Matches) -> set[int]:
    """Positions whose only match covers words that no other match covers."""
    alone = [found[0] for found in matches.values() if len(found) == 1]
    if not alone:
        return set()
    ref_cover: Counter[int] = Counter()
    hyp_cover: Counter[int] = Counter()
    for found in matches.values():
        for _, start, length, hyp_start, hyp_length in found:
            ref_cover.update(range(start, start + length))
            hyp_cover.update(range(hyp_start, hyp_start + hyp_length))
    return {
        match.start
        for match in alone
        if all(ref_cover[match.start + i] == 1 for i in range(match.length))
        and all(hyp_cover[match.hyp_start + i] == 1 for i in range(match.hyp_length))
    }


def align(matches: Matches, ref_length: int) -> list[Match]:
    """The best alignment that the search finds.

    Args:
        matches: the matches by reference position.
        ref_length: words of the reference.

    Returns:
        the chosen matches by reference position; no word is in two of them.
    """
    fixed = _fixed(matches)
    if len(fixed) == len(matches):
        return [matches[position][0] for position in sorted(matches)]
    # A state: rank; end of the open chunk in the hypothesis (-1: none); used hypothesis words (bits); the next free
    # reference position; the chosen matches as a linked list.
    states: list[tuple] = [(0, -1, 0, 0, None)]
    quiet = True
    for position in range(ref_length):
        found = matches.get(position)
        if found is None:
            # Nothing to choose: open chunks close. A second such position changes nothing more.
            if not quiet:
                states, quiet = _pass(states, position)
        elif position in fixed:
            states, quiet = _take(states, found[0]), False
        else:
            states, quiet = _branch(states, found, position), False
    # The last chunk closes; of equals the first wins.
    best = min(states, key=lambda state: state[0] + (_CHUNK if state[1] >= 0 else 0))
    chosen, chain = [], best[4]
    while chain is not None:
        chain, match = chain
        chosen.append(match)
    return chosen[::-1]


def _pass(states: list[tuple], position: int) -> tuple[list[tuple], bool]:
    result, quiet = [], True
    for state in states:
        rank, end, used, free, chain = state
        if free > position:
            result.append(state)
            quiet = False
        else:
            result.append((rank + _CHUNK if end >= 0 else rank, -1, used, free, chain))
    result.sort(key=itemgetter(0))
    return result, quiet


def _take(states: list[tuple], match: Match) -> list[tuple]:
    # Gain and distance of a fixed match are the same for all states.
    result = [
        (
            rank + _CHUNK if end >= 0 and end != match.hyp_start else rank,
            match.hyp_start + match.hyp_length,
            used,
            match.start + match.length,
            (chain, match),
        )
        for rank, end, used, _, chain in states
    ]
    result.sort(key=itemgetter(0))
    return result


def _branch(states: list[tuple], found: list[Match], position: int) -> list[tuple]:
    options = [
        (
            ((1 << match.hyp_length) - 1) << match.hyp_start,
            _gain(match) * _WORD,
            match.hyp_start,
            match.hyp_start + match.hyp_length,
            abs(match.start - match.hyp_start),
            match.start + match.length,
            match,
        )
        for match in found
    ]
    result = []
    for state in states:
        rank, end, used, free, chain = state
        if free > position:
            result.append(state)
            continue
        closing = rank + _CHUNK if end >= 0 else rank
        for words, gain, hyp_start, hyp_end, distance, ref_end, match in options:
            if not used & words:
                new = (rank if end == hyp_start else closing) - gain
                result.append((new, hyp_end, used | words, ref_end, (chain, match)))
                # The original charges the distance to the state that is left behind: the choices still to be tried
                # carry it, the one just made does not.
                rank += distance
                closing += distance
        result.append((closing, -1, used, free, chain))
    result.sort(key=itemgetter(0))
    return result[:WIDTH]
