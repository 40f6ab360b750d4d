"""The guardrail prompt (hook C): a sentence more in the instruction of whatever shows passages.

The sentence is part of the prompt's instruction: a completion shows it before the worked examples,
a chat in the system message, and caches key replies by it.
"""

from collections.abc import Sequence
from dataclasses import replace

from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.prompt import Prompt
from radarstream.schemas.tasks import GUARDRAIL, TASKS


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
