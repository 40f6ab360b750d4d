"""The protocols of defences, attributors and rerankers, and the requests that they yield.

A method is a generator without models, clocks, files and random numbers of its own. It yields
requests by `ask`, receives the responses and returns its result. `pipelines.signals.fulfilment`
sends the requests of many methods to the models in batches and checks the responses.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar, overload

from radarstream.schemas.attribution import Attribution, Case
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray
from radarstream.schemas.memory import StateT
from radarstream.schemas.prompt import Task
from radarstream.schemas.retrieval import CandidatePool, Reranking
from radarstream.schemas.verdict import Verdict

ResultT = TypeVar("ResultT")


class Signal(StrEnum):
    """What a method needs; signals in EVIDENCE are computed before a defence runs."""

    ATOMIC_ANSWERS = "atomic_answers"  # Evidence.answers
    RELATIONS = "relations"  # Evidence.relations; implies ATOMIC_ANSWERS
    TOKEN_PROBABILITIES = "token_probabilities"  # a model for LogProbs


EVIDENCE: Final = frozenset({Signal.ATOMIC_ANSWERS, Signal.RELATIONS})


@dataclass(frozen=True, slots=True)
class Complete:
    """Ask the generator for one answer. Response: AtomicAnswer.

    `final` marks the request whose response is the defence's answer; `previous_answer` is in the
    prompt after the passages.
    """

    task: Task
    question: str
    passages: tuple[str, ...]
    final: bool = True
    previous_answer: str | None = None


@dataclass(frozen=True, slots=True)
class CompleteAll:
    """Ask the generator for several answers at once. Response: a tuple of AtomicAnswer, in order.

    One failed request fails them all.
    """

    requests: tuple[Complete, ...]


@dataclass(frozen=True, slots=True)
class Relate:
    """Relate m premises and hypotheses, answers to the question, pair by pair.

    Response: (m, 3) probabilities of entailment, neutral and contradiction.
    """

    question: str
    premises: tuple[str, ...]
    hypotheses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptAll:
    """Ask for several answers or relations at once; each may fail alone.

    Response: a tuple of responses and ModelErrors, in order. An outage of a model's service
    (ModelOutageError) fails them all, because they may succeed later.
    """

    requests: tuple[Complete | Relate, ...]


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed texts. Response: (m, d) rows of unit length."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Norms:
    """Ask for the lengths of embeddings before normalisation. Response: (m,) Euclidean lengths."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LogProbs:
    """Ask how probable `continuation` is as the reply to each of `rows`.

    Response: (r, t) natural logarithms, a column per token of the continuation.
    """

    rows: tuple[Complete, ...]
    continuation: str


@dataclass(frozen=True, slots=True)
class LogProbsAll:
    """Ask how probable several continuations are at once. Response: a tuple of arrays, in order.

    One failed request fails them all.
    """

    requests: tuple[LogProbs, ...]


