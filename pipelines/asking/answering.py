"""From a question to its audited answer: the retrieval, hooks A, B and C, at which modules of the
plan choose documents, the round, and hook D, which audits the answer.
"""

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Final

from radarstream.defenses.orchestration.audit import OutputAudit
from radarstream.pipelines.asking.parts import CHOOSING, Options, Parts, Prompting, Variant
from radarstream.pipelines.asking.values import (
    NOT_ASKED,
    Drafted,
    Found,
    Origin,
    Planned,
    Replied,
    Tried,
    each,
    in_groups,
    together,
)
from radarstream.pipelines.round.gathering import leave_out
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Observed
from radarstream.pipelines.searching import answers_in
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.reranking import rerank
from radarstream.schemas import errors
from radarstream.schemas.memory import Memory
from radarstream.schemas.orchestration import Audited, Module, Plan
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.searching import FURTHER_DOCUMENTS
from radarstream.schemas.verdict import Reason

CANDIDATES: Final = 3  # times the wanted documents are looked at where a module chooses
CORPUS: Final = "corpus"  # the name of the one corpus that there is, in accounts
# A filter may keep all: how many documents the answer rests on is decided after it.
ALL: Final = 10_000
PUBLIC: Final = {
    Origin.DOCUMENTS: "the user's own documents are no secret from the user",
    Origin.SEARCH: "the web is no secret",
}
RENAMED: Final = {"rouge_threshold": "overlap_threshold"}


def usable(parts: Parts, found: Sequence[Tried[Found]]) -> list[Tried[Found]]:
    """Leave out the documents that no model may see, and apply hook A."""

    def without_withheld(some: Sequence[Found]) -> list[Found]:
        observed = parts.pipeline.withhold([one.snapshot for one in some])
        return [replace(one, observed=o) for one, o in zip(some, observed, strict=True)]

    found = choose(parts, Module.PRIVACY, together(found, without_withheld))
    return each(found, lambda one: private(one) if one.epsilon else one)


def retrieve(parts: Parts, planned: Planned) -> Found:
    """The documents of a question, more than wanted where a module may drop some (of a search,
    which costs, only where one is known to). Noise is paid before, also for a retrieval that fails.
    """
    question = planned.asked.question
    private = not why_not(Module.PRIVACY, planned.plan, question.origin)
    epsilon = paid(parts, planned) if private else None
    retriever = parts.retrievers.get(question.origin)
    if retriever is None:
        raise errors.InputError(errors.ReasonClass.OUT_OF_RANGE, f"no {question.origin} to ask")
    reserve = parts.must_act if question.origin is Origin.SEARCH else parts.may_act
    finding = retriever(question, candidates(question.wanted, reserve))
    known = planned.asked.known
    at = known.seen_at(question.asked_at)
    return Found(
        planned=planned,
        finding=finding,
        wanted=question.wanted,
        observed=Observed(replace(next(finding), query=known.query, observed_at=at)),
        seen=planned.asked.seen,
        risk=planned.risk,
        plan=planned.plan,
        epsilon=epsilon,
    )


def retrieve_more(parts: Parts, draft: Drafted) -> Found | None:
    """The documents of a question that those before did not settle, those in reserve first. None
    where it is settled, where there are no more, and after noisy retrievals.
    """
    found, planned, reading = draft.found, draft.found.planned, parts.settings.reading
    steps = FURTHER_DOCUMENTS * reading.further_searches
    enough = found.wanted >= min(reading.most_documents, found.question.wanted + steps)
    if enough or not draft.event.wanted_more or found.epsilon is not None:
        return None
    left_out = (document for document, _ in found.observed.left_out)
    more = replace(found.snapshot, documents=(*found.snapshot.documents, *left_out))
    if len(found.snapshot.documents) <= found.wanted:
        try:
            latest = found.finding.send(answers_in(draft.event))
        except StopIteration:
            return None
        more = replace(latest, query=more.query, observed_at=more.observed_at)
    return replace(
        found,
        wanted=found.wanted + FURTHER_DOCUMENTS,
        observed=Observed(more),
        seen=planned.asked.seen,
        risk=planned.risk,
        plan=planned.plan,
        hooks=(),
    )


