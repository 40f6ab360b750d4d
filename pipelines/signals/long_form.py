"""Answers at length: a generator that writes biographies where it is asked for short answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from radarstream.pipelines.signals.metering import CallCounts
from radarstream.pipelines.signals.ports import Generator, Models, TokenScorer
from radarstream.schemas.errors import ModelError, PartialModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Completion, Prompt, Task
from radarstream.schemas.tasks import TASKS
from radarstream.schemas.tokens import ContinuationQuery, NextTokenQuery, NextTokenRows

ItemT = TypeVar("ItemT")
OutT = TypeVar("OutT")

LONG_FORM: Final[dict[Task, Task]] = {
    spec.task: spec.at_length for spec in TASKS.values() if spec.at_length is not None
}


@dataclass(frozen=True)
class LongFormGenerator:
    """Wraps a generator, with its cache, so that every defence answers at length unchanged.

    Prompts keep question and passages and change task, instruction, examples and length; replies
    to them come on one line, because an answer is one line. Tasks that reason (rationales,
    consolidation) or judge stay as they are. Of the answers to be synthesised, the prompt holds
    the first 300 characters each.
    """

    inner: Generator

    @property
    def model_id(self) -> str:
        """The wrapped model's: what is asked differs, who answers does not."""
        return self.inner.model_id

    @property
    def calls(self) -> int:
        """Prompts that reached the wrapped model, if it counts them."""
        return self.inner.calls if isinstance(self.inner, CallCounts) else 0

    @property
    def hits(self) -> int:
        """Prompts that its cache answered, if it counts them."""
        return self.inner.hits if isinstance(self.inner, CallCounts) else 0

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        """One completion per prompt, in order. Raises ModelError like the wrapped model."""
        try:
            completions = self.inner.complete([at_length(prompt) for prompt in prompts])
        except PartialModelError as error:
            outcomes: Sequence[Completion | ModelError] = error.outcomes
            raise PartialModelError(
                [
                    outcome if isinstance(outcome, ModelError) else on_one_line(prompt, outcome)
                    for prompt, outcome in zip(prompts, outcomes, strict=True)
                ]
            ) from error
        return [on_one_line(p, c) for p, c in zip(prompts, completions, strict=True)]


@dataclass(frozen=True)
class LongFormTokens:
    """Wraps a token scorer: probabilities of replies to the prompts that ask for answers at length.

    So that a method compares an answer at length with what a model asked for one would say.
    """

    inner: TokenScorer

    @property
    def model_id(self) -> str:
        """The wrapped model's."""
        return self.inner.model_id

    def next_tokens(self, queries: Sequence[NextTokenQuery]) -> list[NextTokenRows]:
        """One answer per query. Raises ModelError like the wrapped model."""
        return self.inner.next_tokens(
            [replace(q, prompts=all_at_length(q.prompts)) for q in queries]
        )

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """One matrix per query. Raises ModelError like the wrapped model."""
        return self.inner.log_probs([replace(q, prompts=all_at_length(q.prompts)) for q in queries])


def answering_at_length(models: Models) -> Models:
    """The same models, asked for answers at length."""
    return replace(
        models,
        generator=LongFormGenerator(models.generator),
        tokens=None if models.tokens is None else LongFormTokens(models.tokens),
    )


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


def all_at_length(prompts: Sequence[Prompt]) -> tuple[Prompt, ...]:
    """`at_length` of each."""
    return tuple(at_length(prompt) for prompt in prompts)


def at_length(prompt: Prompt) -> Prompt:
    """The same question of the same passages, to be answered at length."""
    task = LONG_FORM.get(prompt.task)
    if task is None:
        return prompt
    template = TASKS[task]
    return replace(
        prompt,
        task=task,
        instruction=template.instruction,
        shots=template.shots,
        max_tokens=template.max_tokens,
    )


def on_one_line(prompt: Prompt, completion: Completion) -> Completion:
    """A reply to a prompt that was rewritten, its lines joined."""
    if prompt.task not in LONG_FORM:
        return completion
    return replace(completion, text=" ".join(completion.text.split()))
