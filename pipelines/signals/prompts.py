"""The fixed part of a task and untrusted text become a prompt.

Text from documents is only ever concatenated, capped in length; `connectors.models.rendering`
delimits it. The wording is in `schemas.tasks`.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final
from unicodedata import category

from radarstream.defenses.protocol import Complete
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.tasks import TASKS

MAX_QUESTION_CHARACTERS: Final = 600
MAX_PREVIOUS_CHARACTERS: Final = 300


def build_prompt(
    task: Task, question: str, passages: Sequence[str], previous_answer: str | None = None
) -> Prompt:
    """The prompt of `task` over untrusted `passages`, in the order to show them.

    Control characters go, white space collapses and each passage is cut so that all together
    stay within the task's limit. Raises ValueError when a task of one passage gets another number.
    """
    spec = TASKS[task]
    if spec.one_passage and len(passages) != 1:
        raise ValueError(f"{task} needs one passage, got {len(passages)}")
    limit = min(spec.passage_characters, spec.total_characters // max(1, len(passages)))
    return Prompt(
        task=task,
        instruction=spec.instruction,
        shots=spec.shots,
        question=plain(question, MAX_QUESTION_CHARACTERS),
        passages=tuple(plain(passage, limit) for passage in passages),
        max_tokens=spec.max_tokens,
        previous_answer=plain(previous_answer, MAX_PREVIOUS_CHARACTERS)
        if previous_answer
        else None,
    )


def prompt_digests() -> dict[str, str]:
    """A digest of each task's wording, by the name of the task."""
    return {
        task.value: sha256(spec.wording.encode()).hexdigest()[:12] for task, spec in TASKS.items()
    }


def noting_use(models: Models, tell: Callable[[Task], None]) -> Models:
    """The same models; `tell` is called with each task at its first use, before it is asked."""
    used: set[Task] = set()

    def noted(prompt: Prompt) -> Prompt:
        if prompt.task not in used:
            used.add(prompt.task)
            tell(prompt.task)
        return prompt

    return models.wrapped(lambda call: call.ask_with(noted))


def plain(text: str, limit: int) -> str:
    r"""At most `limit` characters of `text` on one line, without control characters.

    Lone surrogates, which no encoder accepts, and invisible format characters, which can hide
    an instruction from a human reader, are removed too.

    >>> plain("a\x00b\ud800 \n c" + "d" * 9, 6)
    'ab cdd'
    """
    # Cleaning never lengthens text, but a page can start with much that it removes.
    words = text[: 4 * limit].split()
    line = " ".join(words)
    if not line.isprintable():
        line = " ".join(kept for word in words if (kept := without_hidden(word)))
    return line[:limit].rstrip()


def without_hidden(word: str) -> str:
    """Drop what a person would not see."""
    return "".join(character for character in word if category(character)[0] != "C")


def prompts_of(rows: Sequence[Complete]) -> tuple[Prompt, ...]:
    """The prompts of completions that are requested or scored."""
    return tuple(build_prompt(r.task, r.question, r.passages, r.previous_answer) for r in rows)
