"""Decides from evidence and memory: verdict, support, and quotes with their pages."""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from radarstream.defenses.protocol import Defense, Relate
from radarstream.pipelines.round.values import Decided, Stage, charging
from radarstream.pipelines.signals.fulfilment import Failure, drive, fulfil, refusable
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.prompts import in_its_form
from radarstream.pipelines.signals.reading import ELLIPSIS
from radarstream.pipelines.signals.support import (
    Known,
    learn,
    means_the_same,
    overhearing,
    pairs_in,
    support_of,
    unknown_relations,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Quote
from radarstream.schemas.memory import StateT
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot
from radarstream.schemas.verdict import DocumentVerdict, Excerpt, Reason, Verdict

QUOTE_CHARACTERS = 400  # of a quote in an event
AROUND = 100  # characters before and after it
# How many of the sites that were read may lie, None if the defence counts no sites.
Rule = Callable[[Query], int | None]


def undefended_answers(
    baseline: Defense[None] | None, evidences: Sequence[Evidence], models: Models, costs: Costs
) -> list[str | None]:
    """Return the baseline's answer for each snapshot; None without one or after a failure."""
    if baseline is None:
        return [None] * len(evidences)
    with charging(Stage.UNDEFENDED, models, costs, evidences):
        outcomes = defended(baseline, [(e, None) for e in evidences], models, costs)
    return [o[0].answer if isinstance(o, tuple) else None for o in outcomes]


def decide(
    defense: Defense[StateT],
    items: Sequence[tuple[Evidence, StateT]],
    models: Models,
    costs: Costs,
    rule: Rule,
) -> list[Decided[StateT] | Failure]:
    """Run the defence on a snapshot of each query, in lockstep, and add the support."""
    known: list[Known] = [{} for _ in items]
    with charging(Stage.DEFENCE, models, costs, [evidence for evidence, _ in items]):
        outcomes = defended(defense, items, models, costs, known)
        return weighed([evidence for evidence, _ in items], outcomes, known, models, rule)


def defended(
    defense: Defense[StateT],
    items: Sequence[tuple[Evidence, StateT]],
    models: Models,
    costs: Costs,
    known: Sequence[Known] | None = None,
) -> list[tuple[Verdict, StateT] | Failure]:
    """Return the verdicts of a defence and the new states; its relations are added to `known`."""
    overheard: Sequence[Known] = [{} for _ in items] if known is None else known

    def in_one_form(
        part: Sequence[tuple[int, tuple[Evidence, StateT]]], asked: Models
    ) -> list[tuple[Verdict, StateT] | Failure]:
        defending = [
            costs.charged(
                place, overhearing(refusable(defense.defend(evidence, state)), overheard[place])
            )
            for place, (evidence, state) in part
        ]
        return drive(defending, costs.around(asked))

    return in_its_form(
        list(enumerate(items)), lambda item: item[1][0].query.long_form, in_one_form, models
    )


def weighed(
    evidences: Sequence[Evidence],
    outcomes: Sequence[tuple[Verdict, StateT] | Failure],
    known: Sequence[Known],
    models: Models,
    rule: Rule,
) -> list[Decided[StateT] | Failure]:
    """Add to each verdict its support, and whether the answer differs in meaning from the previous
    one. Relations that are not `known` are requested in one batch.
    """
    unclear: dict[int, Relate] = {}
    for place, (evidence, outcome) in enumerate(zip(evidences, outcomes, strict=True)):
        if isinstance(outcome, tuple):
            learn(evidence, outcome[0].weighed, known[place])
            if (request := unknown_relations(evidence, outcome[0], known[place])) is not None:
                unclear[place] = request
    failed: dict[int, ModelError] = {}
    for place, rows in fulfil(unclear, models).items():
        if isinstance(rows, ModelError):
            failed[place] = rows
        else:
            known[place].update(pairs_in(unclear[place], rows))
    return [
        failed[place]
        if place in failed
        else outcome
        if isinstance(outcome, Failure)
        else supported(evidence, *outcome, known[place], rule(evidence.query))
        for place, (evidence, outcome) in enumerate(zip(evidences, outcomes, strict=True))
    ]


def supported(
    evidence: Evidence, verdict: Verdict, state: StateT, known: Known, withstand: int | None
) -> Decided[StateT]:
    """Add the support to one verdict; all relations are `known`."""
    verdict = quoting(evidence, named_steering(evidence, verdict))
    answer, previous = verdict.weighed, verdict.memory.previous_answer
    if answer is None:
        return Decided(verdict, state, None, None)
    changed = None
    if previous is not None and not verdict.abstained:
        changed = not means_the_same(answer, previous, known)
    support = support_of(evidence, verdict, answer, known, withstand)
    return Decided(verdict, state, changed, support)


def named_steering(evidence: Evidence, verdict: Verdict) -> Verdict:
    """Mark rejected documents whose answer does not entail itself as STEERING."""
    if evidence.relations is None:
        return verdict
    itself = np.diagonal(evidence.relations.entailment) < 0.5
    ranks = {evidence.documents[evidence.informative[at]].rank for at in np.flatnonzero(itself)}
    documents = tuple(
        replace(d, reason=Reason.STEERING) if d.rank in ranks and not d.kept else d
        for d in verdict.documents
    )
    return replace(verdict, documents=documents) if ranks else verdict


def quoting(evidence: Evidence, verdict: Verdict) -> Verdict:
    """Add the quotes of the atomic answers to a verdict."""
    answers = dict(zip((d.rank for d in evidence.documents), evidence.answers or (), strict=False))
    passages = {document.rank: document.passage for document in evidence.documents}
    documents = tuple(
        quoted(d, answers[d.rank], passages[d.rank]) if d.rank in answers else d
        for d in verdict.documents
    )
    return replace(verdict, documents=documents)


def quoted(judged: DocumentVerdict, answer: AtomicAnswer, passage: str) -> DocumentVerdict:
    """Add the quote of its answer to a document, or the reason why it has none."""
    if answer.not_in_text and judged.reason is Reason.UNINFORMATIVE:
        return replace(judged, reason=Reason.NOT_IN_TEXT)
    if answer.abstained or answer.quote is None:
        return judged
    return replace(judged, quote=answer.quote, excerpt=excerpt_of(passage, answer.quote))


def excerpt_of(passage: str, quote: Quote) -> Excerpt:
    """Return a quote of at most `QUOTE_CHARACTERS`, with up to `AROUND` more on each side, in whole
    words.

    >>> excerpt_of("Peru is large. Its capital is Lima. It is old.", (15, 35))
    Excerpt(before='Peru is large. ', match='Its capital is Lima.', after=' It is old.')
    """
    start, end = quote
    end = min(end, start + QUOTE_CHARACTERS)
    before, after = passage[max(0, start - AROUND) : start], passage[end : end + AROUND]
    if start > AROUND:
        before = before[before.find(" ") + 1 :] or before
    if len(passage) > end + AROUND and (last := after.rfind(" ")) > 0:
        after = after[:last]
    return Excerpt(before, passage[start:end], after)


def with_unread(snapshot: SearchSnapshot, verdict: Verdict) -> Verdict:
    """Add the documents that were not read to a verdict."""
    judged = {document.rank for document in verdict.documents}
    unread = [
        DocumentVerdict(document.rank, kept=False, reason=Reason.NOT_READ)
        for document in snapshot.documents
        if document.rank not in judged
    ]
    if not unread:
        return verdict
    documents = sorted((*verdict.documents, *unread), key=lambda document: document.rank)
    return replace(verdict, documents=tuple(documents))


def with_pages(verdict: Verdict, snapshot: SearchSnapshot, read: Sequence[Document]) -> Verdict:
    """Add the page of each quote to a verdict; `read` are the documents as a model read them."""
    as_read = {document.rank: document for document in read}
    whole = {d.rank: d for d in snapshot.documents if d.pages and d.rank in as_read}
    documents = tuple(
        replace(d, page=page_of(whole[d.rank], as_read[d.rank], d.quote))
        if d.quote is not None and d.rank in whole
        else d
        for d in verdict.documents
    )
    return replace(verdict, documents=documents) if whole else verdict


def page_of(document: Document, read: Document, quote: Quote) -> int | None:
    """Return the page, from 1, of a quote in a document as it was `read`: whole or in parts.

    None for a quote in the title.
    """
    start = quote[0] - (len(read.passage) - len(read.text))
    if start < 0:
        return None
    end = read.text.find(ELLIPSIS, start)
    part = read.text[: None if end < 0 else end].rpartition(ELLIPSIS)[2]
    place = document.text.find(part)
    if place < 0:
        return None
    within = start - ((len(read.text) if end < 0 else end) - len(part))
    return max(1, bisect_right(document.pages or (), place + within))
