"""Prompts as structured values: a backend renders them in the form its model follows best."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256


class Task(StrEnum):
    """What the generator is asked to do; `pipelines.signals.prompts` holds the wording."""

    ATOMIC_ANSWER = "atomic_answer"
    ANSWER_FROM_DOCUMENTS = "answer_from_documents"
    SYNTHESISE_ANSWERS = "synthesise_answers"


@dataclass(frozen=True, slots=True)
class Shot:
    """One worked example."""

    question: str
    passages: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One generation request. `passages` are untrusted text, in the order to show them."""

    task: Task
    instruction: str
    shots: tuple[Shot, ...]
    question: str
    passages: tuple[str, ...]
    max_tokens: int

    def digest(self) -> bytes:
        """32 bytes that identify the prompt: part of the response-cache key."""
        return sha256(repr(self).encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Completion:
    """What a generator returned for one prompt; token counts are 0 when it does not tell."""

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to the same question, to be related: does the premise entail the hypothesis?"""

    question: str
    premise: str
    hypothesis: str
