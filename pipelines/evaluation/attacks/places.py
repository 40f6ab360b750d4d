"""Where the texts of a condition go, and what the attacker knows there."""

from radarstream.pipelines.evaluation.attacks.protocol import (
    BENIGN,
    Aim,
    Condition,
    Surface,
    aim_of,
)
from radarstream.pipelines.evaluation.attacks.registry import attack_named
from radarstream.pipelines.evaluation.attacks.timing import Moment, Timing, generator
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot

TOP, RANDOM, CORPUS = "top", "random", "corpus"


def surface_of(attack: str | Condition) -> Surface:
    """Where a condition's texts go; for a name, where they go in the papers."""
    if isinstance(attack, str):
        return Surface.LIST if attack == BENIGN else attack_named(attack).surface
    on_list = attack.positions or attack.place in ("", TOP, RANDOM)
    return Surface.LIST if on_list else Surface.CORPUS


def peak_of(condition: Condition) -> int:
    """The most texts that the condition plants at one step."""
    if condition.attack == BENIGN:
        return 0
    peak = Timing.parse(condition.schedule).peak
    if peak is not None:
        return peak
    if condition.positions:
        return len(condition.positions)
    return int(condition.place[1:]) if surface_of(condition) is Surface.CORPUS else 1


def check_depth(condition: Condition, k: int) -> None:
    """Raise ConfigurationError when the condition needs ranks beyond the first k."""
    deepest = max(condition.positions, default=0)
    if condition.place in (TOP, RANDOM):
        deepest = peak_of(condition)
    if deepest > k:
        raise ConfigurationError(
            f"positions of {condition.name} reach rank {deepest}, beyond k = {k}"
        )


def ranks_of(condition: Condition, moment: Moment, count: int, k: int, seed: int) -> list[int]:
    """The ranks of `count` texts on a list at this moment, distinct, from 1 to k."""
    if condition.positions:
        return list(condition.positions[:count])
    if condition.place == TOP:
        return list(range(1, count + 1))
    drawn = generator(seed, moment, "places").choice(k, size=count, replace=False)
    return sorted(int(rank) + 1 for rank in drawn)


def aim_at(
    snapshot: SearchSnapshot, moment: Moment, elsewhere: tuple[SearchSnapshot, ...] = ()
) -> Aim:
    """What the attacker knows and wants at this moment; `elsewhere` is another history."""
    other = aim_of(elsewhere[min(moment.step, len(elsewhere) - 1)]) if elsewhere else None
    return aim_of(snapshot, former=moment.former, elsewhere=other)
