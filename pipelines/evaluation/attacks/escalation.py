"""Conditions under which an attacker does more and more, to find where a defence breaks.

A study of breaking points is a study of defences under these conditions; `escalations` finds them
among the conditions of any study.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from radarstream.pipelines.evaluation.attacks.conditions import parse_condition
from radarstream.pipelines.evaluation.attacks.protocol import BENIGN, RANDOM, TOP, Condition
from radarstream.pipelines.evaluation.attacks.timing import Kind
from radarstream.schemas.errors import ConfigurationError

AMOUNTS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50)
AFTER_THE_FIRST = "late-1"


class Effort(StrEnum):
    """What the attacker does more of."""

    OWN_SITES = "poisoned documents, each on a site of its own"
    ONE_SITE = "poisoned documents, all on one site"
    STEPS = "attacked steps in a row"


@dataclass(frozen=True, slots=True)
class Escalation:
    """Conditions that differ in one number only, which is more than 0 and grows.

    `place` is `top` or `random` ranks. `documents` is how many are planted at each attacked step
    where steps are counted, else 0; `schedule` says which steps where documents are counted.
    """

    effort: Effort
    attack: str
    place: str
    schedule: str
    documents: int
    conditions: tuple[tuple[int, Condition], ...]


def amounts_up_to(most: int) -> list[int]:
    """The usual numbers up to the largest, which is always among them.

    >>> amounts_up_to(10), amounts_up_to(7)
    ([1, 2, 3, 4, 5, 6, 8, 10], [1, 2, 3, 4, 5, 6, 7])
    """
    return sorted({most, *(amount for amount in AMOUNTS if amount <= most)})


def escalating(
    attacks: Sequence[str],
    amounts: Sequence[int],
    *,
    place: str = TOP,
    steps: int = 1,
    schedule: str = "",
    at_each_step: int = 5,
) -> tuple[Condition, ...]:
    """The clean condition, and each attack with more and more documents, on sites of their own and
    on one site; in histories of several `steps` also at more and more steps.

    In histories the first step is spared unless a schedule says otherwise, so that there is a
    memory to attack. For the last part `at_each_step` documents are planted at each of the last
    steps. Raises ConfigurationError for an unknown attack or place and for amounts below 1.
    """
    if place not in (TOP, RANDOM):
        raise ConfigurationError(f"cannot place documents at {place!r}: write {TOP} or {RANDOM}")
    if not amounts or min(amounts) < 1:
        raise ConfigurationError("numbers of poisoned documents start at 1")
    when = schedule or (AFTER_THE_FIRST if steps > 1 else "")
    found = [Condition()]
    for attack in attacks:
        found += [_planting(attack, place, amount, when) for amount in amounts]
        found += [
            _planting(attack, place, amount, when, one_site=True)
            for amount in amounts
            if amount > 1
        ]
        if steps > 1:
            found += [
                _planting(attack, place, at_each_step, f"{Kind.LAST}-{number}")
                for number in amounts_up_to(steps)
            ]
    return tuple(dict.fromkeys(found))


def _planting(
    attack: str, place: str, documents: int, when: str, *, one_site: bool = False
) -> Condition:
    """So many documents at every step that is attacked. Raises ConfigurationError."""
    if place == TOP:
        made = Condition(attack, tuple(range(1, documents + 1)), when)
    else:
        made = Condition(attack, (), f"{when or Kind.CONSTANT}-{documents}", place)
    return parse_condition(replace(made, one_site=one_site).name)


def escalations(conditions: Iterable[Condition]) -> list[Escalation]:
    """The conditions that belong together, in groups of at least two, by the amount.

    One document on a site of its own is also one on one site. Conditions on a corpus, at other
    ranks than the first and with a number of texts that changes over time belong to none.
    """
    groups: dict[tuple[Effort, str, str, str, int, bool], dict[int, Condition]] = {}
    for condition in conditions:
        place, documents = _placed(condition)
        if not place:
            continue
        attack, one_site, when = condition.attack, condition.one_site, _steps_of(condition)
        effort = Effort.ONE_SITE if one_site else Effort.OWN_SITES
        groups.setdefault((effort, attack, place, when, 0, False), {})[documents] = condition
        if documents == 1 and not one_site:
            key = (Effort.ONE_SITE, attack, place, when, 0, False)
            groups.setdefault(key, {}).setdefault(1, condition)
        if condition.timing.kind is Kind.LAST:
            key = (Effort.STEPS, attack, place, "", documents, one_site)
            groups.setdefault(key, {})[condition.timing.number] = condition
    return [
        Escalation(effort, attack, place, when, documents, tuple(sorted(held.items(), key=_amount)))
        for (effort, attack, place, when, documents, _), held in groups.items()
        if len(held) > 1
    ]


def _placed(condition: Condition) -> tuple[str, int]:
    """Where the texts go and how many at each attacked step; no place for other conditions."""
    if condition.attack == BENIGN:
        return "", 0
    top = condition.positions == (*range(1, len(condition.positions) + 1),)
    if condition.positions and not top:
        return "", 0
    place = TOP if condition.positions else condition.place
    return (place, condition.peak) if place in (TOP, RANDOM) else ("", 0)


def _steps_of(condition: Condition) -> str:
    """The schedule without the number of texts."""
    if condition.timing.peak is None:
        return condition.schedule
    when = condition.schedule.rpartition("-")[0]
    return "" if when == Kind.CONSTANT else when


def _amount(member: tuple[int, Condition]) -> int:
    return member[0]
