"""Prompts as structured values: a backend renders them in the form its model follows best."""

from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256


class Task(StrEnum):
    """What the generator is asked to do; `pipelines.signals.prompts` holds the wording."""

    ATOMIC_ANSWER = "atomic_answer"
    ANSWER_FROM_DOCUMENTS = "answer_from_documents"
    SYNTHESISE_ANSWERS = "synthesise_answers"
    ANSWER_FROM_KEYWORDS = "answer_from_keywords"  # passages are words and phrases
    ANSWER_WITH_RATIONALE = "answer_with_rationale"
    RECALL_PASSAGE = "recall_passage"  # what the model knows by itself; no passages
    CONSOLIDATE_PASSAGES = "consolidate_passages"


@dataclass(frozen=True, slots=True)
class Shot:
    """One worked example."""

    question: str
    passages: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One generation request. `passages` are untrusted text, in the order to show them.

    `previous_answer` is shown after the passages, as what was answered an observation earlier.
    """

    task: Task
    instruction: str
    shots: tuple[Shot, ...]
    question: str
    passages: tuple[str, ...]
    max_tokens: int
    previous_answer: str | None = None

    def digest(self) -> bytes:
        """32 bytes that identify the prompt: part of the response-cache key."""
        return sha256(repr(self).encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Completion:
    """What a generator returned for one prompt; counts are 0 where nobody took them.

    `seconds` is wall clock from asking to having the text, shared out among prompts that were
    asked together; a completion found in a cache keeps what it once took.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to the same question, to be related: does the premise entail the hypothesis?"""

    question: str
    premise: str
    hypothesis: str
