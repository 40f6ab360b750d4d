"""The fixed part of a task and untrusted text become a prompt, which may be asked at length, or
with sentences more in its instruction (the guardrail of hook C).

Text from documents is only ever concatenated, capped in length; `connectors.models.rendering`
delimits it. The wording is in `schemas.tasks`.
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


ItemT = TypeVar("ItemT")
OutT = TypeVar("OutT")

LONG_FORM: Final[dict[Task, Task]] = {
    spec.task: spec.at_length for spec in TASKS.values() if spec.at_length is not None
}


def ask_at_length(call: Call) -> Replies:
    """The replies to the same prompts, asked at length. Raises ModelError like the model.

    Prompts keep question and passages and change task, instruction, examples and length; replies
    to them come on one line, because an answer is one line. Tasks that reason (rationales,
    consolidation) or judge stay as they are, and so do requests of plug-ins without a `prompt`. Of
    the answers to be synthesised, the prompt holds the first 300 characters each.
    """
    replies = call.ask_with(at_length)
    if call.method == Method.COMPLETE:
        return [_on_one_line(p, reply) for p, reply in zip(call.requests, replies, strict=True)]
    return replies


def answering_at_length(models: Models) -> Models:
    """The same models, asked for answers at length."""
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
    """Call `work` with the items for short answers, then with those for long answers.

    For the latter it is given models that answer at length. The results are in the items' order.
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
    """The same question of the same passages, to be answered at length."""
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
    """The same models, told the sentences with every prompt that has passages and an instruction.

    Judges are told nothing: their prompts have controls of their own against texts that steer.
    """
    return models.wrapped(lambda call: call.ask_with(lambda p: instructed(p, sentences)))


def instructed(prompt: Prompt, sentences: Sequence[str]) -> Prompt:
    """The prompt with sentences behind its instruction, where they have something to guard."""
    judges = bool(TASKS[prompt.task].parts)
    if judges or not (prompt.instruction and prompt.passages):
        return prompt
    return replace(prompt, instruction=" ".join((prompt.instruction, *sentences)))