def paid(parts: Parts, planned: Planned) -> tuple[float, float]:
    """Take the epsilon of a threshold from the user's budget; what is taken and what is left."""
    user, epsilon = planned.asked.question.user, planned.plan.differential_privacy.epsilon
    budget = parts.settings.orchestration.epsilon_budget
    try:
        enough = parts.accounts.spend(user, CORPUS, epsilon, budget)
        spent = parts.accounts.spent(user, CORPUS)
    except Exception as error:
        raise errors.DatabaseUnavailableError("the epsilon budget is not known") from error
    if not enough:
        raise errors.BudgetSpentError(
            f"the epsilon budget of this user for the corpus is spent: {epsilon:g} of "
            f"{budget:g} is not left; own documents and the web can still be asked"
        )
    return epsilon, max(0.0, budget - spent)


def choose(parts: Parts, module: Module, found: Sequence[Tried[Found]]) -> list[Tried[Found]]:
    """Let one module choose; questions with the same options share calls of models."""

    def key_of(one: Found) -> tuple[str, int, str]:
        if why := why_not(module, one.plan, one.question.origin):
            return why, ALL, ""
        options = options_of(one.plan, module)
        if module is not Module.PRIVACY:
            return "", ALL, json.dumps(options)
        return "", one.wanted, json.dumps(options | {"seed": parts.seed(one.question)})

    def step(key: tuple[str, int, str], some: list[Found]) -> list[Tried[Found]]:
        why, keep, options = key
        if not why:
            return applied(parts, module, keep, json.loads(options), some)
        return [
            one.noting(module, {}, len(one.snapshot.documents), why, acted=False) for one in some
        ]

    return together(found, lambda some: in_groups(some, key_of, step))


def why_not(module: Module, plan: Plan, origin: Origin) -> str:
    """Why a module that chooses does not act; empty where it does."""
    if not getattr(plan, module.value).enabled:
        return NOT_ASKED
    return PUBLIC.get(origin, "") if module is Module.PRIVACY else ""


def options_of(plan: Plan, module: Module) -> Options:
    """The options of a module in a plan, as its retrieval defence names them."""
    options = asdict(getattr(plan, module.value))
    return {RENAMED.get(name, name): v for name, v in options.items() if name != "enabled"}


def applied(
    parts: Parts, module: Module, keep: int, options: Options, found: Sequence[Found]
) -> list[Tried[Found]]:
    """Let the retrieval defence of a module choose."""
    method = parts.methods(module, options)
    shown = [one.snapshot for one in found]
    outcomes = rerank(method, keep, shown, parts.pipeline.models, parts.pipeline.meter)
    noted = {name: value for name, value in options.items() if name != "seed"}
    return [
        outcome
        if isinstance(outcome, Failure)
        else without_dropped(one, outcome.reranking).noting(
            module, noted, len(one.snapshot.documents), "", acted=True
        )
        for one, outcome in zip(found, outcomes, strict=True)
    ]


def without_dropped(found: Found, reranking: Reranking | None) -> Found:
    """Without what a retrieval defence dropped. Ranks and order stay."""
    dropped = () if reranking is None else reranking.dropped
    why = {c.found_rank: c.reason or Reason.OUTRANKED for c in dropped}
    gone = [(d, why[d.rank]) for d in found.snapshot.documents if d.rank in why]
    return replace(found, observed=leave_out(found.observed, gone))


def private(found: Found) -> Found:
    """As if nothing else had been found: no trace of what the noise kept out, ranks from 1."""
    kept = enumerate(found.snapshot.documents, start=1)
    documents = tuple(replace(document, rank=rank) for rank, document in kept)
    return replace(found, observed=Observed(replace(found.snapshot, documents=documents)))


