"""Attributors on events: the scope that all share, their findings, and what removal changes."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from radarstream.defenses.attribution.scope import ScopeOptions, checked
from radarstream.defenses.protocol import Attributor, Request
from radarstream.lab.attacks.corpus import Corpus
from radarstream.lab.attribution.events import given_from, matched, retrieved
from radarstream.lab.attribution.rows import (
    After,
    AttributionRow,
    CaseState,
    EventRow,
)
from radarstream.lab.attribution.staging import Staged
from radarstream.lab.study.costs import ItemCosts, Ledger, Spending
from radarstream.lab.study.rows import error_words
from radarstream.lab.study.scoring import is_correct
from radarstream.pipelines.signals.fulfilment import attribute_all, drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import or_raise
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


def verified(rows: Sequence[EventRow], models: Models) -> list[EventRow]:
    """The rows with a judge's word where the complaint does not quote the answer literally.

    A judge that fails fails its row.
    """
    unclear = [row for row in rows if row.outcome is CaseState.EVENT and row.reproduced is None]
    asked = [
        matched(row.question, row.reported or "", AtomicAnswer(row.answer or "")) for row in unclear
    ]
    mended = {}
    for row, reproduced in zip(unclear, drive(asked, models), strict=True):
        mended[row.key] = replace(row, reproduced=reproduced is True)
        if isinstance(reproduced, ModelError):
            detail = error_words(reproduced)
            mended[row.key] = replace(row, outcome=CaseState.FAILED, texts=(), detail=detail)
    return [mended.get(row.key, row) for row in rows]


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
        row = replace(row_of(name, event), scope=own or scope, cost=tally.cost())
        if isinstance(outcome, ModelError):
            rows.append(replace(row, error=error_words(outcome)))
        else:
            rows.append(replace(row, attribution=outcome))
    return rows


def row_of(name: str, event: EventRow) -> AttributionRow:
    """The row of an attributor on an event, without what was found."""
    return AttributionRow(contender=name, condition=event.condition, query_id=event.query_id)


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
    sound = [(row, staged[row.query_id]) for row in rows if row.error is None]
    items = [item for _, item in sound]
    left = [retrieved(_without(i.corpus, r.flagged), i.query.text, models, k) for r, i in sound]
    given = given_from(items, left, models)
    same = drive(
        [
            matched(item.query.text, reported[item.query.id], answer)
            for item, (answer, _) in zip(items, given, strict=True)
        ],
        models,
    )
    found = {}
    for (row, item), (answer, win), persists in zip(sound, given, same, strict=True):
        try:
            found[row.key] = replace(row, after=after_of(answer, win, persists, item.labels))
        except ModelError as error:
            found[row.key] = replace(row, attribution=None, error=error_words(error))
    return [found.get(row.key, row) for row in rows]


def after_of(
    answer: AtomicAnswer | ModelError,
    attacked: bool | ModelError,
    persists: bool | ModelError,
    labels: Labels,
) -> After:
    """An answer and what it is worth. Raises the ModelError why nobody can tell."""
    text = or_raise(answer).text
    return After(text, or_raise(attacked), is_correct(text, labels), or_raise(persists))


def _without(corpus: Corpus, flagged: frozenset[str]) -> Corpus:
    kept = tuple(entry for entry in corpus.entries if entry.id not in flagged)
    return Corpus(kept, corpus.injections)
