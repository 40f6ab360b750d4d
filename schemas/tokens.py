"""What is asked of a language model that tells probabilities of tokens, or its attention."""

from dataclasses import dataclass

from radarstream.schemas.prompt import Prompt


@dataclass(frozen=True, slots=True)
class ContinuationQuery:
    """How probable is the same reply to each of several prompts? `continuation` is not empty."""

    prompts: tuple[Prompt, ...]
    continuation: str


@dataclass(frozen=True, slots=True)
class AttentionQuery:
    """How is the attention of the tokens of `answer`, as the reply to `prompt`, shared among the
    passages of `prompt`?

    The answer is (n,) percentages, one per passage in the order of the prompt. They sum to 100, or
    are all 0 where no passage is attended to, or the answer has no word. The first line of `answer`
    is read.
    """

    prompt: Prompt
    answer: str
