"""Streams of questions through the service's own answerer, and the corpus that it searches."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from time import perf_counter
from typing import Final

import numpy as np
from sqlalchemy import Engine

from radarstream.connectors.models.wrapping import Call, Method, Replies
from radarstream.lab.attacks.corpus import Corpus, ranked
from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.lab.attacks.service.masked_questions import MASKS, Proxy, candidates, chosen, cut
from radarstream.lab.attacks.service.masked_questions import ranked as ranked_words
from radarstream.lab.attacks.service.protocol import MaskedDocument, Stream
from radarstream.lab.service.policies import Policy
from radarstream.lab.service.records import AskRow, Planned, ReplyRow
from radarstream.lab.study.rows import Cost, PassageRow, error_words
from radarstream.lab.study.scoring import is_correct
from radarstream.pipelines.asking.answerer import Answerer
from radarstream.pipelines.asking.building import build_answerer, build_control
from radarstream.pipelines.asking.parts import SEED_BITS
from radarstream.pipelines.asking.retrievers import found_for
from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.pipelines.searching import Finding
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import BudgetSpentError, RadarstreamError
from radarstream.schemas.prompt import Completion, ContinuationQuery
from radarstream.schemas.snapshot import Document
from radarstream.schemas.verdict import Reason

MOST_PROBED: Final = 0.5  # share of the documents of a corpus that may be probed for


@dataclass(frozen=True, slots=True)
class Probed:
    """A document to probe for, with its id; `member` says whether it stays in the corpus."""

    id: str
    document: Document
    member: bool


def drawn(questions: Questions, members: int, others: int, seed: int) -> list[Probed]:
    """The documents to probe for, members and others mixed; fewer where the corpus is small. Only
    documents with enough words to hide are drawn, and no two with the same words.
    """
    known = [s.labels for s in questions.asked if s.labels and s.labels.answers]
    fit = {
        cut(entry.document.passage): entry
        for entry in questions.corpus.entries
        if len(list(candidates(cut(entry.document.passage)))) >= MASKS
    }
    entries = list(fit.values())
    order = [entries[n] for n in np.random.default_rng((seed, 16)).permutation(len(entries))]
    wanted = members + others
    scale = min(1.0, int(len(entries) * MOST_PROBED) / wanted) if wanted else 0.0
    silent = [e for e in order if not any(is_correct(e.document.passage, one) for one in known)]
    left_out = silent[: int(others * scale)]
    staying = [entry for entry in order if entry not in left_out][: int(members * scale)]
    found = [Probed(e.id, e.document, e in staying) for e in (*staying, *left_out)]
    return [found[n] for n in np.random.default_rng((seed, 17)).permutation(len(found))]


def without(questions: Questions, probed: Sequence[Probed]) -> Questions:
    """The same questions over a corpus that lacks what is no member."""
    gone = {one.id for one in probed if not one.member}
    kept = tuple(entry for entry in questions.corpus.entries if entry.id not in gone)
    return replace(questions, corpus=Corpus(kept))


def masked(one: Probed, proxy: Proxy) -> MaskedDocument:
    """The document with its hardest words hidden. Raises ModelError."""
    text = cut(one.document.passage)
    spans = chosen(text, ranked_words(text, proxy))
    return MaskedDocument(one.id, text, spans, one.member)


BEGINNING: Final = datetime(2026, 1, 5, 8, tzinfo=UTC)  # of every stream


COUNTED: Final[Mapping[str, str]] = {
    Method.COMPLETE: "calls",
    Method.LOG_PROBS: "forwards",
    Method.EMBED: "embeddings",
    Method.PROBABILITIES: "pairs",
}  # fields of `Cost`


@dataclass
class Tally:
    """What a question asks of the models, and how long that took when it was not yet cached."""

    counts: Counter[str] = field(default_factory=Counter)
    saved: float = 0.0
    started: float = 0.0

    def begin(self) -> None:
        """Count from nothing: another question begins."""
        self.counts, self.saved, self.started = Counter(), 0.0, perf_counter()

    def note(self, call: Call) -> Replies:
        """Pass a call on and count it. Raises ModelError like the model."""
        started = perf_counter()
        replies = call.ask()
        took = perf_counter() - started
        if kind := COUNTED.get(call.method):
            self.counts[kind] += sum(
                len(one.prompts) if isinstance(one, ContinuationQuery) else 1
                for one in call.requests
            )
        if call.method == Method.COMPLETE:
            made = sum(one.seconds for one in replies if isinstance(one, Completion))
            self.saved += max(0.0, made - took)
        return replies

    def cost(self) -> Cost:
        """The counts and the time of the question that is done."""
        return Cost(**self.counts, service_seconds=perf_counter() - self.started + self.saved)


@dataclass(frozen=True)
class Setup:
    """What services under all policies share; `wanted` is how many documents an answer rests on."""

    settings: Settings
    models: Models
    engine: Engine
    wanted: int

    def opened(self, policy: Policy, stream: Stream, corpora: Mapping[int, Corpus]) -> "Service":
        """A new service for a stream, with accounts that know nobody yet. Raises
        ConfigurationError.
        """
        tally = Tally()
        variants = {ask.user: ask.variant for ask in stream.asks if ask.variant}

        def retrieve(question: UserQuestion, wanted: int) -> Finding:
            corpus = corpora[variants.get(question.user, 0)]
            texts = ranked(corpus, question.text, wanted, self.models.embedder)
            yield found_for(question, (text.document for text in texts))

        settings = policy.of(self.settings)
        answerer = replace(build_answerer(settings, engine=self.engine), seed=seed_of)
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
            retrievers={Origin.CORPUS: retrieve},
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
        """What becomes of every question of a stream, and the documents that were found. `asked`
        are the ids of readers' questions.
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
            return replace(bare, abstained=True, budget_spent=True, cost=self.tally.cost()), []
        except RadarstreamError as error:
            return replace(bare, error=error_words(error)), []
        passages = [PassageRow(document.content_id, document) for document in reply.documents]
        return replied(bare, reply, self.tally.cost()), passages


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


def seed_of(question: UserQuestion) -> int:
    """The same seed for the same question of the same user: what a study needs, to be repeated."""
    digest = sha256(f"{question.user}\n{question.text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8]) >> (64 - SEED_BITS)
