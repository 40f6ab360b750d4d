"""Prompts as structured values; a backend renders them in the form that suits its model."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import Final

YES: Final = "YES"
NO: Final = "NO"

_CONCLUSION: Final = re.compile(r".*\bthe (?:final )?answer is\b[:,]?(?P<answer>.*)", re.IGNORECASE)
# A sentence ends after a word of more than three letters: "Rep." and "U.S." are abbreviations.
_SENTENCE_END: Final = re.compile(r"(?<!\b\w)(?<!\b\w\w)(?<!\b\w\w\w)[.!?][\"\u201d]?\s+(?=[A-Z])")


class Task(StrEnum):
    """What the generator is asked to do; `tasks.toml` has the wording."""

    ATOMIC_ANSWER = "atomic_answer"
    ANSWER_FROM_DOCUMENTS = "answer_from_documents"
    SYNTHESISE_ANSWERS = "synthesise_answers"
    ANSWER_FROM_KEYWORDS = "answer_from_keywords"  # passages are words and phrases
    ANSWER_WITH_RATIONALE = "answer_with_rationale"
    RECALL_PASSAGE = "recall_passage"  # the model's own knowledge; no passages
    CONSOLIDATE_PASSAGES = "consolidate_passages"
    # The first four, for questions that ask for a biography.
    DESCRIBE_FROM_PASSAGE = "describe_from_passage"
    DESCRIBE_FROM_DOCUMENTS = "describe_from_documents"
    SYNTHESISE_DESCRIPTIONS = "synthesise_descriptions"
    DESCRIBE_FROM_KEYWORDS = "describe_from_keywords"
    # Evaluators judge an answer.
    JUDGE_ANSWER = "judge_answer"  # passages: correct answers, the attacker's target, the answer
    JUDGE_LONG_FORM = "judge_long_form"  # passages: a reference, the answer
    # Attributors and attackers; PREDICT_QUESTION, BARE_TEXT and CONTINUE_TEXT are for
    # log-probabilities only.
    ANSWER_UNAIDED = "answer_unaided"  # no passages, and no abstention
    DESCRIBE_UNAIDED = "describe_unaided"
    PREDICT_QUESTION = "predict_question"  # the reply is the question to the one passage
    QUESTION_OF_CLAIM = "question_of_claim"  # the reply is a question that the passage answers
    BARE_TEXT = "bare_text"  # the reply is any text, after the shortest possible prompt
    CONTINUE_TEXT = "continue_text"  # the reply continues the one passage
    # Judges of an attributor; replies are read as YES or NO.
    JUDGE_INDUCEMENT = "judge_inducement"  # passages: a text, the answer it may try to induce
    JUDGE_AGREEMENT = "judge_agreement"  # passages: two answers
    # The judge of a relation scorer.
    JUDGE_RELATION = "judge_relation"  # passages: premise, hypothesis
    # The control plane of a service; the passage and the reply are JSON.
    ASSESS_RISK = "assess_risk"  # passage: signals of a question
    PLAN_DEFENSE = "plan_defense"  # passage: a risk profile and numbers, no text of users


@dataclass(frozen=True, slots=True)
class Shot:
    """One worked example."""

    question: str
    passages: tuple[str, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """One generation request. `passages` are untrusted, in the order of the prompt.

    `previous_answer` follows the passages, as the answer of an earlier observation.
    """

    task: Task
    instruction: str
    shots: tuple[Shot, ...]
    question: str
    passages: tuple[str, ...]
    max_tokens: int
    previous_answer: str | None = None

    def digest(self) -> bytes:
        """Return 32 bytes that identify the prompt, for the key of the response cache."""
        head = _head(self.task, self.instruction, self.shots)
        text = (
            f"{head}, question={self.question!r}, passages={self.passages!r}, "
            f"max_tokens={self.max_tokens!r}, previous_answer={self.previous_answer!r})"
        )
        return sha256(text.encode("utf-8", "surrogatepass")).digest()


@lru_cache(maxsize=64)
def _head(task: Task, instruction: str, shots: tuple[Shot, ...]) -> str:
    """Return the beginning of `repr(prompt)`, which the prompts of a task share."""
    return f"Prompt(task={task!r}, instruction={instruction!r}, shots={shots!r}"


def conclusion(rationale: str) -> str | None:
    """Return what follows the last "The answer is" in a reply to ANSWER_WITH_RATIONALE, if any.

    >>> conclusion('Passage 2 says "in Rome". The answer is Rome. Passage 1 is about Oslo.')
    'Rome'
    """
    found = _CONCLUSION.match(" ".join(rationale.split()))
    if found is None:
        return None
    answer = _SENTENCE_END.split(found["answer"].strip())[0]
    return answer.rstrip(".").strip(" \"'\u201c\u201d") or None


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply of a generator to one prompt; token counts are 0 if unknown.

    `seconds` is the wall-clock time of the call, divided among the prompts of a batch; a
    completion from the cache keeps the time of its original call.
    """

    text: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """Two answers to one question: does the premise entail, or contradict, the hypothesis?"""

    question: str
    premise: str
    hypothesis: str


@dataclass(frozen=True, slots=True)
class ContinuationQuery:
    """How probable is the same reply to each of several prompts? `continuation` is not empty."""

    prompts: tuple[Prompt, ...]
    continuation: str
