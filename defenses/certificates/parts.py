"""What certifiers share: the documents a defence saw, and certificates with their options."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from radarstream.schemas.certificate import Assumption, Certificate, Enough, FlipBound
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.verdict import DocumentVerdict


def seen_documents(event: AnswerEvent) -> tuple[DocumentVerdict, ...]:
    """The verdicts of the documents that the defence was shown, in rank order."""
    return tuple(sorted(event.seen, key=lambda document: document.rank))


def options_of(defense: Any) -> str:
    """The options of a defence as JSON."""
    return json.dumps(asdict(defense), sort_keys=True)


def proved(
    defense: Any,
    bounds: Sequence[FlipBound],
    assumptions: Sequence[Assumption],
    deceived: Enough | None = None,
) -> Certificate:
    """A certificate with bounds on another answer of the defence."""
    assumed = (*assumptions, Assumption.SILENCE)
    return Certificate(options_of(defense), tuple(bounds), assumed, deceived=deceived)


def unproved(defense: Any, reason: str) -> Certificate:
    """A certificate that says why there are none."""
    return Certificate(options_of(defense), reason=reason)


def fewest(works: Callable[[int], bool], low: int, high: int, start: int) -> int:
    """The least number between `low`, which does not work, and `high`, which does, that works.

    Tried are numbers at growing distance from `start`, then those in the middle. What is returned
    works or is `high`; it is the least if all above it work, too.

    >>> fewest(lambda number: number >= 7, 0, 50, 9)
    7
    """
    at, step, turned, before = start, 1, False, None
    while high - low > 1:
        at = min(max(at, low + 1), high - 1)
        works_here = works(at)
        low, high = (low, at) if works_here else (at, high)
        turned = turned or before not in (None, works_here)
        at = (low + high) // 2 if turned else at - step if works_here else at + step
        before, step = works_here, 2 * step
    return high
