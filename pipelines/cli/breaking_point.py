"""What `evaluate --breaking-point` asks for and prints."""

from radarstream.pipelines.cli.studies import words
from radarstream.pipelines.cli.terminal import say
from radarstream.pipelines.evaluation.attacks.conditions import one_surface
from radarstream.pipelines.evaluation.attacks.escalation import amounts_up_to, escalating
from radarstream.pipelines.evaluation.attacks.protocol import Condition
from radarstream.pipelines.evaluation.datasets import Dataset
from radarstream.pipelines.evaluation.defences import contenders as contending
from radarstream.pipelines.evaluation.defences.breaking_tables import KEY, sentences, title_of
from radarstream.pipelines.evaluation.defences.records import Adaptation, Contender
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.schemas.errors import ConfigurationError

BREAKING_POINTS = (KEY, "cost")  # how the keys of its tables begin


def with_and_without_memory(
    contenders: tuple[Contender, ...], data: Dataset
) -> tuple[Contender, ...]:
    """For histories also each defence with a memory without it, which judges steps alone."""
    if data.static:
        return contenders
    alone = (
        contending.over_time(contender, Adaptation.NONE)
        for contender in contenders
        if contender.adaptation is Adaptation.OWN and contending.remembers(contender)
    )
    return tuple(dict.fromkeys((*contenders, *alone)))


def breaking_conditions(
    data: Dataset,
    attacks: list[str],
    amounts: str,
    placement: str,
    schedule: str,
    k: int,
) -> tuple[Condition, ...]:
    """The conditions of `--breaking-point`: at each of the last steps of a history half of the
    documents is planted. Raises ConfigurationError.
    """
    try:
        wanted = [int(word) for word in words(amounts)] or amounts_up_to(k)
    except ValueError:
        raise ConfigurationError(f"--amounts takes whole numbers, got {amounts!r}") from None
    found = escalating(
        attacks,
        wanted,
        place=placement,
        steps=max(map(len, data.histories), default=1),
        schedule=schedule,
        at_each_step=max(1, k // 2),
    )
    for condition in found:
        condition.check_depth(k)
    return one_surface(found)


def print_breaking_points(board: Scoreboard) -> None:
    """Print where each defence breaks, in words."""
    for found in board.escalations:
        say(title_of(found), style="bold", wrap=True)
        for sentence in sentences(found):
            say(sentence, wrap=True)
