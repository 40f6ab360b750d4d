"""Conditions of an experiment: read from text, and applied to histories.

    condition = "benign" | attack "@" place [ ":" when ]      when: see `timing`
    place     = rank { "+" rank }       1-based retrieval ranks, poisoned together
              | "top" | "random"        ranks 1 to k_t, or k_t ranks drawn at each step
              | "m" count               texts added to the corpus that is searched

Examples: `pia@1`, `poison@9+10`, `pia@1:late-3`, `pia@top:ramp-4`, `stale@1:every-2`,
`poisonedrag@m5`. The same grammar, clauses separated by ";", is a `Schedule` of a replay.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pipelines.evaluation.attacks.protocol import Aim, Surface, UnattackableError, aim_of
from pipelines.evaluation.attacks.registry import attack_named
from pipelines.evaluation.attacks.timing import Kind, Moment, Timing, generator, moments
from pipelines.evaluation.experiment.records import BENIGN, Condition
from schemas.errors import ConfigurationError
from schemas.snapshot import SearchSnapshot

TOP, RANDOM, CORPUS = "top", "random", "corpus"
_CONDITION = re.compile(
    r"(?P<attack>[a-z]+(-[a-z]+)*)"
    r"@((?P<ranks>\d+(\+\d+)*)|(?P<place>top|random|m[1-9]\d*))"
    r"(:(?P<when>[a-z0-9,-]+))?"
)


def parse_condition(text: str) -> Condition:
    """Read one condition. Raises ConfigurationError when it cannot be read or means nothing.

    >>> parse_condition("poison@9+10:late-3").positions
    (9, 10)
    """
    if text == BENIGN:
        return Condition()
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f"cannot read attack {text!r}; write it like pia@1, poison@1+2:2016,2020, "
            "pia@10:every-3, pia@top:ramp-4 or poisonedrag@m5"
        )
    positions = tuple(int(rank) for rank in (match["ranks"] or "").split("+") if rank)
    if 0 in positions or len(set(positions)) < len(positions):
        raise ConfigurationError(f"ranks in {text!r} must be distinct and start at 1")
    when = match["when"] or ""
    condition = Condition(
        match["attack"], positions, "" if when == "all" else when, match["place"] or ""
    )
    attack = attack_named(condition.attack)
    if attack.removes_answers and surface_of(condition) is Surface.LIST:
        raise ConfigurationError(f"{attack.name} removes texts: write {attack.name}@m5")
    peak = Timing.parse(condition.schedule).peak
    if positions and peak is not None and peak > len(positions):
        raise ConfigurationError(f"{text!r} poisons {peak} documents at {len(positions)} ranks")
    return condition


def product(attacks: Sequence[str], positions: Sequence[str]) -> tuple[Condition, ...]:
    """Conditions of a table: the clean one, then every attack at every position.

    A position is `1`, `9+10`, `top` or `random`. An attack that says its own place, such as
    `pia@1:late-3`, is taken as it is; one on a corpus gets its usual number of texts. Raises
    ConfigurationError also for an unknown name and when both surfaces are asked for at once.

    >>> [condition.name for condition in product(["pia", "poison"], ["1", "10"])]
    ['benign', 'pia@1', 'pia@10', 'poison@1', 'poison@10']
    """
    texts: list[str] = []
    for attack in attacks:
        if attack == BENIGN or "@" in attack:
            texts.append(attack)
        elif surface_of(attack) is Surface.CORPUS:
            texts.append(f"{attack}@m{attack_named(attack).several}")
        else:
            texts += [f"{attack}@{position}" for position in positions]
    made = [Condition(), *(parse_condition(text) for text in texts)]
    return one_surface(dict.fromkeys(made))


def one_surface(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions of one run. With attacks on a corpus, the clean condition searches it, too.

    Raises ConfigurationError when attacks on a list and on a corpus would share a table.
    """
    given = tuple(conditions)
    surfaces = {surface_of(c) for c in given if c.attack != BENIGN}
    if len(surfaces) > 1:
        raise ConfigurationError(
            "attacks on a result list (@1, @top) and on a corpus (@m5) do not compare: "
            "evaluate them in separate runs"
        )
    clean = Condition(place=CORPUS) if Surface.CORPUS in surfaces else Condition()
    return tuple(clean if c.attack == BENIGN else c for c in given)


def surface_of(attack: str | Condition) -> Surface:
    """Where a condition's texts go; for a name, where they go in the papers."""
    if isinstance(attack, str):
        return Surface.LIST if attack == BENIGN else attack_named(attack).surface
    on_list = attack.positions or attack.place in ("", TOP, RANDOM)
    return Surface.LIST if on_list else Surface.CORPUS


