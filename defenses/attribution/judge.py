"""Whether two answers to a question are the same answer, as attributors ask it."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from radarstream.defenses.attribution.refusals import Refusal, refusal_in
from radarstream.defenses.protocol import AttemptAll, Complete, Relate, Request
from radarstream.defenses.responses import ask
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, FloatArray
from radarstream.schemas.prompt import YES, Task

Asked = Literal["relations", "model"]


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares replies of a model with a wrong answer.

    Replies agree when either entails the other with at least `min_entailment`, or when a language
    model says so, as in the RAGOrigin paper (Eq. 3). A refusal agrees with refusals for the same
    reason, whatever their words; a bare "I don't know" agrees with nothing.
    """

    asks: Asked = "relations"
    min_entailment: float = 0.5

    def matches(
        self, question: str, answer: str, replies: Sequence[AtomicAnswer | ModelError]
    ) -> Generator[Request, Any, list[bool | ModelError]]:
        """Whether each reply is `answer`, in order; a ModelError where nobody could tell."""
        found: dict[int, bool | ModelError] = {}
        unclear: dict[int, Complete | Relate] = {}
        for index, reply in enumerate(replies):
            if isinstance(reply, ModelError):
                found[index] = reply
            elif (verdict := plain_verdict(answer, reply.text)) is not None:
                found[index] = verdict
            else:
                unclear[index] = self._request(question, answer, reply.text)
        if unclear:
            responses = yield from ask(AttemptAll(tuple(unclear.values())))
            for index, response in zip(unclear, responses, strict=True):
                found[index] = self._verdict(response)
        return [found[index] for index in range(len(replies))]

    def _request(self, question: str, answer: str, reply: str) -> Complete | Relate:
        if self.asks == "model":
            return Complete(Task.JUDGE_AGREEMENT, question, (answer, reply), final=False)
        return Relate(question, (answer, reply), (reply, answer))

    def _verdict(self, response: AtomicAnswer | FloatArray | ModelError) -> bool | ModelError:
        if isinstance(response, ModelError):
            return response
        if isinstance(response, AtomicAnswer):
            return response.text == YES
        return bool(response[:, 0].max() >= self.min_entailment)


def plain_verdict(answer: str, reply: str) -> bool | None:
    """Whether a reply is the answer, where no model needs to be asked; None where one does."""
    refused, refuses = refusal_in(answer), refusal_in(reply)
    if refused is not None or refuses is not None:
        # An answer "I don't know" was given for want of information; such a reply, as every segment
        # without information gets, is no sign of anything.
        return refuses is (Refusal.LACKS if refused is Refusal.BARE else refused)
    return True if reply.casefold() == answer.casefold() else None
