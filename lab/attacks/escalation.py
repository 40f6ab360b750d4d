"""Conditions of a study that differ in how many pages are planted, and in nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass

from radarstream.lab.attacks.protocol import BENIGN, RANDOM, TOP, Condition
from radarstream.lab.attacks.timing import Kind


@dataclass(frozen=True, slots=True)
class Escalation:
    """More and more pages of an attack, by their number, at `top` or `random` ranks.

    With `one_site` they are all on one site, else each is on a site of its own; `schedule` says at
    which steps.
    """

    attack: str
    place: str
    schedule: str
    one_site: bool
    conditions: tuple[tuple[int, Condition], ...]


def escalations(conditions: Iterable[Condition]) -> list[Escalation]:
    """The conditions that belong together, in groups of at least two.

    One page on a site of its own is also one on one site. Conditions on a corpus, at other ranks
    than the first and with a number of texts that changes over time belong to none.
    """
    groups: dict[tuple[str, str, str, bool], dict[int, Condition]] = {}
    for condition in conditions:
        place = _place(condition)
        if not place:
            continue
        key, pages = (condition.attack, place, _steps_of(condition)), condition.peak
        groups.setdefault((*key, condition.one_site), {})[pages] = condition
        if pages == 1 and not condition.one_site:
            groups.setdefault((*key, True), {}).setdefault(1, condition)
    return [
        Escalation(*key, tuple((pages, held[pages]) for pages in sorted(held)))
        for key, held in groups.items()
        if len(held) > 1
    ]


def _place(condition: Condition) -> str:
    """Where the texts go, `top` or `random`; empty for other places and without an attack."""
    if condition.attack == BENIGN:
        return ""
    if condition.positions:
        top = condition.positions == (*range(1, len(condition.positions) + 1),)
        return TOP if top else ""
    return condition.place if condition.place in (TOP, RANDOM) else ""


def _steps_of(condition: Condition) -> str:
    """The schedule without the number of texts."""
    if condition.timing.peak is None:
        return condition.schedule
    when = condition.schedule.rpartition("-")[0]
    return "" if when == Kind.CONSTANT else when
