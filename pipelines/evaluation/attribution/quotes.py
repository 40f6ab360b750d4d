"""What a complaint says the answer was."""

from collections.abc import Callable
from zlib import crc32

from radarstream.pipelines.evaluation.attribution.scenarios import Circumstance, Clean, Scenario

# RAGOrigin's noisy feedback (Table 23) is paraphrased by a language model; these rules stand in.
_NOISES: tuple[Callable[[str], str], ...] = (
    lambda answer: f"It told me {answer}",
    lambda answer: f"{answer}, if I remember right",
    lambda answer: f"The answer that came up was {answer}",
    lambda answer: f"something like {answer.lower()}",
    lambda answer: f"It claims that it is {answer}, which is wrong",
)


def quoted(scenario: Scenario, query_id: str, answer: str, target: str | None) -> str:
    """The answer as a complaint quotes it: as it was given, in other words, or made up."""
    if scenario.clean is Clean.INVENTED_REPORTS:
        return target or ""
    if scenario.circumstance is Circumstance.NOISY:
        return noisy(answer, query_id)
    return answer


def noisy(answer: str, query_id: str) -> str:
    """The answer in other words with the same meaning, by a rule that the question draws.

    >>> noisy("Rome", "q-1")
    'The answer that came up was Rome'
    """
    return _NOISES[crc32(query_id.encode()) % len(_NOISES)](answer)