def candidates(wanted: int, may_act: Collection[Module]) -> int:
    """How many documents are looked for: more than wanted where a module may drop some."""
    return wanted * CANDIDATES if set(may_act) & set(CHOOSING) else wanted


ONLY_WRITTEN: Final = "what it found is only written down"


def answer(parts: Parts, found: Sequence[Tried[Found]]) -> list[Tried[Drafted]]:
    """Answer each question, with hook C's guardrail where the plan has it."""
    noted = each(found, with_guardrail)
    return drafted(parts, noted, lambda f: "guarded" if f.plan.guardrail.enabled else "plain")


def audit(parts: Parts, drafts: Sequence[Tried[Drafted]]) -> list[Tried[Replied]]:
    """Audit each answer."""
    answered = each(drafts, partial(audited_by, parts.auditors[0]))
    return each(together(answered, partial(answer_again, parts)), with_audit)


def with_guardrail(found: Found) -> Found:
    """With the record of the guardrail."""
    on, count = found.plan.guardrail.enabled, len(found.snapshot.documents)
    return found.noting(Module.GUARDRAIL, {}, count, "" if on else NOT_ASKED, acted=on)


def answer_again(parts: Parts, answered: Sequence[Replied]) -> list[Replied]:
    """Ask once more for answers that quote, and told not to; what still does is masked."""
    unfit = [one for one in answered if one.audited.action == "regenerate"]
    drafts = drafted(parts, [one.draft.found for one in unfit], lambda _: "unquoting")
    again = {
        id(one): audited_by(parts.auditors[1], draft if isinstance(draft, Drafted) else one.draft)
        for one, draft in zip(unfit, drafts, strict=True)
    }
    return [again.get(id(one), one) for one in answered]


def drafted(
    parts: Parts, found: Sequence[Tried[Found]], prompting: Callable[[Found], Prompting]
) -> list[Tried[Drafted]]:
    """Let each pipeline answer all that it is asked at once."""

    def key_of(one: Found) -> Variant:
        return one.question.defense, one.wanted, prompting(one)

    def step(key: Variant, some: list[Found]) -> list[Tried[Drafted]]:
        pipeline = parts.variant(*key)
        known = each(some, lambda one: (one, one.planned.asked.known.memory(pipeline)))
        return together(known, partial(decided, pipeline))

    return together(found, lambda some: in_groups(some, key_of, step))


def decided(
    pipeline: DefensePipeline[Any], known: Sequence[tuple[Found, Memory[Any]]]
) -> list[Tried[Drafted]]:
    """Let the round go on from what is left, among which a reranker chooses."""
    items = [
        (replace(one.observed if pipeline.reranker else one.best, trace=one.question.trace), memory)
        for one, memory in known
    ]
    return [
        outcome if isinstance(outcome, Failure) else Drafted(found, outcome)
        for (found, _), outcome in zip(known, pipeline.finish(items), strict=True)
    ]


def audited_by(auditor: OutputAudit, draft: Drafted) -> Replied:
    """Check the answer. Where the plan only writes down, the answer stays as it is."""
    event, plan = draft.event, draft.found.plan.output_audit
    if not plan.enabled:
        return Replied(draft, Audited("pass", event.answer))
    abstained = event.abstention is not None
    shown = [document.passage for document in draft.concluded.chosen.snapshot.documents]
    found = auditor.audit(event.answer, shown, event.question, abstained=abstained)
    if plan.mode == "log":
        found = replace(found, action="pass", text=event.answer)
    return Replied(draft, found)


def with_audit(answered: Replied) -> Replied:
    """With the record of what hook D did."""
    found, audited = answered.draft.found, answered.audited
    plan, acted = found.plan.output_audit, Module.AUDIT in found.plan.active
    why = audited.action if acted else ONLY_WRITTEN if plan.enabled else NOT_ASKED
    parameters = {"mode": plan.mode, "findings": len(audited.findings)}
    count = len(found.snapshot.documents)
    noted = found.noting(Module.AUDIT, parameters, count, why, acted=acted)
    return replace(answered, draft=replace(answered.draft, found=noted))
