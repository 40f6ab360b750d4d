"""Streams of questions through the service's own answerer, one question after another."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Final

from sqlalchemy import Engine

from radarstream.connectors.models.wrapping import Call, Method, Replies
from radarstream.lab.attacks.service.protocol import Stream
from radarstream.lab.service.policies import Policy
from radarstream.lab.service.rows import AskRow, Planned, ReplyRow
from radarstream.lab.service.worlds import Searcher
from radarstream.lab.study.rows import Cost, PassageRow, error_words
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.building import build_answerer, build_control
from radarstream.pipelines.asking.retrievers import found_for
from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.pipelines.searching import Finding
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import BudgetSpentError, RadarstreamError
from radarstream.schemas.prompt import Completion
from radarstream.schemas.verdict import Reason

BEGINNING: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)  # of every stream


@dataclass
class Tally:
    """What a question asks of the models, and how long that took when it was not yet cached."""

    calls: int = 0
    forwards: int = 0
    embeddings: int = 0
    pairs: int = 0
    saved: float = 0.0

    def begin(self) -> None:
        """Count from nothing: another question begins."""
        self.calls = self.forwards = self.embeddings = self.pairs = 0
        self.saved = 0.0

    def note(self, call: Call) -> Replies:
        """Pass a call on and count it. Raises ModelError like the model."""
        started = perf_counter()
        replies = call.ask()
        took, asked = perf_counter() - started, len(call.requests)
        match call.method:
            case Method.COMPLETE:
                self.calls += asked
                made = sum(one.seconds for one in replies if isinstance(one, Completion))
                self.saved += max(0.0, made - took)
            case Method.LOG_PROBS:
                self.forwards += sum(len(query.prompts) for query in call.requests)
            case Method.EMBED:
                self.embeddings += asked
            case Method.PROBABILITIES:
                self.pairs += asked
        return replies

    def cost(self, seconds: float) -> Cost:
        """The counts and the time of the question that is done."""
        return Cost(
            calls=self.calls,
            forwards=self.forwards,
            embeddings=self.embeddings,
            pairs=self.pairs,
            service_seconds=seconds + self.saved,
        )


@dataclass(frozen=True)
class Retrievers:
    """Where a stream's questions search: a corpus for each variant, `variants` by user."""

    searchers: Mapping[int, Searcher]
    variants: Mapping[str, int] = field(default_factory=dict)

    def retrieve(self, question: UserQuestion, wanted: int) -> Finding:
        """The nearest documents, and no more. Raises ModelError."""
        searcher = self.searchers[self.variants.get(question.user, 0)]
        yield found_for(question, searcher.nearest(question.text, wanted))


@dataclass(frozen=True)
class Setup:
    """What services under all policies share; `wanted` is how many documents an answer rests on."""

    settings: Settings
    models: Models
    engine: Engine
    wanted: int

    def opened(
        self, policy: Policy, stream: Stream, searchers: Mapping[int, Searcher]
    ) -> "Service":
        """A new service for a stream, with accounts that know nobody yet. Raises
        ConfigurationError.
        """
        tally = Tally()
        variants = {ask.user: ask.variant for ask in stream.asks if ask.variant}
        settings = policy.of(self.settings)
        answerer = build_answerer(settings, engine=self.engine, repeatable=True)
        asked = self.models
        models = replace(
            answerer.pipeline.models,
            generator=asked.generator,
            relations=asked.relations,
            embedder=asked.embedder,
            tokens=asked.tokens,
        ).wrapped(tally.note)
        answerer = replace(
            answerer,
            pipeline=replace(answerer.pipeline, models=models),
            control=build_control(settings, models),
            retrievers={Origin.CORPUS: Retrievers(searchers, variants).retrieve},
            methods=policy.method,
        )
        return Service(policy, answerer, tally, self.wanted)


@dataclass
class Service:
    """A service under one policy, in one stream."""

    policy: Policy
    answerer: Answerer
    tally: Tally
    wanted: int

    def play(
        self, name: str, stream: Stream, asked: Sequence[str]
    ) -> Iterator[tuple[ReplyRow, list[PassageRow]]]:
        """What becomes of every question of a stream, and the documents that were found.

        `asked` are the ids of readers' questions.
        """
        at = BEGINNING
        for place, ask in enumerate(stream.asks):
            at += timedelta(seconds=ask.gap_s)
            yield self.one(AskRow(name, place, ask), at, ask.about if ask.about in asked else "")

    def one(self, row: AskRow, at: datetime, query_id: str) -> tuple[ReplyRow, list[PassageRow]]:
        """Ask one question. Its failure is a row with an error."""
        ask = row.ask
        question = UserQuestion(ask.text, ask.user, at, Origin.CORPUS, self.wanted)
        self.tally.begin()
        started = perf_counter()
        bare = ReplyRow(
            contender=self.policy.name,
            condition=row.stream,
            query_id=query_id,
            step=row.place,
            ask_id=ask.id,
        )
        try:
            reply = self.answerer.answer(question)
        except BudgetSpentError:
            cost = self.tally.cost(perf_counter() - started)
            return replace(bare, abstained=True, budget_spent=True, cost=cost), []
        except RadarstreamError as error:
            return replace(bare, error=error_words(error)), []
        cost = self.tally.cost(perf_counter() - started)
        return replied(bare, reply, cost), [
            PassageRow(document.content_id, document) for document in reply.documents
        ]


def replied(bare: ReplyRow, reply: Reply, cost: Cost) -> ReplyRow:
    """The row with the reply as it is written down."""
    ids = {document.rank: document.content_id for document in reply.documents}
    seen = [judged for judged in reply.event.seen if judged.rank in ids]
    shown = [judged.rank for judged in seen]
    selects = any(judged.reason is not Reason.NOT_JUDGED for judged in seen)
    kept = [rank for rank in reply.event.verdict.kept_ranks if rank in ids] if selects else shown
    decided = reply.orchestration
    audited = decided.audit
    was_refused = audited is not None and audited.action == "refuse"
    return replace(
        bare,
        text=reply.text,
        abstained=reply.event.abstention is not None or was_refused,
        found=tuple(ids[rank] for rank in sorted(ids)),
        shown=tuple(ids[rank] for rank in shown),
        kept=tuple(ids[rank] for rank in kept),
        planned=Planned(
            tuple(module.value for module in decided.plan.active),
            decided.before.level.value if decided.before else None,
            decided.after.level.value if decided.after else None,
            decided.trust,
            decided.trust_after,
            decided.epsilon_spent,
            decided.hooks,
            audited.action if audited else None,
        ),
        cost=cost,
    )
