"""Questions whose true answer changes over time, and who held the answer when."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Holding:
    """From `start` on the answer is `answers`: several are joint, none means no clear answer."""

    start: date
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Phrases:
    """How pages speak about a fact.

    `states` and `became` are clauses with the slot {answer} ({is} in `states`); `subject` is a
    noun phrase that does not give the answer away; `speculates` has {candidate}, {candidate2}.
    """

    states: str
    became: str
    subject: str
    speculates: str
    role: str = ""
    prize: str = ""
    plural: bool = False


@dataclass(frozen=True, slots=True)
class Fact:
    """One question with its holdings in chronological order.

    `false_answers` never were true between 2012 and 2024. `synthetic` marks invented places,
    organisations and people.
    """

    question: str
    kind: str
    holdings: tuple[Holding, ...]
    aliases: Mapping[str, tuple[str, ...]]
    false_answers: tuple[str, ...]
    topics: tuple[str, ...]
    phrases: Phrases
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
        return (
            index is not None
            and self.index_on(day - margin) == index
            and self.index_on(day + margin) == index
        )

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
    data = _data()
    return tuple(_fact(row, data["kinds"].get(row["kind"], {})) for row in data["fact"])


def office(role: str) -> Phrases:
    """Phrases of a position held by one person at a time, for facts built in code."""
    return _phrases({"role": role}, _data()["kinds"]["office"])


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("facts.toml").read_text(encoding="utf-8"))


def _fact(row: dict[str, Any], kind: dict[str, str]) -> Fact:
    return Fact(
        question=row["question"],
        kind=row["kind"],
        holdings=tuple(
            Holding(date.fromisoformat(start), tuple(answers)) for start, *answers in row["holders"]
        ),
        aliases={name: tuple(others) for name, others in row.get("aliases", {}).items()},
        false_answers=tuple(row["false"]),
        topics=tuple(row["topics"]),
        phrases=_phrases(row, kind),
    )


def _phrases(row: dict[str, Any], kind: dict[str, str]) -> Phrases:
    subject: str = row.get("subject") or kind["subject"]
    return Phrases(
        states=row.get("states") or kind["states"],
        became=row.get("became") or kind["became"],
        subject=subject.format(role=row.get("role", ""), prize=row.get("prize", "")),
        speculates=row.get("speculates") or kind["speculates"],
        role=row.get("role", ""),
        prize=row.get("prize", ""),
        plural=row.get("plural", False),
    )
