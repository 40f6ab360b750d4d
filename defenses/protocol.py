"""The one protocol every defence implements: a pure generator over evidence and state.

A defence holds no model, clock, file or random number generator. It yields requests by
`radarstream.defenses.responses.ask`, is sent the responses, and returns `(Verdict, new_state)`;
`pipelines.round` fulfils the requests of many queries in one model batch. State is a small frozen
value; stateless defences use None.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol

from radarstream.schemas.evidence import Evidence
from radarstream.schemas.gradients import MaskedQuery, ProbeQuery, SalienceQuery
from radarstream.schemas.memory import StateT
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Verdict


class Signal(StrEnum):
    """What a defence cannot do without.

    Those in EVIDENCE are computed before the defence runs, in parallel, on the model workers.
    """

    ATOMIC_ANSWERS = "atomic_answers"  # Evidence.answers
    RELATIONS = "relations"  # Evidence.relations; implies ATOMIC_ANSWERS
    TOKEN_PROBABILITIES = "token_probabilities"  # a model that answers LogProbs
    SIMILARITY_GRADIENTS = "similarity_gradients"  # an encoder that answers ProbeGradients
    SURROGATE_GRADIENTS = "surrogate_gradients"  # one besides the retriever's, that answers them
    TOKEN_SALIENCES = "token_saliences"  # an encoder that answers TokenSaliences
    MASKED_TOKENS = "masked_tokens"  # a model that answers MaskedTokenProbabilities
    ATTENTION = "attention"  # a model that answers Attention


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


@dataclass(frozen=True, slots=True)
class ProbeGradients:
    """Ask how the gradients of similarities vary under disturbances.

    With `surrogate` another encoder than the retriever's is asked. Response: (m, R, R) inner
    products of the gradients of the runs, in order; NaN for a passage whose gradients failed.
    """

    queries: tuple[ProbeQuery, ...]
    surrogate: bool = False


@dataclass(frozen=True, slots=True)
class TokenSaliences:
    """Ask which tokens decide similarities. Response: a tuple, in order, of tuples of
    TokenSalience.
    """

    queries: tuple[SalienceQuery, ...]


@dataclass(frozen=True, slots=True)
class MaskedTokenProbabilities:
    """Ask how probable parts of texts are. Response: a tuple, in order, of (s,) arrays."""

    queries: tuple[MaskedQuery, ...]


@dataclass(frozen=True, slots=True)
class Attention:
    """Ask how a model's attention is shared among the passages of `row` where its reply is
    `answer`.

    Response: (n,) percentages, one per passage of `row` in its order. They sum to 100, or are all
    0 where nothing is attended to.
    """

    row: Complete
    answer: str


Request = (
    Complete
    | CompleteAll
    | Relate
    | AttemptAll
    | Embed
    | Norms
    | LogProbs
    | LogProbsAll
    | ProbeGradients
    | TokenSaliences
    | MaskedTokenProbabilities
    | Attention
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
    told: Callable[[int], frozenset[Signal]] | None = getattr(defense, "needs_for", None)
    return defense.needs if told is None else told(documents)
