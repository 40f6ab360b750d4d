"""Corpus poisoning ("Poison"): a fluent passage that claims the target as a fact.

The question itself is nowhere in the text, so that a retriever finds it badly: the published
evaluations put it into the result list (RobustRAG, ReliabilityRAG, RADAR section 5.1).
"""

from radarstream.pipelines.evaluation.attacks.protocol import Aim, false_passage

REPETITIONS = 10  # as in the published evaluations
LONG_FORM_REPETITIONS = 3


def planted_falsehood(aim: Aim, count: int) -> tuple[str, ...]:
    """The first false passage of the data ten times, one a line; every text is the same."""
    return ("\n".join([false_passage(aim, 0)] * REPETITIONS),) * count


def long_planted_falsehood(aim: Aim, count: int) -> tuple[str, ...]:
    """The same for long answers: three times."""
    return ("\n".join([false_passage(aim, 0)] * LONG_FORM_REPETITIONS),) * count
