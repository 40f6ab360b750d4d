"""Scenarios carried out: the corpus that every question of a data set is answered from.

Each question is attacked in a copy of the clean corpus of its own, unless the scenario is a crowd.
No model is asked here; what a question cannot be attacked with is said instead.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from radarstream.lab.attacks.corpus import Corpus, inject
from radarstream.lab.attacks.protocol import Attack, UnattackableError
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attacks.registry import attack_named
from radarstream.lab.attribution.rows import CaseState, EventRow, Role
from radarstream.lab.attribution.scenarios import Circumstance, Scenario
from radarstream.schemas.answer_text import contains
from radarstream.schemas.snapshot import Labels, Query, SearchSnapshot


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
    crowd = scenario.circumstance is Circumstance.CROWD
    if crowd:
        for snapshot in questions.asked:
            with suppress(UnattackableError):
                corpus = _attacked(attack, scenario.count, snapshot, questions, corpus)
    for snapshot in questions.asked:
        try:
            own = corpus
            if not crowd:
                own = _attacked(attack, scenario.count, snapshot, questions, corpus)
            yield _on_one(attack, scenario, snapshot, questions, own)
        except UnattackableError as error:
            query, state = snapshot.query, CaseState.UNATTACKABLE
            yield EventRow(scenario.name, query.id, query.text, state, k, detail=str(error))


def _attacked(
    attack: Attack, count: int, snapshot: SearchSnapshot, questions: Questions, corpus: Corpus
) -> Corpus:
    return inject(corpus, attack, snapshot, count=count, aim=questions.aim(snapshot))


def _on_one(
    attack: Attack,
    scenario: Scenario,
    snapshot: SearchSnapshot,
    questions: Questions,
    corpus: Corpus,
) -> Staged:
    """One question on an attacked corpus. Raises UnattackableError where it was not attacked."""
    query = snapshot.query
    labels, aim = attack.prepared(snapshot, questions.aim(snapshot))
    mine = next((i for i in corpus.injections if i.query_id == query.id), None)
    if mine is None:
        raise UnattackableError(f"{query.id} was not attacked")
    planted = {id_ for injection in corpus.injections for id_ in injection.added}
    rival = aim.elsewhere.target if aim.elsewhere else ""
    poison = tuple(
        entry.id
        for entry in corpus.entries
        if entry.id in mine.added and not _works_for(rival, mine.target, entry.document.text)
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


def _works_for(rival: str, target: str, text: str) -> bool:
    """Whether a text names the rival's target and not one's own."""
    return bool(rival) and contains(text, rival) and not contains(text, target)
