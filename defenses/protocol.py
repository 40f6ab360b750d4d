"""The protocols of defences, attributors and rerankers: pure generators over what they are given.

None holds a model, clock, file or random number generator. It yields requests by `ask`, is sent the
responses, and returns its result; `pipelines.signals.fulfilment` fulfils the requests of many at
once and checks what models reply, so that no malformed reply reaches a method. A defence returns
`(Verdict, new_state)`: state is a small frozen value; stateless defences use None.
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
    """What a defence cannot do without.

    Those in EVIDENCE are computed before the defence runs, in parallel, on the model workers.
    """

    ATOMIC_ANSWERS = "atomic_answers"  # Evidence.answers
    RELATIONS = "relations"  # Evidence.relations; implies ATOMIC_ANSWERS
    TOKEN_PROBABILITIES = "token_probabilities"  # a model that answers LogProbs


EVIDENCE: Final = frozenset({Signal.ATOMIC_ANSWERS, Signal.RELATIONS})


@dataclass(frozen=True, slots=True)
class Complete:
    """Ask the generator for one answer. Response: AtomicAnswer.

    `final` marks the request whose response is the defence's answer, as opposed to one it only
    reasons with; `previous_answer` is shown to the generator after the passages.
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
    """Relate answers to the question, pair by pair. Response: (m, 3) probabilities in the
    columns entailment, neutral, contradiction.
    """

    question: str
    premises: tuple[str, ...]
    hypotheses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttemptAll:
    """Ask for several answers or relations at once, each of which may fail alone.

    Response: a tuple, in order, of what each request is answered, or the ModelError it failed with.
    An outage of a model's service (ModelOutageError) fails them all: asked later, it may answer.
    """

    requests: tuple[Complete | Relate, ...]


@dataclass(frozen=True, slots=True)
class Embed:
    """Embed texts. Response: (m, d) rows of unit length."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Norms:
    """Ask how long the embeddings of texts are before they are brought to unit length.

    Response: (m,) Euclidean lengths.
    """

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
    """A request of a plug-in, which answers it by models of its own."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def answer_all(cls, models: Mapping[str, Any], requests: Sequence[Any]) -> list[ResultT]:
        """One response per request of this class, in order.

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

# What the body of a method really is; the response's type follows from the request's, which the
# type system cannot say about `yield`, hence Any.
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
    """Yield one request and return its response as `radarstream.defenses.protocol` describes it."""
    return (yield request)


class Defense(Protocol[StateT]):
    """Selects what to trust in one snapshot and answers from it."""

    @property
    def needs(self) -> frozenset[Signal]:
        """Signals that evidence and models must offer; a class attribute, unless options decide."""

    def initial_state(self) -> StateT:
        """The state before the first snapshot."""

    def defend(self, evidence: Evidence, state: StateT) -> Defending[StateT]:
        """Judge one snapshot.

        Deterministic; leaves `evidence` and `state` unchanged. Raises EvidenceError when a signal
        in `needs` is missing.
        """


class Attributor(Protocol):
    """Names the texts that taught a wrong answer."""

    @property
    def needs(self) -> frozenset[Signal]:
        """What models must offer beyond completions, relations and embeddings."""

    def attribute(self, case: Case) -> Attributing:
        """Score the texts and flag those that taught the answer.

        Deterministic; leaves its argument unchanged. Invariant to the order in which requests of
        one batch are answered. No texts, or one: nothing is flagged.
        """


class RetrievalDefense(Protocol):
    """Orders what a search found, and drops what it takes for planted."""

    @property
    def needs(self) -> frozenset[str]:
        """What models must offer beyond completions and embeddings: members of `Signal`, and names
        of models that a plug-in builds.
        """

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Judge every candidate once.

        Deterministic; leaves its argument unchanged; what it finds does not depend on the order of
        the candidates: equal scores are ordered by similarity, then by `Document.content_id`.
        Raises EvidenceError on malformed input.
        """


def needs_at(defense: Defense[Any], documents: int) -> frozenset[Signal]:
    """The signals that a defence reads in a snapshot of so many documents.

    They are fewer than its `needs` where it says so by a method `needs_for`.
    """
    by_size: Callable[[int], frozenset[Signal]] | None = getattr(defense, "needs_for", None)
    return defense.needs if by_size is None else by_size(documents)
