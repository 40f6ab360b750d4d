"""A study's results: every scenario and family, every attributor, from the rows alone."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean, median

from radarstream.defenses.attribution.protection import Rules, indistinct
from radarstream.pipelines.evaluation.attribution.rows import (
    AttributionCost,
    AttributionRow,
    EventRow,
    Outcome,
    Role,
)
from radarstream.pipelines.evaluation.attribution.scenarios import Family, parse_scenario
from radarstream.pipelines.evaluation.attribution.scoring import Pair, Score, confusion, scores
from radarstream.pipelines.evaluation.exposure import Exposure, ExposureScores, score_exposure
from radarstream.pipelines.evaluation.metrics import Rate, Response, contains_target, is_correct
from radarstream.schemas.attribution import Finding
from radarstream.schemas.snapshot import Labels


@dataclass(frozen=True, slots=True)
class ScenarioScores:
    """What a scenario did to the undefended pipeline.

    `attacked` counts the questions that could be attacked and were answered as the attacker wanted,
    also where the clean corpus has the same effect; `asr_contains` those whose answer holds the
    target anywhere, also within a word. `outcomes` counts all questions, `exposure` is what
    retrieval let through.
    """

    scenario: str
    family: Family
    questions: int
    events: int
    outcomes: dict[str, int]
    attacked: Rate
    asr_contains: Rate
    exposure: ExposureScores


@dataclass(frozen=True, slots=True)
class Cell:
    """One attributor on one scenario, or on all of a family's.

    Rates count events: `attacked_after`, `correct_after` the answers once what was flagged is
    removed, `correct_before` those reported, `correct_clean` those before the attack; `exact` the
    events where all poison in scope and nothing benign was flagged; `flagged` those where anything
    was; `acted` those of them that trusted reporters together could have quarantined without an
    operator, as `defenses.attribution.protection` has it: the pipeline gives the reported answer,
    and another one without the flagged texts, which stand apart and raise the answer's probability.
    """

    attributor: str
    group: str
    events: int
    errors: int
    scores: dict[str, Score]
    exact: Rate
    flagged: Rate
    acted: Rate
    attacked_after: Rate
    correct_after: Rate
    correct_before: Rate
    correct_clean: Rate
    findings: dict[str, int]
    scope: float | None
    cost: dict[str, float]
    slowest: float
    usual: float


@dataclass(frozen=True, slots=True)
class Results:
    """Scores by scenario, and by family over its scenarios' events."""

    scenarios: tuple[ScenarioScores, ...]
    by_scenario: tuple[Cell, ...]
    by_family: tuple[Cell, ...]

    def cell(self, attributor: str, group: str) -> Cell | None:
        """An attributor's cell of a Family, or of a scenario: one of them shares its name."""
        cells = self.by_family if isinstance(group, Family) else self.by_scenario
        return next((c for c in cells if (c.attributor, c.group) == (attributor, group)), None)


def results_of(
    events: Iterable[EventRow],
    rows: Iterable[AttributionRow],
    attributors: Sequence[str],
    scenarios: Sequence[str],
    *,
    seed: int = 0,
) -> Results:
    """Score everything; what has no event is left out."""
    known = {event.key: event for event in events}
    grouped: dict[tuple[str, str], list[Pair]] = {}
    for row in rows:
        event = known.get((row.scenario, row.query_id))
        if event is not None and event.outcome is Outcome.EVENT:
            grouped.setdefault((row.attributor, row.scenario), []).append((event, row))
    by_scenario = [
        cell_of(attributor, scenario, grouped[attributor, scenario], seed)
        for attributor in attributors
        for scenario in scenarios
        if (attributor, scenario) in grouped
    ]
    return Results(
        tuple(scenario_scores(name, known.values()) for name in scenarios),
        tuple(by_scenario),
        tuple(family_cells(grouped, attributors, scenarios, seed)),
    )


