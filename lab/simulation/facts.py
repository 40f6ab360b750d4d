"""Questions whose true answer changes over time, and who held the answer when.

Some are real and ship with the package. Those about invented towns, companies and clubs are for
histories larger than the real ones.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from pydantic import TypeAdapter

_CHANGES = (0, 0, 1, 1, 2, 3, 4, 5)  # about a quarter of the questions never change
_FIRST_START = date(2009, 3, 1)
_CHANGE_YEARS = range(2012, 2025)


@dataclass(frozen=True, slots=True)
class Holding:
    """From `start` on the answer is `answers`: several are joint, none means no clear answer."""

    start: date
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fact:
    """One question with its holdings in chronological order, and how pages speak about it.

    `false_answers` never were true between 2012 and 2024. `states` and `became` are clauses with
    the slot {answer} ({is} in `states`); `subject` is a noun phrase that does not give the answer
    away; `speculates` has {candidate}, {candidate2}. `synthetic` marks invented places,
    organisations and people.
    """

    question: str
    kind: str
    holdings: tuple[Holding, ...]
    false_answers: tuple[str, ...]
    topics: tuple[str, ...]
    states: str
    became: str
    subject: str
    speculates: str
    role: str = ""
    prize: str = ""
    plural: bool = False
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    synthetic: bool = False

    def index_on(self, day: date) -> int | None:
        """Index of the holding in force on `day`; None before the first or in a gap."""
        started = [i for i, holding in enumerate(self.holdings) if holding.start <= day]
        if not started or not self.holdings[started[-1]].answers:
            return None
        return started[-1]

    def settled_on(self, day: date, margin: timedelta) -> bool:
        """Whether one answer held from `margin` before `day` to `margin` after it."""
        index = self.index_on(day)
        around = {self.index_on(day - margin), index, self.index_on(day + margin)}
        return index is not None and len(around) == 1

    def end_of(self, index: int) -> date | None:
        """The day the next holding starts, or None for the last one."""
        following = self.holdings[index + 1 : index + 2]
        return following[0].start if following else None

    def accepted(self, holding: Holding) -> tuple[str, ...]:
        """Answers that count as right: the joint answers, or one answer and its other names."""
        names = tuple(bare(answer) for answer in holding.answers)
        if len(names) > 1:
            return names
        return names + tuple(self.aliases.get(holding.answers[0], ()))


def bare(answer: str) -> str:
    """An answer without the article it carries inside a sentence.

    >>> bare("the Miami Heat")
    'Miami Heat'
    """
    return answer.removeprefix("the ")


@cache
def bundled_facts() -> tuple[Fact, ...]:
    """The real questions that ship with the package, in file order."""
    return tuple(map(_fact, _data()["fact"]))


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("facts.toml").read_text(encoding="utf-8"))


def _fact(row: Mapping[str, Any]) -> Fact:
    """A row of `facts.toml`; what it does not say is as in its kind."""
    row = {"role": "", "prize": "", **_data()["kinds"].get(row["kind"], {}), **row}
    holdings = [{"start": start, "answers": answers} for start, *answers in row["holders"]]
    subject = row["subject"].format(role=row["role"], prize=row["prize"])
    fact: Fact = TypeAdapter(Fact).validate_python(
        {**row, "holdings": holdings, "false_answers": row["false"], "subject": subject}
    )
    return fact


def invented_facts(count: int, seed: int) -> list[Fact]:
    """`count` facts with distinct questions, the same for the same seed; a longer list of the
    same seed begins with the shorter one.
    """
    rng = Random(f"invented facts {seed}")
    facts: dict[str, Fact] = {}
    while len(facts) < count:
        fact = _invent(rng)
        facts.setdefault(fact.question, fact)
    return list(facts.values())


def _invent(rng: Random) -> Fact:
    role, topics = rng.choice(_data()["invented"]["positions"])
    role = role.format(name=_name(rng))
    people = _people(rng, 10)
    changes = rng.choice(_CHANGES)
    starts = [_FIRST_START + timedelta(days=rng.randrange(700))]
    # Distinct years, so that nobody holds a position for less than a few months.
    years = rng.sample(_CHANGE_YEARS, changes)
    starts += sorted(date(year, rng.randint(3, 9), rng.randint(1, 28)) for year in years)
    return _fact(
        {
            "question": f"Who is the {role}?",
            "kind": "office",
            "role": role,
            "holders": list(zip(starts, people, strict=False)),
            "false": people[6:],
            "topics": topics,
            "synthetic": True,
        }
    )


def _name(rng: Random) -> str:
    return "".join(rng.choice(parts) for parts in _data()["invented"]["syllables"])


def _people(rng: Random, count: int) -> list[str]:
    """Full names whose forenames and surnames all differ."""
    surnames: dict[str, None] = {}
    while len(surnames) < count:
        surnames[_name(rng)] = None
    forenames = rng.sample(_data()["invented"]["forenames"], count)
    return [f"{first} {last}" for first, last in zip(forenames, surnames, strict=True)]
