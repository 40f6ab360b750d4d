"""From a user's question to a defended reply: Algorithm 3 of "Adaptive Defense Orchestration".

    account -> signals -> Sentinel -> Strategist -> hook A around the retrieval -> signals
            -> Sentinel -> Strategist -> hook B -> hook C -> round -> hook D -> trust

Many questions take each step together, so that they share calls of models; one that fails does so
alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from time import monotonic

from radarstream.connectors.models.response_cache import kept_for
from radarstream.pipelines.asking.answering import (
    answer,
    audit,
    choose,
    retrieve,
    retrieve_more,
    usable,
)
from radarstream.pipelines.asking.parts import Parts
from radarstream.pipelines.asking.planning import (
    checked,
    first_plans,
    recognised,
    second_plans,
    trust_after,
    worded,
)
from radarstream.pipelines.asking.values import (
    Drafted,
    Found,
    Origin,
    Planned,
    Replied,
    Reply,
    Tried,
    UserQuestion,
    each,
    in_groups,
    together,
)
from radarstream.pipelines.signals.claims import check_claims, read_claims
from radarstream.schemas.claims import Claim
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.orchestration import Module, Orchestration


class Answerer(Parts):
    """Answers questions of users. Thread-safe; holds no state but that of accounts and models."""

    def answer(self, question: UserQuestion) -> Reply:
        """Answer one question. Raises RadarstreamError."""
        (outcome,) = self.answer_all([question])
        if isinstance(outcome, RadarstreamError):
            raise outcome
        return outcome

    def answer_all(self, questions: Sequence[UserQuestion]) -> list[Tried[Reply]]:
        """Answer many questions in order; a reply that failed is an error in its place.

        The memory of a watched question is read, never written. Questions about own documents share
        calls and cached replies with those of the same user alone.
        """

        def of_one(user: str, group: list[UserQuestion]) -> list[Tried[Reply]]:
            with kept_for(user):
                return self._together(group)

        # Nobody else may know what is answered from a user's own documents.
        return in_groups(
            questions, lambda q: q.user if q.origin is Origin.DOCUMENTS else "", of_one
        )

    def _together(self, questions: Sequence[UserQuestion]) -> list[Tried[Reply]]:
        read = together(each(questions, worded), self._read)
        asked = together(each(read, checked), partial(recognised, self))
        planned = together(asked, partial(first_plans, self))
        answered = audit(self, self._settled(each(planned, partial(retrieve, self))))
        replies = [
            replied(outcome, trust_after(self, one, outcome)) if isinstance(one, Planned) else one
            for one, outcome in zip(planned, answered, strict=True)
        ]
        return together(replies, self._checked)

    def _read(self, questions: Sequence[UserQuestion]) -> list[Tried[UserQuestion]]:
        """The questions, of claims those that they answer."""
        known = {place: q for place, q in enumerate(questions) if q.is_claim}
        claims = read_claims(self.pipeline.models, [q.text for q in known.values()])
        read: list[Tried[UserQuestion]] = list(questions)
        for (place, question), claim in zip(known.items(), claims, strict=True):
            read[place] = (
                replace(question, text=claim.question, claim=claim)
                if isinstance(claim, Claim)
                else claim
            )
        return read

    def _checked(self, replies: Sequence[Reply]) -> list[Tried[Reply]]:
        """The replies, of claims with what became of them."""
        claims = {n: r.question.claim for n, r in enumerate(replies) if r.question.claim}
        pairs = [(claim, replies[place].event) for place, claim in claims.items()]
        checked: list[Tried[Reply]] = list(replies)
        for place, found in zip(claims, check_claims(self.pipeline.models, pairs), strict=True):
            checked[place] = (
                found
                if isinstance(found, RadarstreamError)
                else replace(replies[place], checked=found)
            )
        return checked

    def _settled(self, found: Sequence[Tried[Found]]) -> list[Tried[Drafted]]:
        """Answer, and again from more documents while those settle nothing, for half of the reading
        time. What fails then leaves the earlier answer.
        """
        until = monotonic() + self.settings.reading.most_seconds / 2
        drafts = self._drafted(found)
        while monotonic() < until:
            looked = enumerate(each(drafts, partial(retrieve_more, self)))
            more = {place: one for place, one in looked if isinstance(one, Found)}
            if not more:
                break
            again = self._drafted(list(more.values()))
            for place, one in zip(more, again, strict=True):
                drafts[place] = one if isinstance(one, Drafted) else drafts[place]
        return drafts

    def _drafted(self, found: Sequence[Tried[Found]]) -> list[Tried[Drafted]]:
        """Let modules choose among what was found, and answer."""
        chosen = together(usable(self, found), partial(second_plans, self))
        for module in (Module.TRUSTRAG, Module.ATTENTION):
            chosen = choose(self, module, chosen)
        return answer(self, chosen)


def replied(answered: Replied | RadarstreamError, trust_after: float) -> Reply | RadarstreamError:
    """What the user receives."""
    if isinstance(answered, RadarstreamError):
        return answered
    draft, found = answered.draft, answered.draft.found
    spent, left = found.epsilon or (0.0, None)
    return Reply(
        question=found.question,
        text=answered.audited.text,
        event=draft.event,
        documents=draft.documents,
        orchestration=Orchestration(
            plan=found.plan,
            before=found.planned.risk,
            after=found.risk,
            question_signals=found.seen.signals if found.seen else None,
            retrieval_signals=found.seen.retrieval if found.seen else None,
            trust=found.planned.asked.trust or 0.0,
            trust_after=trust_after,
            epsilon_spent=spent,
            epsilon_left=left,
            hooks=found.hooks,
            audit=answered.audited,
        ),
    )