class PluginRequest(ABC, Generic[ResultT]):
    """A request of a plug-in, which it answers by models of its own."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def answer_all(cls, models: Mapping[str, Any], requests: Sequence[Any]) -> list[ResultT]:
        """Return one response per request, in order.

        `models` are those of plug-ins, by the names in a method's `needs`. Raises ModelError.
        """


Request = (
    Complete
    | CompleteAll
    | Relate
    | AttemptAll
    | Embed
    | Norms
    | LogProbs
    | LogProbsAll
    | PluginRequest[Any]
)

# The type of a method. `yield` has the type Any, because types cannot say that the response's type
# depends on the request's; `ask` does.
Asking = Generator[Request, Any, ResultT]
Defending = Asking[tuple[Verdict, StateT]]
Attributing = Asking[Attribution]
Reordering = Asking[Reranking]


@overload
def ask(request: Complete) -> Asking[AtomicAnswer]: ...
@overload
def ask(request: CompleteAll) -> Asking[tuple[AtomicAnswer, ...]]: ...
@overload
def ask(request: Relate | Embed | Norms | LogProbs) -> Asking[FloatArray]: ...
@overload
def ask(request: AttemptAll) -> Asking[tuple[Any, ...]]: ...
@overload
def ask(request: LogProbsAll) -> Asking[tuple[FloatArray, ...]]: ...
@overload
def ask(request: PluginRequest[ResultT]) -> Asking[ResultT]: ...
def ask(request: Request) -> Asking[Any]:
    """Yield one request and return its response; use it as `response = yield from ask(request)`."""
    return (yield request)


class Defense(Protocol[StateT]):
    """Selects the documents of a snapshot to trust, and answers from them.

    Its class is a dataclass of its options. The state is a small frozen value that
    `schemas.codec.encode_state` can encode; a defence without memory has the state None.

    >>> from radarstream.schemas.snapshot import Document, Query
    >>> from radarstream.schemas.times import EPOCH
    >>> class TrustsTheFirst:
    ...     needs = frozenset({Signal.ATOMIC_ANSWERS})
    ...     def initial_state(self):
    ...         return None
    ...     def defend(self, evidence, state):
    ...         passages = (evidence.documents[0].passage,)
    ...         request = Complete(Task.ANSWER_FROM_DOCUMENTS, evidence.query.text, passages)
    ...         answer = yield from ask(request)
    ...         return Verdict(answer.text, ()), state
    >>> evidence = Evidence(Query.from_text("The capital?"), EPOCH, (Document(1, "It is Lima."),))
    >>> next(TrustsTheFirst().defend(evidence, None)).passages  # `fulfilment` sends the answer
    ('It is Lima.',)
    """

    @property
    def needs(self) -> frozenset[Signal]:
        """The required signals; a class attribute unless they depend on options."""

    def initial_state(self) -> StateT:
        """Return the state before the first snapshot."""

    def defend(self, evidence: Evidence, state: StateT) -> Defending[StateT]:
        """Judge one snapshot; return the verdict and the new state.

        The result depends on the arguments and responses only; the arguments stay unchanged. Raises
        EvidenceError if a signal in `needs` is missing.
        """


class Attributor(Protocol):
    """Finds the texts that taught a wrong answer. Its class is a dataclass of its options.

    >>> from radarstream.schemas.attribution import Finding, RankedText, TextScore
    >>> from radarstream.schemas.snapshot import Document, Query
    >>> class FlagsTheAnswer:
    ...     needs = frozenset()
    ...     def attribute(self, case):
    ...         yield from ()  # no request
    ...         scores = tuple(
    ...             TextScore(text.id, text.document.rank, case.answer in text.document.text)
    ...             for text in case.texts
    ...         )
    ...         return Attribution("flags_the_answer", Finding.TEXTS_FLAGGED, scores)
    >>> texts = tuple(RankedText(t, Document(r, t)) for r, t in ((1, "Cusco."), (2, "Lima.")))
    >>> try:
    ...     next(FlagsTheAnswer().attribute(Case(Query.from_text("Capital?"), "Cusco", texts, 2)))
    ... except StopIteration as end:
    ...     end.value.flagged
    ('Cusco.',)
    """

    @property
    def needs(self) -> frozenset[Signal]:
        """The required signals; completions, relations and embeddings are always there."""

    def attribute(self, case: Case) -> Attributing:
        """Score the texts and flag those that taught the answer; of fewer than two texts, none.

        The result depends on `case` and the responses only; `case` stays unchanged. Raises
        EvidenceError for a malformed case (`defenses.attribution.scope.checked`).
        """


class RetrievalDefense(Protocol):
    """Orders candidates, and drops those that it takes for planted; "reranker" for short.

    Its class is a dataclass of its options.

    >>> from radarstream.defenses.retrieval.pools import checked_pool, reranked
    >>> from radarstream.schemas.snapshot import Document, Query
    >>> class WorstFirst:
    ...     needs = frozenset()
    ...     def rerank(self, pool):
    ...         yield from ()  # no request
    ...         pool = checked_pool(pool)
    ...         return reranked("worst_first", pool, range(len(pool.documents))[::-1])
    >>> documents = (Document(1, "Lima."), Document(2, "Cusco."))
    >>> try:
    ...     next(WorstFirst().rerank(CandidatePool(Query.from_text("?"), documents, (0.9, 0.8), 1)))
    ... except StopIteration as end:
    ...     [candidate.found_rank for candidate in end.value.kept]
    [2]
    """

    @property
    def needs(self) -> frozenset[str]:
        """The required members of `Signal`, and names of models that a plug-in builds; completions
        and embeddings are always there.
        """

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Judge every candidate once.

        The result depends on `pool` and the responses only, and not on the order of the candidates:
        equal scores are ordered by similarity, then by `Document.content_id`. `pool` stays
        unchanged. Raises EvidenceError for a malformed pool.
        """


def needs_at(defense: Defense[Any], documents: int) -> frozenset[Signal]:
    """Return the signals that a defence needs for a number of documents: those of its method
    `needs_for`, if it has one, else `needs`.
    """
    by_size: Callable[[int], frozenset[Signal]] | None = getattr(defense, "needs_for", None)
    return defense.needs if by_size is None else by_size(documents)
