"""Builds prompts from tasks and untrusted text, for short or long answers, with further sentences
in the instruction (the guardrail of hook C).

Text of documents is cut and cleaned; `connectors.models.rendering` delimits it. The wording is in
`schemas/tasks.toml`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final, TypeVar
from unicodedata import category

from radarstream.connectors.models.wrapping import Call, Method, Replies, Wrapped
from radarstream.defenses.protocol import Complete
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion, Prompt, Task
from radarstream.schemas.tasks import GUARDRAIL, TASKS

MAX_QUESTION_CHARACTERS: Final = 600
MAX_PREVIOUS_CHARACTERS: Final = 300


def build_prompt(
    task: Task, question: str, passages: Sequence[str], previous_answer: str | None = None
) -> Prompt:
    """Build the prompt of `task` with untrusted `passages`, in their order.

    Control characters are removed, white space is collapsed, and passages are cut to the task's
    limits. Raises ValueError if a task of one passage gets another number.
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
    """Return a digest of each task's wording, by task."""
    return {
        task.value: sha256(spec.wording.encode()).hexdigest()[:12] for task, spec in TASKS.items()
    }


def plain(text: str, limit: int) -> str:
    r"""Return at most `limit` characters of `text` on one line.

    Control characters, lone surrogates and invisible format characters, which can hide an
    instruction from a reader, are removed.

    >>> plain("a\x00b\ud800 \n c" + "d" * 9, 6)
    'ab cdd'
    """
    # Four times the limit, because a page can begin with much that is removed.
    words = text[: 4 * limit].split()
    line = " ".join(words)
    if not line.isprintable():
        visible = ("".join(c for c in word if category(c)[0] != "C") for word in words)
        line = " ".join(filter(None, visible))
    return line[:limit].rstrip()


def prompts_of(rows: Sequence[Complete]) -> tuple[Prompt, ...]:
    """Build the prompts of requests."""
    return tuple(build_prompt(r.task, r.question, r.passages, r.previous_answer) for r in rows)


ItemT = TypeVar("ItemT")
OutT = TypeVar("OutT")

LONG_FORM: Final[dict[Task, Task]] = {
    spec.task: spec.at_length for spec in TASKS.values() if spec.at_length is not None
}


def ask_at_length(call: Call) -> Replies:
    """Ask for long answers: replace task, instruction, examples and length of the prompts.

    Replies are put on one line. Tasks without a long form, and requests of plug-ins without a
    `prompt`, do not change. Raises ModelError as the model.
    """
    replies = call.ask_with(at_length)
    if call.method == Method.COMPLETE:
        return [_on_one_line(p, reply) for p, reply in zip(call.requests, replies, strict=True)]
    return replies


def answering_at_length(models: Models) -> Models:
    """Return the models, wrapped by `ask_at_length`."""
    tokens = None if models.tokens is None else Wrapped(models.tokens, ask_at_length)
    plugins = {name: Wrapped(model, ask_at_length) for name, model in models.plugins.items()}
    generator = Wrapped(models.generator, ask_at_length)
    return replace(models, generator=generator, tokens=tokens, plugins=plugins)


def in_its_form(
    items: Sequence[ItemT],
    is_long: Callable[[ItemT], bool],
    work: Callable[[Sequence[ItemT], Models], Sequence[OutT]],
    models: Models,
) -> list[OutT]:
    """Call `work` with the items for short answers, then with those for long answers, and with
    models for each form; return the results in the items' order.
    """
    found: dict[int, OutT] = {}
    for form in (False, True):
        places = [place for place, item in enumerate(items) if is_long(item) is form]
        if places:
            asked = answering_at_length(models) if form else models
            made = work([items[place] for place in places], asked)
            found.update(zip(places, made, strict=True))
    return [found[place] for place in range(len(items))]


def at_length(prompt: Prompt) -> Prompt:
    """Return a prompt for a long answer, with the same question and passages."""
    if prompt.task not in LONG_FORM:
        return prompt
    spec = TASKS[LONG_FORM[prompt.task]]
    return replace(
        prompt,
        task=spec.task,
        instruction=spec.instruction,
        shots=spec.shots,
        max_tokens=spec.max_tokens,
    )


def _on_one_line(prompt: Prompt, completion: Completion | ModelError) -> Completion | ModelError:
    if isinstance(completion, ModelError) or prompt.task not in LONG_FORM:
        return completion
    return replace(completion, text=" ".join(completion.text.split()))


def guarded(models: Models, sentences: Sequence[str] = (GUARDRAIL,)) -> Models:
    """Return models that add sentences to the instruction of prompts, as `instructed`."""
    return models.wrapped(lambda call: call.ask_with(lambda p: instructed(p, sentences)))


def instructed(prompt: Prompt, sentences: Sequence[str]) -> Prompt:
    """Add sentences to the instruction of a prompt with passages.

    Prompts of judges stay, because they have their own controls against texts that steer.
    """
    judges = bool(TASKS[prompt.task].parts)
    if judges or not (prompt.instruction and prompt.passages):
        return prompt
    return replace(prompt, instruction=" ".join((prompt.instruction, *sentences)))
