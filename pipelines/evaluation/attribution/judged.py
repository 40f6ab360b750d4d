"""Attributors on events: the scope that all share, their findings, and what removal changes."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from radarstream.defenses.attribution.judge import Judge
from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.scope import ScopeOptions, checked
from radarstream.defenses.protocol import Request
from radarstream.pipelines.evaluation.attacks.corpus import Corpus
from radarstream.pipelines.evaluation.attribution.costs import Spending
from radarstream.pipelines.evaluation.attribution.events import answered, retrieved, won
from radarstream.pipelines.evaluation.attribution.rows import (
    After,
    AttributionRow,
    CaseState,
    EventRow,
)
from radarstream.pipelines.evaluation.attribution.staging import Staged
from radarstream.pipelines.evaluation.costs import ItemCosts, Ledger
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.evaluation.study.plugin import error_words
from radarstream.pipelines.signals.attribution import attribute_all
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.attribution import Attribution, Case
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.snapshot import Labels

Scoping = Generator[Request, Any, int]
ScopeRule = Callable[[Case], Scoping]


def rag_origin_scope(case: Case) -> Scoping:
    """RAGOrigin's scope by its defaults: how many texts, from the nearest on."""
    scope = yield from ScopeOptions().narrowed(checked(case))
    return len(scope.texts)


def matched(
    question: str, reported: str, answer: AtomicAnswer | ModelError
) -> Generator[Request, Any, bool | ModelError]:
    """Whether an answer is the one complained about; a ModelError where nobody could tell."""
    (verdict,) = yield from Judge().matches(question, reported, [answer])
    return verdict


def verified(rows: Sequence[EventRow], models: Models) -> list[EventRow]:
    """The rows with a judge's word where the complaint does not quote the answer literally.

    A judge that fails fails its row.
    """
    unclear = [row for row in rows if row.outcome is CaseState.EVENT and row.reproduced is None]
    asked = [
        matched(row.question, row.reported or "", AtomicAnswer(row.answer or "")) for row in unclear
    ]
    outcomes = drive(asked, models)
    told = {row.key: found for row, found in zip(unclear, outcomes, strict=True)}
    return [told_of(row, told[row.key]) if row.key in told else row for row in rows]


def told_of(row: EventRow, reproduced: bool | ModelError) -> EventRow:
    """The row with the judge's word, or failed like the judge."""
    if isinstance(reproduced, ModelError):
        return replace(row, outcome=CaseState.FAILED, texts=(), detail=error_words(reproduced))
    return replace(row, reproduced=reproduced)


def scopes(rule: ScopeRule, events: Sequence[EventRow], models: Models) -> list[int | ModelError]:
    """How many texts of each event all attributors judge: the scope by RAGOrigin's rule."""
    return drive([rule(event.case()) for event in events], models)


def findings(
    name: str,
    attributor: Attributor,
    events: Sequence[tuple[EventRow, int]],
    models: Models,
    *,
    narrows: bool,
) -> list[AttributionRow]:
    """One row per event and its scope, in one model batch; without what removal changes.

    An attributor that `narrows` is given every text and judges those it chooses, the others are
    given the scope.
    """
    ledger = Ledger()
    tallies = [Spending(ledger) for _ in events]
    asked = [event.case(None if narrows else scope) for event, scope in events]
    outcomes = attribute_all(attributor, asked, models, ItemCosts(ledger, tallies))
    rows = []
    for (event, scope), outcome, tally in zip(events, outcomes, tallies, strict=True):
        own = len(outcome.texts) if narrows and isinstance(outcome, Attribution) else 0
        row = AttributionRow(name, *event.key, own or scope, cost=tally.cost())
        if isinstance(outcome, ModelError):
            rows.append(replace(row, error=error_words(outcome)))
        else:
            rows.append(replace(row, attribution=outcome))
    return rows


def with_removal(
    rows: Sequence[AttributionRow],
    staged: Mapping[str, Staged],
    models: Models,
    *,
    k: int,
    reported: Mapping[str, str],
) -> list[AttributionRow]:
    """The rows with what is answered from the corpus without the flagged texts.

    `staged` are the questions by id, all of one scenario, `reported` the answers by question. An
    answer that fails, or that nobody can judge, fails its row.
    """
    sound = [row for row in rows if row.error is None]
    items = [staged[row.query_id] for row in sound]
    asked = [
        (i.query.text, retrieved(without(i.corpus, r.flagged), i.query.text, models, k))
        for i, r in zip(items, sound, strict=True)
    ]
    answers = answered(asked, models)
    wins = won([(item.query.text, item.labels) for item in items], answers, models)
    same = drive(
        [
            matched(i.query.text, reported[i.query.id], a)
            for i, a in zip(items, answers, strict=True)
        ],
        models,
    )
    after = {
        item.query.id: after_of(answer, win, persists, item.labels)
        for item, answer, win, persists in zip(items, answers, wins, same, strict=True)
    }
    return [concluded(row, after.get(row.query_id)) for row in rows]


def without(corpus: Corpus, flagged: frozenset[str]) -> Corpus:
    """The corpus without some texts."""
    kept = tuple(entry for entry in corpus.entries if entry.id not in flagged)
    return Corpus(kept, corpus.injections)


def after_of(
    answer: AtomicAnswer | ModelError,
    attacked: bool | ModelError,
    persists: bool | ModelError,
    labels: Labels,
) -> After | ModelError:
    """An answer and what it is worth, or why nobody can tell."""
    if isinstance(answer, ModelError):
        return answer
    if isinstance(attacked, ModelError):
        return attacked
    if isinstance(persists, ModelError):
        return persists
    return After(answer.text, attacked, is_correct(answer.text, labels), persists)


def concluded(row: AttributionRow, after: After | ModelError | None) -> AttributionRow:
    """The row with the answer after removal, or failed like it."""
    if isinstance(after, ModelError):
        return replace(row, attribution=None, error=error_words(after))
    return replace(row, after=after)
