"""A study's results: every scenario and family, every attributor, from the table of scores."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import polars as pl

from radarstream.defenses.attribution.protection import Rules, indistinct
from radarstream.pipelines.evaluation.attribution.rows import (
    AttributionRow,
    CaseState,
    EventKey,
    EventRow,
)
from radarstream.pipelines.evaluation.attribution.scenarios import Family, parse_scenario
from radarstream.pipelines.evaluation.attribution.scoring import (
    COUNTS,
    Score,
    confusion,
    scores,
)
from radarstream.pipelines.evaluation.exposure import Exposure, ExposureScores, score_exposure
from radarstream.pipelines.evaluation.rates import Rate, rates_by
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled
from radarstream.pipelines.evaluation.study.rows import COST as COST_COLUMNS
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
class AttributorSummary:
    """One attributor on one scenario, or on all of a family's.

    Rates count cases: `attacked_after`, `correct_after` the answers once what was flagged is
    removed, `correct_before` those complained about, `correct_clean` those before the attack;
    `exact` the cases where all poison in scope and nothing benign was flagged; `flagged` those
    where anything was; `acted` those where complaints of trusted senders would have put it into
    quarantine. `slowest` and `usual` are seconds, `usual` the median.
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
    cost: dict[str, float | None]
    slowest: float
    usual: float


SHARES = tuple(f.name for f in fields(AttributorSummary) if f.type is Rate)
COST = {f"cost_{name}": name for name in COST_COLUMNS}
SCHEMA = {
    **dict.fromkeys(("contender", "condition", "family", "query_id"), pl.String),
    "error": pl.String,
    **dict.fromkeys((*COUNTS, "scope"), pl.Int64),
    **dict.fromkeys(SHARES, pl.Boolean),
    "finding": pl.String,
    **dict.fromkeys(COST, pl.Float64),
}


@dataclass(frozen=True, slots=True)
class Results:
    """Scores by scenario, and by family over its scenarios' cases."""

    scenarios: tuple[ScenarioScores, ...]
    by_scenario: tuple[AttributorSummary, ...]
    by_family: tuple[AttributorSummary, ...]

    def cell(self, attributor: str, group: str) -> AttributorSummary | None:
        """An attributor's cell of a Family, or of a scenario: one of them shares its name."""
        cells = self.by_family if isinstance(group, Family) else self.by_scenario
        return next((c for c in cells if (c.attributor, c.group) == (attributor, group)), None)


def results_of(
    events: Iterable[EventRow],
    rows: Iterable[AttributionRow],
    attributors: Sequence[str],
    scenarios: Sequence[str],
) -> Results:
    """Score everything; what has no case is left out.

    Clean scenarios ask different things, so that their family has no cells.
    """
    known = {event.key: event for event in events}
    place = {name: number for number, name in enumerate(scenarios)}
    counted = [row for row in rows if row.scenario in place]
    table = score_table(known, sorted(counted, key=lambda row: place[row.scenario]))
    families = [family.value for family in Family if family is not Family.CLEAN]
    return Results(
        tuple(scenario_scores(name, known.values()) for name in scenarios),
        tuple(cells_of(table, "condition", [(a, s) for a in attributors for s in scenarios])),
        tuple(cells_of(table, "family", [(a, f) for f in families for a in attributors])),
    )


def score_table(
    events: Mapping[EventKey, EventRow], rows: Iterable[AttributionRow]
) -> pl.DataFrame:
    """One line per attributor and case (`SCHEMA`), in the order of the rows.

    A row with an error has neither counts nor shares.
    """
    judged = ((events.get((row.scenario, row.query_id)), row) for row in rows)
    lines = [
        scored(event, row) for event, row in judged if event and event.outcome is CaseState.EVENT
    ]
    return pl.DataFrame(lines, schema=SCHEMA)


