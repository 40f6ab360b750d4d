"""Scenarios: what happens before somebody complains about an answer.

    scenario     = attack [ "@m" texts ] [ "/" circumstance ]
                 | "benign-errors" | "false-reports" | "invented-reports"
    circumstance = "noisy"      the complaint quotes the answer in other words
                 | "crowd"      every question of the data is attacked at once

`texts` is how many are planted, 5 unless the attack says otherwise. Each question is attacked in a
copy of the clean corpus of its own, unless the scenario is a crowd. No model is asked here.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum

from radarstream.lab.attacks.corpus import Corpus, inject
from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.lab.attacks.protocol import Attack, Surface, UnattackableError
from radarstream.lab.attacks.registry import ATTACKS, attack_named
from radarstream.lab.attacks.variations import VARIATIONS
from radarstream.lab.attribution.records import CaseState, EventRow, Role
from radarstream.lab.study.specs import ALL, expanded
from radarstream.schemas.answer_text import contains
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels, Query, SearchSnapshot

_SCENARIO = re.compile(
    r"(?P<attack>[a-z]+(-[a-z]+)*)(@m(?P<count>[1-9]\d{0,2}))?(/(?P<circumstance>[a-z]+))?"
)


class Clean(StrEnum):
    """Complaints about answers that nobody attacked."""

    ERRORS = "benign-errors"  # wrong by itself
    FALSE_REPORTS = "false-reports"  # correct, and called wrong
    INVENTED_REPORTS = "invented-reports"  # the attacker's target, which nobody gave


class Circumstance(StrEnum):
    """What makes a case harder than the attack alone."""

    NONE = ""
    NOISY = "noisy"
    CROWD = "crowd"


class Family(StrEnum):
    """Scenarios that are pooled in tables."""

    PLAIN = "plain"  # attackers who know nothing of attribution
    ADAPTIVE = "adaptive"
    SEVERAL = "several"  # more than one attacker
    NOISY = "noisy"
    CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario; `count` texts are planted a question, 0 where there is no attack."""

    attack: str
    count: int = 0
    circumstance: Circumstance = Circumstance.NONE

    @property
    def name(self) -> str:
        """As it is written, with the number of texts where it is not the usual one.

        >>> Scenario("poisonedrag", 5, Circumstance.NOISY).name
        'poisonedrag/noisy'
        """
        usual = not self.count or self.count == attack_named(self.attack).several
        texts = "" if usual else f"@m{self.count}"
        return f"{self.attack}{texts}" + (f"/{self.circumstance}" if self.circumstance else "")

    @property
    def clean(self) -> Clean | None:
        """What is complained about where nobody attacks; None under attack."""
        return Clean(self.attack) if self.attack in set(Clean) else None

    @property
    def family(self) -> Family:
        """What it is pooled with."""
        if self.clean:
            return Family.CLEAN
        if self.circumstance is Circumstance.NOISY:
            return Family.NOISY
        words = self.attack.split("-")
        if self.circumstance is Circumstance.CROWD or {"several", "rivals"} & set(words):
            return Family.SEVERAL
        varied = words[-1] in VARIATIONS or self.attack == "scorer-aware"
        return Family.ADAPTIVE if varied else Family.PLAIN


def parse_scenario(text: str) -> Scenario:
    """Read one scenario. Raises ConfigurationError.

    >>> parse_scenario("injection@m10/crowd").count
    10
    """
    if text in set(Clean):
        return Scenario(text)
    match = _SCENARIO.fullmatch(text)
    if match is None or match["circumstance"] not in {None, *Circumstance} - {""}:
        raise ConfigurationError(
            f"cannot read scenario {text!r}; write it like poisonedrag, injection@m10, "
            f"hijack/noisy, jamming/crowd, {', '.join(Clean)}, or a family: {', '.join(Family)}"
        )
    attack = attack_named(match["attack"])
    if attack.surface is not Surface.CORPUS:
        known = ", ".join(name for name, a in ATTACKS.items() if a.surface is Surface.CORPUS)
        raise ConfigurationError(f"{attack.name} attacks result lists; on a corpus: {known}")
    count = int(match["count"] or attack.several)
    return Scenario(attack.name, count, Circumstance(match["circumstance"] or ""))


