"""A task's template and untrusted text become a prompt.

Text from documents is only ever concatenated, capped in length; `connectors.models.rendering`
delimits it. The wording is in `templates`, `long_templates` and `attribution_templates`.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final
from unicodedata import category

from radarstream.connectors.models.wrapping import Call, Method, Replies
from radarstream.pipelines.signals import attribution_templates, long_templates, templates
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.templates import Template
from radarstream.schemas.prompt import Prompt, Task

MAX_QUESTION_CHARACTERS: Final = 600
MAX_PREVIOUS_CHARACTERS: Final = 300

TEMPLATES: Final[dict[Task, Template]] = {
    Task.ATOMIC_ANSWER: templates.ATOMIC,
    Task.ANSWER_FROM_DOCUMENTS: templates.DOCUMENTS,
    Task.SYNTHESISE_ANSWERS: templates.SYNTHESIS,
    Task.ANSWER_FROM_KEYWORDS: templates.KEYWORDS,
    Task.ANSWER_WITH_RATIONALE: templates.RATIONALE,
    Task.RECALL_PASSAGE: templates.RECALL,
    Task.CONSOLIDATE_PASSAGES: templates.CONSOLIDATION,
    Task.DESCRIBE_FROM_PASSAGE: long_templates.PASSAGE,
    Task.DESCRIBE_FROM_DOCUMENTS: long_templates.DOCUMENTS,
    Task.SYNTHESISE_DESCRIPTIONS: long_templates.SYNTHESIS,
    Task.DESCRIBE_FROM_KEYWORDS: long_templates.KEYWORDS,
    Task.JUDGE_ANSWER: long_templates.ANSWER_VERDICT,
    Task.JUDGE_LONG_FORM: long_templates.LONG_FORM_SCORES,
    Task.ANSWER_UNAIDED: attribution_templates.UNAIDED,
    Task.DESCRIBE_UNAIDED: long_templates.UNAIDED,
    Task.PREDICT_QUESTION: attribution_templates.QUESTION,
    Task.BARE_TEXT: attribution_templates.BARE,
    Task.JUDGE_INDUCEMENT: attribution_templates.INDUCEMENT,
    Task.JUDGE_AGREEMENT: attribution_templates.AGREEMENT,
}
PROMPTS_VERSION: Final = sha256(repr(TEMPLATES).encode()).hexdigest()[:12]


def build_prompt(
    task: Task, question: str, passages: Sequence[str], previous_answer: str | None = None
) -> Prompt:
    """The prompt of `task` over untrusted `passages`, in the order to show them.

    Control characters go, white space collapses and each passage is cut so that all together
    stay within the task's limit. Raises ValueError when ATOMIC_ANSWER gets other than one passage.
    """
    if task is Task.ATOMIC_ANSWER and len(passages) != 1:
        raise ValueError(f"an atomic answer comes from one passage, got {len(passages)}")
    template = TEMPLATES[task]
    limit = min(template.passage_characters, template.total_characters // max(1, len(passages)))
    return Prompt(
        task=task,
        instruction=template.instruction,
        shots=template.shots,
        question=plain(question, MAX_QUESTION_CHARACTERS),
        passages=tuple(plain(passage, limit) for passage in passages),
        max_tokens=template.max_tokens,
        previous_answer=plain(previous_answer, MAX_PREVIOUS_CHARACTERS)
        if previous_answer
        else None,
    )


def prompt_digests() -> dict[str, str]:
    """What identifies the wording of each task."""
    return {
        task.value: sha256(repr(template).encode()).hexdigest()[:12]
        for task, template in TEMPLATES.items()
    }


def noting_use(models: Models, tell: Callable[[Task], None]) -> Models:
    """The same models; `tell` is called with each task at its first use, before it is asked."""
    told: set[Task] = set()

    def note(call: Call) -> Replies:
        for task in tasks_of(call) - told:
            told.add(task)
            tell(task)
        return call.ask()

    return models.wrapped(note)


def tasks_of(call: Call) -> set[Task]:
    """The tasks of the prompts in a call."""
    match call.method:
        case Method.COMPLETE:
            return {prompt.task for prompt in call.requests}
        case Method.NEXT_TOKENS | Method.LOG_PROBS:
            return {prompt.task for query in call.requests for prompt in query.prompts}
    return set()


def plain(text: str, limit: int) -> str:
    r"""At most `limit` characters of `text` on one line, without control characters.

    Lone surrogates, which no encoder accepts, and invisible format characters, which can hide
    an instruction from a human reader, are removed too.

    >>> plain("a\x00b\ud800 \n c" + "d" * 9, 6)
    'ab cdd'
    """
    # Cleaning never lengthens text, but a page can start with much that it removes.
    words = (w if w.isprintable() else printable(w) for w in text[: 4 * limit].split())
    return " ".join(word for word in words if word)[:limit].rstrip()


def printable(word: str) -> str:
    """Drop what a person would not see; most words have nothing of the kind."""
    return "".join(character for character in word if category(character)[0] != "C")