def family_cells(
    grouped: Mapping[tuple[str, str], list[Pair]],
    attributors: Sequence[str],
    scenarios: Sequence[str],
    seed: int,
) -> Iterable[Cell]:
    """Cells over all scenarios of a family; clean scenarios ask different things: no cell."""
    for family in Family:
        members = [name for name in scenarios if parse_scenario(name).family is family]
        for attributor in attributors:
            pairs = [pair for name in members for pair in grouped.get((attributor, name), [])]
            if pairs and family is not Family.CLEAN:
                yield cell_of(attributor, family.value, pairs, seed)


def scenario_scores(name: str, events: Iterable[EventRow]) -> ScenarioScores:
    """What became of every question of a scenario."""
    mine = [event for event in events if event.scenario == name]
    outcomes = Counter(event.outcome.value for event in mine)
    tried = [e for e in mine if e.outcome not in (Outcome.UNATTACKABLE, Outcome.FAILED)]
    won = sum(event.outcome in (Outcome.EVENT, Outcome.OWN_ERROR) for event in tried)
    held = [Response(e.answer or "", Labels(target=e.target)) for e in tried]
    seen = [Exposure(event.retrieved, len(event.planted), event.k) for event in tried]
    return ScenarioScores(
        scenario=name,
        family=parse_scenario(name).family,
        questions=len(mine),
        events=outcomes[Outcome.EVENT.value],
        outcomes=dict(outcomes),
        attacked=Rate(won, len(tried)),
        asr_contains=Rate(sum(map(contains_target, held)), len(tried)),
        exposure=score_exposure(seen),
    )


def cell_of(attributor: str, group: str, pairs: Sequence[Pair], seed: int) -> Cell:
    """One cell; rows with an error leave every denominator."""
    sound = [pair for pair in pairs if pair[1].error is None]
    seconds = [row.cost.seconds for _, row in sound]
    return Cell(
        attributor=attributor,
        group=group,
        events=len(sound),
        errors=len(pairs) - len(sound),
        scores=scores([confusion(*pair) for pair in sound], seed=seed),
        exact=rate(sound, exact),
        flagged=rate(sound, lambda _, row: bool(row.flagged)),
        acted=rate(sound, acted),
        attacked_after=rate(sound, lambda _, row: row.after is not None and row.after.attacked),
        correct_after=rate(sound, lambda _, row: row.after is not None and row.after.correct),
        correct_before=rate(sound, lambda event, _: correct(event, event.answer)),
        correct_clean=rate(sound, lambda event, _: correct(event, event.clean_answer)),
        findings=dict(Counter(finding_of(row).value for _, row in sound)),
        scope=fmean(row.scope for _, row in sound) if sound else None,
        cost=mean_cost([row.cost for _, row in sound]),
        slowest=max(seconds, default=0.0),
        usual=median(seconds) if seconds else 0.0,
    )


def rate(pairs: Sequence[Pair], counts: Callable[[EventRow, AttributionRow], bool]) -> Rate:
    """The share of events that count."""
    return Rate(sum(counts(event, row) for event, row in pairs), len(pairs))


def exact(event: EventRow, row: AttributionRow) -> bool:
    """Whether all poison in scope and nothing benign was flagged."""
    return all(
        (text.id in row.flagged) == (text.role is Role.POISON)
        for text in event.texts[: row.scope]
        if text.role is not Role.BYSTANDER
    )


def acted(event: EventRow, row: AttributionRow) -> bool:
    """Whether enough trusted reporters would have the flagged texts quarantined."""
    found, after = row.attribution, row.after
    if found is None or after is None or not found.flagged:
        return False
    if not event.reproduced or after.persists or not after.answer:
        return False
    return not indistinct(found.gap, found.generation_gap, found.texts, Rules())


def correct(event: EventRow, answer: str | None) -> bool:
    """Whether an answer to the event's question is right."""
    labels = Labels(event.answers, event.all_answers_required)
    return is_correct(answer or "", labels)


def finding_of(row: AttributionRow) -> Finding:
    """What a sound row found."""
    assert row.attribution is not None
    return row.attribution.finding


def mean_cost(costs: Sequence[AttributionCost]) -> dict[str, float]:
    """Means of every count by its name."""
    names = [field.name for field in fields(AttributionCost)]
    return {name: fmean(getattr(cost, name) for cost in costs) for name in names} if costs else {}
