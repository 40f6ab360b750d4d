"""What is asked of a language model that tells probabilities of tokens."""

from dataclasses import dataclass

from radarstream.schemas.prompt import Prompt


@dataclass(frozen=True, slots=True)
class ContinuationQuery:
    """How probable is the same reply to each of several prompts? `continuation` is not empty."""

    prompts: tuple[Prompt, ...]
    continuation: str
