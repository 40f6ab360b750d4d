"""Drives a defence in tests: every request is answered from a script, nothing is computed."""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from radarstream.connectors.models.scripted import continuation_rows
from radarstream.defenses.protocol import (
    AttemptAll,
    Attributor,
    Complete,
    CompleteAll,
    Embed,
    LogProbs,
    LogProbsAll,
    Norms,
    Relate,
    Request,
)
from radarstream.lab.insights import (
    AttentionQuery,
    Insights,
    MaskedQuery,
    ProbeQuery,
    Query,
    SalienceQuery,
    TokenSalience,
)
from radarstream.pipelines.signals.fulfilment import check_needs, drive
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.attribution import Attribution, Case
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer

ResultT = TypeVar("ResultT")
Relation = Callable[[str, str], tuple[float, float]]  # premise, hypothesis -> entails, contradicts


def by_equality(premise: str, hypothesis: str) -> tuple[float, float]:
    """Equal texts agree, others contradict."""
    return (0.95, 0.01) if premise == hypothesis else (0.02, 0.95)


def towards(table: Mapping[str, Mapping[str, tuple[float, float]]]) -> Relation:
    """Symmetric relations from table[answer][other]; an unknown pair fails the test."""

    def relation(premise: str, hypothesis: str) -> tuple[float, float]:
        if premise in table and hypothesis in table[premise]:
            return table[premise][hypothesis]
        return table[hypothesis][premise]

    return relation


def saying(*texts: str | None) -> Callable[[Complete], AtomicAnswer]:
    """Answers in turn; None abstains; the last one repeats."""
    queue = list(texts)

    def answer(_: Complete) -> AtomicAnswer:
        text = queue.pop(0) if len(queue) > 1 else queue[0]
        return AtomicAnswer("I don't know", True) if text is None else AtomicAnswer(text)

    return answer


def most_common(request: Complete) -> AtomicAnswer:
    """The last line that most passages share, the earliest of equals."""
    claims = [passage.splitlines()[-1] for passage in request.passages]
    return AtomicAnswer(max(claims, key=claims.count))


@dataclass
class Script:
    """Scripted models. `requests` records what was asked, in order."""

    answer: Callable[[Complete], AtomicAnswer] = field(default_factory=lambda: saying("final"))
    relation: Relation = by_equality
    embedding: Callable[[str], Sequence[float]] = lambda text: (1.0, 0.0)
    norm: Callable[[str], float] = lambda text: 1.0 + len(text)
    gradients: Callable[[ProbeQuery], Any] = lambda query: np.ones((query.runs, 2))
    saliences: Callable[[SalienceQuery], tuple[TokenSalience, ...]] = lambda _: ()
    masked: Callable[[MaskedQuery], Sequence[float]] = lambda query: [0.5] * len(query.spans)
    attention: Callable[[AttentionQuery], Sequence[float]] = lambda asked: [
        100.0 / len(asked.prompt.passages) for _ in asked.prompt.passages
    ]
    requests: list[Request] = field(default_factory=list)

    def respond(self, request: Request) -> Any:
        self.requests.append(request)
        match request:
            case Complete():
                return self.answer(request)
            case CompleteAll(requests=requests):
                return tuple(self.answer(single) for single in requests)
            case AttemptAll(requests=requests):
                return tuple(self.attempt(single) for single in requests)
            case Relate(premises=premises, hypotheses=hypotheses):
                pairs = zip(premises, hypotheses, strict=True)
                both = [self.relation(p, h) for p, h in pairs]
                return np.array([[e, 1.0 - e - c, c] for e, c in both]).clip(0.0, 1.0)
            case LogProbs(rows=rows, continuation=continuation):
                return continuation_rows(self.replies(rows), continuation)
            case LogProbsAll(requests=requests):
                return tuple(
                    continuation_rows(self.replies(single.rows), single.continuation)
                    for single in requests
                )
            case Embed(texts=texts):
                return np.array([self.embedding(text) for text in texts], dtype=np.float64)
            case Norms(texts=texts):
                return np.array([self.norm(text) for text in texts], dtype=np.float64)
            case Insights(queries=queries):
                return tuple(map(self.insight, queries))

    def insight(self, query: Query) -> Any:
        """Gradients are (runs, p) rows, from which the Gram matrix is made."""
        match query:
            case ProbeQuery():
                rows = np.asarray(self.gradients(query), np.float64)
                return rows @ rows.T
            case SalienceQuery():
                return self.saliences(query)
            case MaskedQuery():
                return np.array(self.masked(query), np.float64)
            case AttentionQuery():
                return np.array(self.attention(query), np.float64)

    def attempt(self, request: Request) -> Any:
        """Scripted answers and relations may raise ModelError."""
        try:
            return self.respond(request)
        except ModelError as error:
            return error
        finally:
            self.requests.pop()  # the whole attempt is recorded

    def replies(self, rows: Sequence[Complete]) -> list[str]:
        return [self.answer(row).text for row in rows]

    def singles(self) -> list[Request]:
        """Every request, and each of those that were asked together."""
        together = (AttemptAll, CompleteAll, LogProbsAll)
        return [
            single
            for request in self.requests
            for single in (request, *(request.requests if isinstance(request, together) else ()))
        ]

    def asked(self, kind: type) -> list[Any]:
        return [request for request in self.requests if isinstance(request, kind)]


@dataclass
class Likelihoods(Script):
    """Scripted models that tell log-probabilities of a reply by what they are shown."""

    log_probs: Callable[[tuple[str, ...], str], Sequence[float]] = lambda *_: (-1.0,)

    def respond(self, request: Request) -> Any:
        match request:
            case LogProbs(rows=rows, continuation=continuation):
                self.requests.append(request)
                return np.array([self.log_probs(row.passages, continuation) for row in rows])
            case LogProbsAll(requests=requests):
                return tuple(self.respond(single) for single in requests)
            case _:
                return super().respond(request)


def run(method: Generator[Request, Any, ResultT], script: Script) -> ResultT:
    """Run a defence or an attributor to its end."""
    try:
        request = next(method)
        while True:
            request = method.send(script.respond(request))
    except StopIteration as stop:
        return stop.value


def attribute_all(
    attributor: Attributor, cases: Sequence[Case], models: Models
) -> list[Attribution | ModelError]:
    """Attribute every case in lockstep."""
    check_needs(attributor, models)
    return drive([attributor.attribute(case) for case in cases], models)
