"""The one protocol every defence implements: a pure generator over evidence and state.

A defence holds no model, clock, file or random number generator. It yields requests by
`radarstream.defenses.responses.ask`, is sent the responses, and returns `(Verdict, new_state)`;
`pipelines.round` fulfils the requests of many queries in one model batch. State is a small frozen
value; stateless defences use None.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar

from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import StateT
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Verdict

ResponseT = TypeVar("ResponseT")


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


class PluginRequest(ABC, Generic[ResponseT]):
    """A request of a plug-in, which answers it by models of its own."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def answer_all(cls, models: Mapping[str, Any], requests: Sequence[Any]) -> list[ResponseT]:
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

# What a defence's body really is; the response's type follows from the request's, which the
# type system cannot say about `yield`, hence Any.
Defending = Generator[Request, Any, tuple[Verdict, StateT]]


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


def needs_at(defense: Defense[Any], documents: int) -> frozenset[Signal]:
    """The signals that a defence reads in a snapshot of so many documents.

    They are fewer than its `needs` where it says so by a method `needs_for`.
    """
    by_size: Callable[[int], frozenset[Signal]] | None = getattr(defense, "needs_for", None)
    return defense.needs if by_size is None else by_size(documents)
