"""Conditions of a study: read from text, and applied to histories.

    condition = "benign" | attack "@" place [ "/one-site" ] [ ":" when ]      when: see `timing`
    place     = ranks { "+" ranks }     1-based retrieval ranks, poisoned together
              | "top" | "random"        as many of the first ranks, or ranks drawn at each step
              | "m" count               texts added to the corpus that is searched
    ranks     = rank | rank ".." rank   from one to another

The same grammar, clauses separated by ";", is a `Schedule` of a replay.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from radarstream.lab.attacks.corpus import Corpus, RememberingEmbedder, corpus_of, inject, searched
from radarstream.lab.attacks.protocol import (
    BENIGN,
    CORPUS,
    RANDOM,
    TOP,
    Aim,
    Condition,
    Surface,
    UnattackableError,
    aim_of,
    always,
)
from radarstream.lab.attacks.registry import attack_named
from radarstream.lab.attacks.timing import Kind, Moment, moments
from radarstream.pipelines.signals.ports import Embedder
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.sites import site_of
from radarstream.schemas.snapshot import SearchSnapshot

_MOST_RANKS = 10_000
_CONDITION = re.compile(
    r"(?P<attack>[a-z]+(-[a-z]+)*)"
    r"@((?P<ranks>\d+(\.\.\d+)?(\+\d+(\.\.\d+)?)*)|(?P<place>top|random|m[1-9]\d*))"
    r"(?P<one_site>/one-site)?"
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
            "poison@1..5/one-site, pia@10:every-3, pia@top:late-3-4 or poisonedrag@m5"
        )
    positions = _ranks(match["ranks"] or "")
    if 0 in positions or len(set(positions)) < len(positions):
        raise ConfigurationError(f"ranks in {text!r} must be distinct and start at 1")
    when = match["when"] or ""
    condition = Condition(
        match["attack"],
        positions,
        "" if when == "all" else when,
        match["place"] or "",
        one_site=match["one_site"] is not None,
    )
    attack = attack_named(condition.attack)
    if attack.removes_answers and condition.surface is Surface.LIST:
        raise ConfigurationError(f"{attack.name} removes texts: write {attack.name}@m5")
    peak = condition.timing.peak
    if positions and peak is not None and peak > len(positions):
        raise ConfigurationError(f"{text!r} poisons {peak} documents at {len(positions)} ranks")
    return condition


def _ranks(text: str) -> tuple[int, ...]:
    """Ranks as written; none for an empty text.

    >>> _ranks("1..3+7")
    (1, 2, 3, 7)
    """
    ranks: list[int] = []
    for part in filter(None, text.split("+")):
        first, _, last = part.partition("..")
        if int(last or first) - int(first) >= _MOST_RANKS:
            raise ConfigurationError(f"{part} are more ranks than anybody retrieves")
        ranks += range(int(first), int(last or first) + 1)
    return tuple(ranks)


def product(
    attacks: Sequence[str], positions: Sequence[str], schedule: str = ""
) -> tuple[Condition, ...]:
    """Conditions of a table: the clean one, then every attack at every position.

    A position is `1`, `9+10`, `top` or `random`. An attack that says its own place, such as
    `pia@1:late-3`, is taken as it is; one on a corpus gets its usual number of texts. Raises
    ConfigurationError also for an unknown name and when both surfaces are asked for at once.

    >>> [condition.name for condition in product(["pia", "poison"], ["1", "10"])]
    ['benign', 'pia@1', 'pia@10', 'poison@1', 'poison@10']
    """
    texts: list[str] = []
    when = f":{schedule}" if schedule else ""
    for attack in attacks:
        if attack == BENIGN or "@" in attack:
            texts.append(attack)
        elif (found := attack_named(attack)).surface is Surface.CORPUS:
            texts.append(f"{attack}@m{found.several}{when}")
        else:
            texts += [f"{attack}@{position}{when}" for position in positions]
    made = [Condition(), *(parse_condition(text) for text in texts)]
    return one_surface(dict.fromkeys(made))


def one_surface(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """The conditions of one run. With attacks on a corpus, the clean condition searches it, too.
    Raises ConfigurationError when attacks on a list and on a corpus would share a table.
    """
    given = tuple(conditions)
    surfaces = {c.surface for c in given if c.attack != BENIGN}
    if len(surfaces) > 1:
        raise ConfigurationError(
            "attacks on a result list (@1, @top) and on a corpus (@m5) do not compare: "
            "evaluate them in separate runs"
        )
    clean = Condition(place=CORPUS) if Surface.CORPUS in surfaces else Condition()
    return tuple(clean if c.attack == BENIGN else c for c in given)


@dataclass(frozen=True, slots=True)
class Attacked:
    """Histories under one condition, in the order given, without the questions in `skipped`, of
    which a step cannot be attacked: by their ids, why.
    """

    histories: tuple[tuple[SearchSnapshot, ...], ...]
    skipped: Mapping[str, str] = field(default_factory=dict)


def attacked(
    condition: Condition,
    histories: Sequence[tuple[SearchSnapshot, ...]],
    *,
    k: int,
    seed: int = 0,
    embedder: Embedder | None = None,
) -> Attacked:
    """What the condition makes of the histories, one a question, snapshots in time order.

    On a result list, steps that the schedule spares are the very snapshots given. On a corpus,
    the corpus of step t holds the documents of every question's step t (of its last step, where
    it has fewer), the attacker's texts are added for one question at a time, and the k best are
    what the snapshot shows: this needs the `embedder`. A question with a step that cannot be
    attacked as asked is left out and reported. Raises ConfigurationError for a condition that
    cannot be carried out at all, ModelError when the embedder fails.
    """
    condition.check_depth(k)
    plant = partial(_on_list, condition, k, seed)
    if condition.surface is Surface.CORPUS:
        if embedder is None:
            raise ConfigurationError(f"{condition.name} searches a corpus: it needs an embedder")
        if not isinstance(embedder, RememberingEmbedder):
            embedder = RememberingEmbedder(embedder)
        plant = partial(_on_corpus, condition, k, embedder, _corpora(histories))
    done: list[tuple[SearchSnapshot, ...]] = []
    skipped: dict[str, str] = {}
    for number, history in enumerate(histories):
        elsewhere = histories[(number + 1) % len(histories)] if len(histories) > 1 else ()
        try:
            steps = _steps(condition, history, elsewhere, number)
            done.append(tuple(map(plant, steps)))
        except UnattackableError as error:
            skipped[history[0].query.id] = str(error)
    return Attacked(tuple(done), skipped)


@dataclass(frozen=True, slots=True)
class _Step:  # one snapshot, and how many texts are planted there
    snapshot: SearchSnapshot
    moment: Moment
    count: int
    aim: Aim


def _steps(
    condition: Condition,
    history: tuple[SearchSnapshot, ...],
    elsewhere: tuple[SearchSnapshot, ...],
    number: int,
) -> list[_Step]:
    timing, peak = condition.timing, condition.peak
    ready = always if condition.attack == BENIGN else attack_named(condition.attack).ready
    steps: list[_Step] = []
    waited = timing.kind is Kind.DRIFT
    for snapshot, moment in zip(history, moments(history, question=number), strict=True):
        count = peak if timing.attacks(moment) else 0
        there = min(moment.step, len(elsewhere) - 1)
        other = aim_of(elsewhere[there]) if elsewhere else None
        aim = aim_of(snapshot, former=moment.former, elsewhere=other)
        can_start = ready(aim)
        waited = waited or (count > 0 and not can_start)
        steps.append(_Step(snapshot, moment, count if can_start else 0, aim))
    if steps and waited and not any(step.count for step in steps):
        raise UnattackableError("its right answer never changes while it is observed")
    return steps


def _on_list(condition: Condition, k: int, seed: int, step: _Step) -> SearchSnapshot:
    if step.count == 0:
        return step.snapshot
    ranks = condition.ranks(step.moment, step.count, k, seed)
    attack = attack_named(condition.attack)
    return attack.poison(step.snapshot, positions=ranks, aim=step.aim, one_site=condition.one_site)


def _on_corpus(
    condition: Condition, k: int, embedder: Embedder, corpora: Sequence[Corpus], step: _Step
) -> SearchSnapshot:
    corpus = corpora[step.moment.step]
    if step.count == 0:
        return searched(step.snapshot, corpus, k, embedder)
    attack = attack_named(condition.attack)
    corpus = inject(
        corpus, attack, step.snapshot, count=step.count, aim=step.aim, one_site=condition.one_site
    )
    asked = replace(
        step.snapshot,
        query=replace(step.snapshot.query, text=attack.asked(step.snapshot.query.text)),
    )
    return searched(asked, corpus, k, embedder)


def _corpora(histories: Sequence[tuple[SearchSnapshot, ...]]) -> tuple[Corpus, ...]:
    """The corpus of every step of the longest history."""
    return tuple(
        corpus_of(
            document
            for history in histories
            if history
            for document in history[min(step, len(history) - 1)].documents
        )
        for step in range(max(map(len, histories), default=0))
    )


def sites_of_planted(snapshot: SearchSnapshot) -> int:
    """How many sites the planted documents are on; one without an address is its own site."""
    ranks = snapshot.labels.poisoned_ranks if snapshot.labels else ()
    planted = [document for document in snapshot.documents if document.rank in ranks]
    return len({site_of(document.url) or document.rank for document in planted})


def conditions_of(
    attacks: list[str], positions: list[str], conditions: list[str], schedule: str, k: int
) -> tuple[Condition, ...]:
    """The clean condition and the attacked ones, all on one surface and within the first k."""
    found = product(attacks, positions, schedule)
    if conditions and schedule:
        raise ConfigurationError("--condition says when by itself, as in pia@1:late-3")
    if conditions:
        found = one_surface(dict.fromkeys([Condition(), *map(parse_condition, conditions)]))
    for condition in found:
        condition.check_depth(k)
    return found


@dataclass(frozen=True, slots=True)
class Escalation:
    """More and more pages of an attack, by their number, at `top` or `random` ranks.

    With `one_site` they are all on one site, else each is on a site of its own; `schedule` says at
    which steps.
    """

    attack: str
    place: str
    schedule: str
    one_site: bool
    conditions: tuple[tuple[int, Condition], ...]


def escalations(conditions: Iterable[Condition]) -> list[Escalation]:
    """The conditions that belong together, in groups of at least two. One page on a site of its own
    is also one on one site. Conditions on a corpus, at other ranks than the first and with a number
    of texts that changes over time belong to none.
    """
    groups: dict[tuple[str, str, str, bool], dict[int, Condition]] = {}
    for condition in conditions:
        ranks = condition.positions
        place = TOP if ranks and ranks == (*range(1, len(ranks) + 1),) else condition.place
        if condition.attack == BENIGN or place not in (TOP, RANDOM):
            continue
        when = condition.schedule  # without the number of texts
        if condition.timing.peak is not None:
            when = when.rpartition("-")[0].removesuffix(Kind.CONSTANT)
        key, pages = (condition.attack, place, when), condition.peak
        groups.setdefault((*key, condition.one_site), {})[pages] = condition
        if pages == 1 and not condition.one_site:
            groups.setdefault((*key, True), {}).setdefault(1, condition)
    return [
        Escalation(*key, tuple((pages, held[pages]) for pages in sorted(held)))
        for key, held in groups.items()
        if len(held) > 1
    ]
