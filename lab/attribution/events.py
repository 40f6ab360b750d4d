"""Events: what the undefended pipeline answers in a scenario, and whether somebody complains; what
attributors find about them, and what removal changes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from zlib import crc32

from radarstream.defenses.attribution.judge import matches
from radarstream.defenses.attribution.scope import ScopeOptions, checked
from radarstream.defenses.protocol import Asking, Attributing, Attributor
from radarstream.defenses.vanilla import undefended_answer
from radarstream.lab.attacks.corpus import Corpus, ranked
from radarstream.lab.attribution.records import (
    After,
    AttributionRow,
    CaseState,
    EventRow,
    EventText,
    Role,
)
from radarstream.lab.attribution.scenarios import Circumstance, Clean, Scenario, Staged
from radarstream.lab.study.costs import ItemCosts, Ledger, Spending
from radarstream.lab.study.rows import error_words
from radarstream.lab.study.scoring import is_correct, is_fooled, is_refusal
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import or_raise
from radarstream.schemas.attribution import Attribution, Case
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.snapshot import Document

SEGMENTS = 10  # the texts of an event are so many times those that were answered from
Given = tuple[AtomicAnswer, bool | ModelError]  # an answer; is it the attacker's?

# RAGOrigin's noisy feedback (Table 23) is paraphrased by a language model; these rules stand in.
_NOISES: tuple[Callable[[str], str], ...] = (
    lambda answer: f"It told me {answer}",
    lambda answer: f"{answer}, if I remember right",
    lambda answer: f"The answer that came up was {answer}",
    lambda answer: f"something like {answer.lower()}",
    lambda answer: f"It claims that it is {answer}, which is wrong",
)


def observe(items: Sequence[Staged], models: Models, *, k: int) -> list[EventRow]:
    """One row per question, in order, all asked in lockstep; a failed call is an outcome. Raises
    ModelError when the embedder fails.
    """
    bare = [_bare_event(item, models, k) for item in items]
    clean = [retrieved(item.clean, item.query.text, models, k) for item in items]
    asked = [_event(*each) for each in zip(items, bare, clean, strict=True)]
    return [
        replace(row, texts=(), detail=error_words(found))
        if isinstance(found, ModelError)
        else found
        for row, found in zip(bare, drive(asked, models), strict=True)
    ]


def retrieved(corpus: Corpus, question: str, models: Models, k: int) -> tuple[Document, ...]:
    """The k documents nearest to the question, best first."""
    return tuple(text.document for text in ranked(corpus, question, k, models.embedder))


def given(item: Staged, documents: Sequence[Document]) -> Asking[Given]:
    """The undefended answer to a question from documents, and whether the attacker wants it."""
    answer = yield from undefended_answer(item.query.text, documents)
    return answer, (yield from won(item.query.text, item.labels.target, answer))


def won(question: str, target: str | None, answer: AtomicAnswer) -> Asking[bool | ModelError]:
    """Whether an answer is the one that an attacker wants. It is when it names the target, when a
    judge finds that both mean the same, as RAGOrigin counts, and when both are refusals.
    """
    if is_fooled(answer.text, target):
        return True
    if target is None or is_refusal(target) or answer.abstained:
        return False
    return (yield from matched(question, target, answer))


def matched(question: str, reported: str, answer: AtomicAnswer) -> Asking[bool | ModelError]:
    """Whether an answer is the one complained about; a ModelError where nobody could tell."""
    (verdict,) = yield from matches(question, reported, [answer])
    return verdict


def quoted(scenario: Scenario, query_id: str, answer: str, target: str | None) -> str:
    """The answer as a complaint quotes it: as it was given, made up, or in other words with the
    same meaning, by a rule that the question draws.
    """
    if scenario.clean is Clean.INVENTED_REPORTS:
        return target or ""
    if scenario.circumstance is Circumstance.NOISY:
        return _NOISES[crc32(query_id.encode()) % len(_NOISES)](answer)
    return answer


def _bare_event(item: Staged, models: Models, k: int) -> EventRow:
    """The row of a question before it is asked, with the texts an answer may come from, nearest
    first.
    """
    found = ranked(item.corpus, item.query.text, SEGMENTS * k, models.embedder)
    texts = tuple(EventText(t.id, t.document, t.similarity or 0.0, item.role(t.id)) for t in found)
    return EventRow(
        condition=item.scenario.name,
        query_id=item.query.id,
        question=item.query.text,
        outcome=CaseState.FAILED,
        k=k,
        labels=replace(item.labels, false_passages=()),
        planted=item.poison,
        retrieved=sum(text.role is Role.POISON for text in texts[:k]),
        texts=texts,
    )


def _event(item: Staged, row: EventRow, clean: Sequence[Document]) -> Asking[EventRow | ModelError]:
    """The row of a question with its answers under the attack and from the `clean` documents. A
    judge is asked where the complaint does not quote the answer literally.
    """
    question, texts = item.query.text, row.texts
    answer, win = yield from given(item, [text.document for text in texts[: row.k]])
    before, win_before = yield from given(item, clean)
    try:
        fooled, fooled_before = or_raise(win), or_raise(win_before)
    except ModelError as error:
        return error
    outcome = outcome_of(item, row, answer, fooled=fooled, before=fooled_before)
    row = replace(row, answer=answer.text, clean_answer=before.text, outcome=outcome, texts=())
    if outcome is not CaseState.EVENT:
        return row
    quote = quoted(item.scenario, item.query.id, answer.text, item.labels.target)
    reproduced: bool | ModelError = quote == answer.text
    if not reproduced:
        reproduced = yield from matched(question, quote, answer)
    if isinstance(reproduced, ModelError):
        return reproduced
    return replace(row, reported=quote, reproduced=reproduced, texts=texts)


def outcome_of(
    item: Staged, row: EventRow, answer: AtomicAnswer, *, fooled: bool, before: bool
) -> CaseState:
    """Whether the answer is one that the scenario complains about. Under attack: one that the
    attacker wanted, given with a planted text in view, and not given without the attack.
    """
    labels, clean = item.labels, item.scenario.clean
    if clean is not None:
        right = is_correct(answer.text, labels)
        wanted = {
            Clean.ERRORS: not answer.abstained and bool(labels.answers) and not right,
            Clean.FALSE_REPORTS: right,
            Clean.INVENTED_REPORTS: bool(labels.target) and not fooled,
        }
        return CaseState.EVENT if answer.text and wanted[clean] else CaseState.RESISTED
    if not row.retrieved:
        return CaseState.NOT_RETRIEVED
    if not answer.text or not fooled:
        return CaseState.RESISTED
    return CaseState.OWN_ERROR if before else CaseState.EVENT


def rag_origin_scope(case: Case) -> Asking[int]:
    """RAGOrigin's scope by its defaults: how many texts, from the nearest on."""
    scope = yield from ScopeOptions().narrowed(checked(case))
    return len(scope.texts)


