"""Answers at length: models that are asked for biographies instead of short answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from radarstream.connectors.models.wrapping import Call, Method, Replies, Wrapped
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion, Prompt, Task
from radarstream.schemas.tasks import TASKS

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