def scored(event: EventRow, row: AttributionRow) -> dict[str, Any]:
    """One line of the table."""
    line: dict[str, Any] = {
        "contender": row.attributor,
        "condition": row.scenario,
        "family": parse_scenario(row.scenario).family.value,
        "query_id": row.query_id,
        "error": row.error,
    }
    if row.error is not None:
        return line
    assert row.attribution is not None
    counts, after = confusion(event, row), row.after
    return line | {
        **asdict(counts),
        "scope": row.scope,
        "exact": counts.fp == counts.fn == 0,
        "flagged": bool(row.flagged),
        "acted": acted(event, row),
        "attacked_after": after is not None and after.attacked,
        "correct_after": after is not None and after.correct,
        "correct_before": correct(event, event.answer),
        "correct_clean": correct(event, event.clean_answer),
        "finding": row.attribution.finding.value,
        **{column: getattr(row.cost, name) for column, name in COST.items()},
    }


def acted(event: EventRow, row: AttributionRow) -> bool:
    """Whether complaints of trusted senders would put the flagged texts into quarantine.

    They do where the pipeline gives the answer complained about, gives another one without the
    flagged texts, and these pass `defenses.attribution.protection`.
    """
    found, after = row.attribution, row.after
    if found is None or after is None or not found.flagged:
        return False
    if not event.reproduced or after.persists or not after.answer:
        return False
    return not indistinct(found.gap, found.generation_gap, found.texts, Rules())


def correct(event: EventRow, answer: str | None) -> bool:
    """Whether an answer to the event's question is correct."""
    return is_correct(answer or "", Labels(event.answers, event.all_answers_required))


def cells_of(
    table: pl.DataFrame, column: str, wanted: Iterable[tuple[str, str]]
) -> Iterable[AttributorSummary]:
    """The cells of attributors and groups that have a line; `column` holds the groups."""
    parts = table.partition_by("contender", column, as_dict=True, maintain_order=True)
    return (cell_of(*key, parts[key]) for key in wanted if key in parts)


def cell_of(attributor: str, group: str, part: pl.DataFrame) -> AttributorSummary:
    """One cell; lines with an error leave every denominator."""
    sound = part.filter(pl.col("error").is_null())
    seconds = pl.col("cost_seconds")
    totals: dict[str, Any] = sound.select(
        pl.col("scope").mean(),
        pl.col(*COST).mean(),
        slowest=seconds.max(),
        usual=seconds.median(),
    ).row(0, named=True)
    return AttributorSummary(
        attributor=attributor,
        group=group,
        events=sound.height,
        errors=part.height - sound.height,
        scores=scores(sound),
        **rates_by(sound, (pl.lit(0),), SHARES).get((0,), dict.fromkeys(SHARES, Rate(0, 0))),
        findings=dict(sound.group_by("finding", maintain_order=True).len().iter_rows()),
        scope=totals["scope"],
        cost={name: totals[column] for column, name in COST.items()} if sound.height else {},
        slowest=totals["slowest"] or 0.0,
        usual=totals["usual"] or 0.0,
    )


def scenario_scores(name: str, events: Iterable[EventRow]) -> ScenarioScores:
    """What became of every question of a scenario."""
    mine = [event for event in events if event.scenario == name]
    statuses = Counter(event.outcome.value for event in mine)
    tried = [e for e in mine if e.outcome not in (CaseState.UNATTACKABLE, CaseState.FAILED)]
    won = sum(event.outcome in (CaseState.EVENT, CaseState.OWN_ERROR) for event in tried)
    held = sum(is_fooled(e.answer or "", e.target, strict=False) for e in tried)
    return ScenarioScores(
        scenario=name,
        family=parse_scenario(name).family,
        questions=len(mine),
        events=statuses[CaseState.EVENT.value],
        outcomes=dict(statuses),
        attacked=Rate(won, len(tried)),
        asr_contains=Rate(held, len(tried)),
        exposure=score_exposure([Exposure(e.retrieved, len(e.planted), e.k) for e in tried]),
    )
