"""Which parts of one text occur in another, in time that grows with both lengths and no faster."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

GRAM: Final = 4  # characters
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)  # mixes the characters of a gram into one number


def copied_runs(part: str, whole: str, ends: Sequence[int], least: int) -> list[tuple[int, int]]:
    """The stretches of `part` that are `least` or more words in a row of `whole`.

    `ends` says where the words of `whole` end, one after another without anything between them; how
    `part` is divided into words does not matter. Returns (start, end) in `part`, ascending and
    apart. A suffix automaton of `part` reads `whole` once.
    """
    if len(ends) < least or not part:
        return []
    steps, links, lengths, prefixes = _automaton(part)
    wanted = _matched(whole, ends, least, steps, links, lengths)
    if not any(wanted):
        return []
    # What ends in a state ends in all that its link leads to, which are shorter and come first.
    for state in sorted(range(1, len(links)), key=lengths.__getitem__):
        wanted[state] = max(wanted[state], wanted[links[state]])
    found: list[tuple[int, int]] = []
    for end, state in enumerate(prefixes, start=1):
        start = end - wanted[state]
        if start == end:
            continue
        while found and start <= found[-1][1]:
            start = min(start, found.pop()[0])
        found.append((start, end))
    return found


def contained_share(part: str, whole: str) -> float:
    """The share of the distinct character 4-grams of `part` that a stretch of `whole` has.

    The stretch is one of twice the length of `part`; the grams of a long text as a whole would be
    those of its language. 0 where `part` is shorter than a gram.
    """
    grams = np.unique(_grams(part))
    if not len(grams):
        return 0.0
    listed = _grams(whole)
    places = np.searchsorted(grams, listed)
    known = grams[np.minimum(places, len(grams) - 1)] == listed
    blocks = np.arange(len(listed)) // len(part)
    has = np.zeros((len(listed) // len(part) + 2, len(grams)), dtype=np.bool_)
    has[blocks[known], places[known]] = True
    return float((has[:-1] | has[1:]).mean(axis=1).max())


def _grams(text: str) -> NDArray[np.uint64]:
    """One number per gram, in order; different grams differ but for an accident of 64 bits."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    count = max(0, len(codes) - GRAM + 1)
    mixed = np.zeros(count, dtype=np.uint64)
    for place in range(GRAM):
        mixed = (mixed + codes[place : place + count]) * _ODD
        mixed ^= mixed >> np.uint64(29)
    return mixed


def _automaton(text: str) -> tuple[list[dict[str, int]], list[int], list[int], list[int]]:
    """The suffix automaton: steps, suffix links and longest lengths of its states, and the state of
    each prefix. State 0 is the empty string, which links to itself.
    """
    steps: list[dict[str, int]] = [{}]
    links, lengths, prefixes, last = [0], [0], [], 0
    for letter in text:
        new, state = len(steps), last
        steps.append({})
        links.append(0)
        lengths.append(lengths[last] + 1)
        while letter not in steps[state]:
            steps[state][letter] = new
            if not state:
                break
            state = links[state]
        target = steps[state][letter]
        if target != new:
            if lengths[target] > lengths[state] + 1:
                target = _split(state, letter, steps, links, lengths)
            links[new] = target
        last = new
        prefixes.append(new)
    return steps, links, lengths, prefixes


def _split(
    state: int, letter: str, steps: list[dict[str, int]], links: list[int], lengths: list[int]
) -> int:
    """Give the shorter strings of the state that `letter` leads to a state of their own."""
    target, copy = steps[state][letter], len(steps)
    steps.append(dict(steps[target]))
    links.append(links[target])
    lengths.append(lengths[state] + 1)
    links[target] = copy
    while steps[state].get(letter) == target:
        steps[state][letter] = copy
        if not state:
            break
        state = links[state]
    return copy


def _matched(
    whole: str,
    ends: Sequence[int],
    least: int,
    steps: list[dict[str, int]],
    links: list[int],
    lengths: list[int],
) -> list[int]:
    """Per state the length of the longest of its strings that is `least` words of `whole`, or 0."""
    wanted = [0] * len(steps)
    state = length = read = 0
    for word, end in enumerate(ends):
        for letter in whole[read:end]:
            while state and letter not in steps[state]:
                state = links[state]
                length = lengths[state]
            if letter in steps[state]:
                state = steps[state][letter]
                length += 1
        read = end
        if word + 1 < least:
            continue
        window = end - (ends[word - least] if word >= least else 0)
        if length >= window:  # the string of `least` words; later ones begin no earlier
            while lengths[links[state]] >= window:
                state = links[state]
            length = window
            wanted[state] = max(wanted[state], window)
    return wanted