def parse_scenarios(text: str) -> tuple[Scenario, ...]:
    """Read a list with commas; a family's name stands for its scenarios, `all` for all of them.

    >>> [s.name for s in parse_scenarios("poisonedrag,clean")][:2]
    ['poisonedrag', 'benign-errors']
    """
    every = [name for names in DEFAULTS.values() for name in names]
    names = expanded(text, {**DEFAULTS, ALL: every})
    if not names:
        raise ConfigurationError("no scenario to evaluate")
    return tuple(dict.fromkeys(map(parse_scenario, names)))


# RAGOrigin's sections 6.2 (black box), 6.4 with section 7's removals, multi-attacker and noise.
DEFAULTS: dict[str, tuple[str, ...]] = {
    Family.PLAIN: ("poisonedrag", "injection", "hijack", "jamming", "multihop"),
    Family.ADAPTIVE: (
        "scorer-aware",
        *(
            f"{attack}-{variation}"
            for attack in ("poisonedrag", "injection")
            for variation in ("benign", "mixed", "paraphrased", "removal")
        ),
    ),
    Family.SEVERAL: ("several", "injection-rivals", "injection/crowd"),
    Family.NOISY: ("poisonedrag/noisy", "injection/noisy"),
    Family.CLEAN: tuple(Clean),
}


@dataclass(frozen=True, slots=True)
class Staged:
    """One question under one scenario, before anything is asked.

    `corpus` is what is searched, `clean` the same before the attack. `poison` are the planted
    texts that work towards `labels.target`, `bystanders` all others that anybody planted.
    """

    scenario: Scenario
    query: Query
    labels: Labels
    clean: Corpus
    corpus: Corpus
    poison: tuple[str, ...] = ()
    bystanders: frozenset[str] = frozenset()

    def role(self, id_: str) -> Role:
        """What a text is to this question."""
        if id_ in self.poison:
            return Role.POISON
        return Role.BYSTANDER if id_ in self.bystanders else Role.BENIGN


def staged(scenario: Scenario, questions: Questions, k: int) -> Iterator[Staged | EventRow]:
    """Every question under the scenario, in order; the final row of one that cannot be attacked."""
    if scenario.clean:
        for snapshot in questions.asked:
            labels, corpus = snapshot.labels or Labels(), questions.corpus
            yield Staged(scenario, snapshot.query, labels, corpus, corpus)
        return
    attack, corpus = attack_named(scenario.attack), questions.corpus

    def attacked(snapshot: SearchSnapshot, corpus: Corpus) -> Corpus:
        aim = questions.aim(snapshot)
        return inject(corpus, attack, snapshot, count=scenario.count, aim=aim)

    crowd = scenario.circumstance is Circumstance.CROWD
    for snapshot in questions.asked if crowd else ():
        with suppress(UnattackableError):
            corpus = attacked(snapshot, corpus)
    for snapshot in questions.asked:
        try:
            own = corpus if crowd else attacked(snapshot, corpus)
            yield _on_one(attack, scenario, snapshot, questions, own)
        except UnattackableError as error:
            query, state = snapshot.query, CaseState.UNATTACKABLE
            yield EventRow(scenario.name, query.id, query.text, state, k, detail=str(error))


def _on_one(
    attack: Attack,
    scenario: Scenario,
    snapshot: SearchSnapshot,
    questions: Questions,
    corpus: Corpus,
) -> Staged:
    """One question on an attacked corpus. Raises UnattackableError where it was not attacked."""
    query = snapshot.query
    aim = questions.aim(snapshot)
    labels = attack.prepared(snapshot, aim)
    mine = next((i for i in corpus.injections if i.query_id == query.id), None)
    if mine is None:
        raise UnattackableError(f"{query.id} was not attacked")
    planted = {id_ for injection in corpus.injections for id_ in injection.added}
    rival = aim.elsewhere.target if aim.elsewhere else ""
    added = {e.id: e.document.text for e in corpus.entries if e.id in mine.added}
    poison = tuple(
        id_
        for id_, text in added.items()
        if not (rival and contains(text, rival)) or contains(text, mine.target)
    )
    return Staged(
        scenario=scenario,
        query=replace(query, text=attack.asked(query.text)),
        labels=labels,
        clean=questions.corpus,
        corpus=corpus,
        poison=poison,
        bystanders=frozenset(planted.difference(poison)),
    )
