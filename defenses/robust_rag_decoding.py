"""RobustRAG with decoding aggregation: each next token is chosen by isolated distributions."""

from typing import Annotated, ClassVar, Final

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import Stateless, concluded
from radarstream.defenses.protocol import Complete, Defending, LogProbs, NextTokens, Signal
from radarstream.defenses.responses import Asking, ask
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Abstention, DocumentVerdict, Reason

REFUSAL: Final = "I don't know"
Rows = tuple[Complete, ...]
_ROUNDING: Final = 1e-9  # a lead that equals eta but for rounding does not exceed it


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RobustRagDecoding(Stateless):
    """Decodes one answer from the next-token distributions of documents read in isolation.

    From "Certifiably Robust RAG against Retrieval Corruption" (RobustRAG, Algorithm 2: secure
    decoding aggregation). A document whose prompt makes the model refuse almost surely is dropped.
    At every step the remaining documents' distributions are added up; the best token is taken if
    it leads the second by more than eta, else the token that the model would say without any
    document. The first token is none that begins a refusal, unless it comes from the model itself.

    Needs a model that tells token probabilities.

    Parameters
    ----------
    eta
        Least lead, compared with the sum over documents as in the authors' code: k times the
        paper's, whose aggregate is a mean. They use 0 for short answers and 4 for long ones.
    temperature
        Of each document's distribution.
    refusal_probability
        Documents under which the model refuses at least this probably are dropped.
    gamma
        Weighs the i-th remaining document (0 = first) by gamma**i: the rank-aware variant of
        ReliabilityRAG. None weighs all alike.
    max_tokens
        Length of the answer.
    """

    eta: Annotated[float, Field(ge=0.0)] = 0.0
    temperature: Annotated[float, Field(gt=0.0)] = 1.0
    refusal_probability: Annotated[float, Field(gt=0.0, le=1.0)] = 0.99
    gamma: Annotated[float, Field(gt=0.0, le=1.0)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] = 24

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES, Signal.NEXT_TOKENS})

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Answer from the documents that do not make the model refuse; abstain without any.

        Raises EvidenceError when a response is not what its request asked for.
        """
        question = evidence.query.text
        rows = tuple(
            Complete(Task.ATOMIC_ANSWER, question, (document.passage,))
            for document in evidence.documents
        )
        if not rows:
            return concluded((), Abstention.NO_DOCUMENTS), state
        heard = yield from self.informative(rows)
        documents = tuple(
            DocumentVerdict(d.rank, kept, Reason.NOT_JUDGED if kept else Reason.UNINFORMATIVE)
            for d, kept in zip(evidence.documents, heard, strict=True)
        )
        remaining = tuple(row for row, kept in zip(rows, heard, strict=True) if kept)
        if not remaining:
            return concluded(documents, Abstention.NO_EVIDENCE), state
        answer = yield from self.decode(remaining, Complete(Task.RECALL_PASSAGE, question, ()))
        return concluded(documents, answer), state

    def informative(self, rows: Rows) -> Asking[list[bool]]:
        """Which rows leave the model room for another answer than a refusal."""
        logs = (yield from ask(LogProbs(rows, REFUSAL))).sum(axis=1)
        return [bool(kept) for kept in np.exp(logs) < self.refusal_probability]

    def decode(self, rows: Rows, alone: Complete) -> Asking[AtomicAnswer]:
        """Choose token after token; `alone` is the prompt without retrieval."""
        prefix: tuple[int, ...] = ()
        while True:
            step = yield from ask(NextTokens((*rows, alone), prefix))
            if step.ended or len(prefix) == self.max_tokens:
                return step.reply
            barred = frozenset() if prefix else step.refusals
            token = self.next_token(step.log_probs, barred)
            if token in step.stops:
                return step.reply
            prefix = (*prefix, token)

    def next_token(self, log_probs: FloatArray, barred: frozenset[int]) -> int:
        """The documents' best token if its lead exceeds eta, else that of the last row, alone.

        `log_probs` is (r + 1, V). Documents do not vote for `barred` tokens.
        """
        votes = aggregate(log_probs[:-1], self.temperature, self.gamma)
        votes[[token for token in barred if token < len(votes)]] = 0.0
        best = int(votes.argmax())
        lead = votes[best] - np.delete(votes, best).max(initial=0.0)
        return best if lead > self.eta + _ROUNDING else int(log_probs[-1].argmax())


def aggregate(
    log_probs: FloatArray, temperature: float = 1.0, gamma: float | None = None
) -> FloatArray:
    """Sum of the rows' distributions at `temperature`, row i weighing gamma**i; (r, V) to (V,)."""
    scaled = log_probs / temperature
    scaled = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    probabilities = scaled / scaled.sum(axis=1, keepdims=True)
    weights = np.ones(len(log_probs)) if gamma is None else gamma ** np.arange(len(log_probs))
    return np.asarray(weights @ probabilities)
