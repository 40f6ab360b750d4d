"""The generation and hook D: the round goes on from what is left, and its answer is audited."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

from radarstream.defenses.orchestration.audit import OutputAudit
from radarstream.pipelines.asking.parts import Parts, Prompting, Variant
from radarstream.pipelines.asking.steps import each, in_groups, together
from radarstream.pipelines.asking.values import NOT_ASKED, Drafted, Found, Replied
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.memory import Memory
from radarstream.schemas.orchestration import Audited, Module

ONLY_WRITTEN: Final = "what it found is only written down"


def answer(
    parts: Parts, found: Sequence[Found | RadarstreamError]
) -> list[Drafted | RadarstreamError]:
    """Answer each question, with hook C's guardrail where the plan has it."""
    noted = each(found, with_guardrail)
    return drafted(parts, noted, lambda f: "guarded" if f.plan.guardrail.enabled else "plain")


def audit(
    parts: Parts, drafts: Sequence[Drafted | RadarstreamError]
) -> list[Replied | RadarstreamError]:
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
    parts: Parts, found: Sequence[Found | RadarstreamError], prompting: Callable[[Found], Prompting]
) -> list[Drafted | RadarstreamError]:
    """Let each pipeline answer all that it is asked at once."""

    def key_of(one: Found) -> Variant:
        return one.question.defense, one.wanted, prompting(one)

    def step(key: Variant, some: list[Found]) -> list[Drafted | RadarstreamError]:
        pipeline = parts.variant(*key)
        known = each(some, lambda one: (one, one.planned.asked.known.memory(pipeline)))
        return together(known, partial(decided, pipeline))

    return together(found, lambda some: in_groups(some, key_of, step))


def decided(
    pipeline: DefensePipeline[Any], known: Sequence[tuple[Found, Memory[Any]]]
) -> list[Drafted | RadarstreamError]:
    """Let the round go on from what is left, among which a reranker chooses."""
    items = [(one.observed if pipeline.reranker else one.best, memory) for one, memory in known]
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