@dataclass(frozen=True, slots=True)
class Skipped:
    """A question that a condition leaves out, because one of its steps cannot be attacked."""

    query_id: str
    step: int
    reason: str


@dataclass(frozen=True, slots=True)
class Attacked:
    """Histories under one condition, in the order given, without the questions in `skipped`."""

    histories: tuple[tuple[SearchSnapshot, ...], ...]
    skipped: tuple[Skipped, ...] = ()


def attacked(
    condition: Condition, histories: Sequence[tuple[SearchSnapshot, ...]], *, k: int, seed: int = 0
) -> Attacked:
    """What the condition makes of the histories, one a question, snapshots in time order.

    Steps that the schedule spares are the very snapshots given. A question with a step that
    cannot be attacked as asked (no false passage, a target that holds the right answer, a right
    answer that never changes for an attack that waits for it) is left out and reported. Raises
    ConfigurationError for a condition that cannot be carried out at all.
    """
    if condition.attack == BENIGN:
        return Attacked(tuple(histories))
    check_depth(condition, k)
    done: list[tuple[SearchSnapshot, ...]] = []
    skipped: list[Skipped] = []
    for number, history in enumerate(histories):
        elsewhere = histories[(number + 1) % len(histories)] if len(histories) > 1 else ()
        outcome = _attacked_history(condition, history, elsewhere, number, k=k, seed=seed)
        if isinstance(outcome, Skipped):
            skipped.append(outcome)
        else:
            done.append(outcome)
    return Attacked(tuple(done), tuple(skipped))


def check_depth(condition: Condition, k: int) -> None:
    """Raise ConfigurationError when the condition needs ranks beyond the first k."""
    deepest = max(condition.positions, default=0)
    if condition.place in (TOP, RANDOM):
        deepest = peak_of(condition)
    if deepest > k:
        raise ConfigurationError(
            f"positions of {condition.name} reach rank {deepest}, beyond k = {k}"
        )


def peak_of(condition: Condition) -> int:
    """The most texts that the condition plants at one step."""
    peak = Timing.parse(condition.schedule).peak
    if peak is not None:
        return peak
    if condition.positions:
        return len(condition.positions)
    return int(condition.place[1:]) if condition.place.startswith("m") else 1


def places(condition: Condition, moment: Moment, count: int, k: int, seed: int) -> list[int]:
    """The ranks of `count` texts at this moment, distinct, from 1 to k."""
    if condition.positions:
        return list(condition.positions[:count])
    if condition.place == TOP:
        return list(range(1, count + 1))
    drawn = generator(seed, moment, "places").choice(k, size=count, replace=False)
    return sorted(int(rank) + 1 for rank in drawn)


def _attacked_history(
    condition: Condition,
    history: tuple[SearchSnapshot, ...],
    elsewhere: tuple[SearchSnapshot, ...],
    number: int,
    *,
    k: int,
    seed: int,
) -> tuple[SearchSnapshot, ...] | Skipped:
    attack = attack_named(condition.attack)
    timing, peak = Timing.parse(condition.schedule), peak_of(condition)
    done: list[SearchSnapshot] = []
    count, waited = 0, timing.kind is Kind.DRIFT
    for snapshot, moment in zip(history, moments(history, question=number), strict=True):
        count = timing.count(moment, peak=peak, previous=count, seed=seed)
        aim = aim_at(snapshot, moment, elsewhere)
        waited = waited or (count > 0 and not attack.ready(aim))
        if count == 0 or not attack.ready(aim):
            done.append(snapshot)
            continue
        try:
            ranks = places(condition, moment, count, k, seed)
            done.append(attack.poison(snapshot, positions=ranks, k=k, aim=aim))
        except UnattackableError as error:
            return Skipped(moment.query_id, moment.step, str(error))
    if history and waited and all(new is old for new, old in zip(done, history, strict=True)):
        return Skipped(history[0].query.id, len(history) - 1, "the right answer never changes")
    return tuple(done)


def aim_at(
    snapshot: SearchSnapshot, moment: Moment, elsewhere: tuple[SearchSnapshot, ...] = ()
) -> Aim:
    """What the attacker knows and wants at this moment; `elsewhere` is another history."""
    other = aim_of(elsewhere[min(moment.step, len(elsewhere) - 1)]) if elsewhere else None
    return aim_of(snapshot, former=moment.former, elsewhere=other)
