"""Conditions of a study: read from text, and applied to histories.

    condition = "benign" | attack "@" place [ "/one-site" ] [ ":" when ]      when: see `timing`
    place     = ranks { "+" ranks }     1-based retrieval ranks, poisoned together
              | "top" | "random"        as many of the first ranks, or ranks drawn at each step
              | "m" count               texts added to the corpus that is searched
    ranks     = rank | rank ".." rank   from one to another

Every planted page has a site of its own; with `/one-site` those of a question share one.

Examples: `pia@1`, `poison@9+10`, `poison@1..5/one-site`, `pia@1:late-3`, `pia@top:late-3-4`,
`stale@1:every-2`, `poisonedrag@m5`. The same grammar, clauses separated by ";", is a `Schedule` of
a replay.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from radarstream.lab.attacks.corpus import (
    Corpus,
    Injection,
    RememberingEmbedder,
    corpus_of,
    inject,
    searched,
)
from radarstream.lab.attacks.protocol import (
    BENIGN,
    CORPUS,
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
from radarstream.schemas.snapshot import Labels, SearchSnapshot

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
class Skipped:
    """A question that a condition leaves out, because one of its steps cannot be attacked."""

    query_id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Planted:
    """What was planted at one step: the ranks it was retrieved at, and on a corpus the ids of
    all `count` texts and of those the attacker deleted.
    """

    query_id: str
    step: int
    attack: str
    target: str
    count: int
    ranks: tuple[int, ...]
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attacked:
    """Histories under one condition, in the order given, without the questions in `skipped`."""

    histories: tuple[tuple[SearchSnapshot, ...], ...]
    skipped: tuple[Skipped, ...] = ()
    planted: tuple[Planted, ...] = ()


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
    what the snapshot shows: this needs the `embedder`.

    A question with a step that cannot be attacked as asked (no false passage, a target that holds
    the right answer, a right answer that never changes for an attack that waits for it) is left
    out and reported. Raises ConfigurationError for a condition that cannot be carried out at all,
    ModelError when the embedder fails.
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
    skipped: list[Skipped] = []
    planted: list[Planted] = []
    for number, history in enumerate(histories):
        elsewhere = histories[(number + 1) % len(histories)] if len(histories) > 1 else ()
        try:
            outcomes = [plant(step) for step in _steps(condition, history, elsewhere, number)]
        except UnattackableError as error:
            skipped.append(Skipped(history[0].query.id, str(error)))
            continue
        done.append(tuple(snapshot for snapshot, _ in outcomes))
        planted += [record for _, record in outcomes if record is not None]
    return Attacked(tuple(done), tuple(skipped), tuple(planted))


@dataclass(frozen=True, slots=True)
class _Step:
    """One snapshot, and how many texts are planted there."""

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


Outcome = tuple[SearchSnapshot, Planted | None]


def _on_list(condition: Condition, k: int, seed: int, step: _Step) -> Outcome:
    if step.count == 0:
        return step.snapshot, None
    ranks = condition.ranks(step.moment, step.count, k, seed)
    attack = attack_named(condition.attack)
    snapshot = attack.poison(
        step.snapshot, positions=ranks, k=k, aim=step.aim, one_site=condition.one_site
    )
    return snapshot, _record(step, snapshot)


def _on_corpus(
    condition: Condition, k: int, embedder: Embedder, corpora: Sequence[Corpus], step: _Step
) -> Outcome:
    corpus = corpora[step.moment.step]
    if step.count == 0:
        return searched(step.snapshot, corpus, k, embedder), None
    attack = attack_named(condition.attack)
    corpus = inject(
        corpus, attack, step.snapshot, count=step.count, aim=step.aim, one_site=condition.one_site
    )
    asked = replace(
        step.snapshot,
        query=replace(step.snapshot.query, text=attack.asked(step.snapshot.query.text)),
    )
    snapshot = searched(asked, corpus, k, embedder)
    return snapshot, _record(step, snapshot, corpus.injections[-1])


def _record(step: _Step, snapshot: SearchSnapshot, injection: Injection | None = None) -> Planted:
    labels = snapshot.labels or Labels()
    return Planted(
        query_id=snapshot.query.id,
        step=step.moment.step,
        attack=labels.attack or "",
        target=labels.target or "",
        count=step.count,
        ranks=labels.poisoned_ranks,
        added=injection.added if injection else (),
        removed=injection.removed if injection else (),
    )


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