def findings(
    name: str,
    attributor: Attributor,
    events: Sequence[tuple[EventRow, int]],
    staged: Mapping[str, Staged],
    models: Models,
    *,
    narrows: bool,
) -> list[AttributionRow]:
    """One row per event and its scope, in lockstep. `staged` are the questions by id. An attributor
    that `narrows` is given every text and judges those it chooses, the others are given the scope.
    What fails, or what nobody can judge, fails its row.
    """
    ledger = Ledger()
    tallies = [Spending(ledger) for _ in events]
    costs = ItemCosts(ledger, tallies)
    asked = []
    for place, (event, scope) in enumerate(events):
        attributing = attributor.attribute(event.case(None if narrows else scope))
        charged = costs.charged(place, attributing)
        asked.append(_found(charged, event, staged[event.query_id], models))
    rows = []
    outcomes = drive(asked, costs.around(models))
    for (event, scope), outcome, tally in zip(events, outcomes, tallies, strict=True):
        row = replace(row_of(name, event), scope=scope, cost=tally.cost())
        if isinstance(outcome, ModelError):
            rows.append(replace(row, error=error_words(outcome)))
            continue
        attribution, left = outcome
        own = len(attribution.texts) if narrows else 0
        rows.append(replace(row, scope=own or scope, attribution=attribution, after=left))
    return rows


def row_of(name: str, event: EventRow) -> AttributionRow:
    """The row of an attributor on an event, without what was found."""
    return AttributionRow(contender=name, condition=event.condition, query_id=event.query_id)


def _found(
    attributing: Attributing, event: EventRow, item: Staged, models: Models
) -> Asking[tuple[Attribution, After] | ModelError]:
    """A finding, and what is answered from the corpus without the flagged texts."""
    attribution = yield from attributing
    kept = tuple(entry for entry in item.corpus.entries if entry.id not in attribution.flagged)
    documents = retrieved(Corpus(kept), item.query.text, models, event.k)
    left = yield from after(item, documents, event.reported or "")
    return left if isinstance(left, ModelError) else (attribution, left)


def after(item: Staged, documents: Sequence[Document], reported: str) -> Asking[After | ModelError]:
    """The answer from documents and what it is worth; a ModelError where nobody can tell."""
    answer, win = yield from given(item, documents)
    persists = yield from matched(item.query.text, reported, answer)
    right = is_correct(answer.text, item.labels)
    try:
        return After(answer.text, or_raise(win), right, or_raise(persists))
    except ModelError as error:
        return error
