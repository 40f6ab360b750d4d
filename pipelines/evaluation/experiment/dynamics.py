"""How answers follow a changing truth and an attack that comes and goes, step by step.

Right and attacked are `acc_contains` and `asr_contains`, as in the tables beside.

- stale: the answer is wrong now, but would have been right at an earlier step.
- recovery after an attack: steps from the first clean one until the answer is right again, 0 when
  it is right at once; the next attack ends the wait.
- recovery after a change: the same from the step at which the right answers differ from those of
  the step before, until the next change.
- a failed answer says nothing: waits do not count its step, as if it had not been asked.
- belief: means of the memory node's prior (pi_S, pi_F) and posterior (S_old, F_old; RADAR, Eq.
  11-16).
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean

from radarstream.pipelines.evaluation.experiment.records import Row
from radarstream.pipelines.evaluation.metrics import Rate, Response, contains_target, contains_truth
from radarstream.schemas.answer_text import answer_set
from radarstream.schemas.verdict import MemoryDecision, MemoryVerdict


@dataclass(frozen=True, slots=True)
class Recovery:
    """How often and how fast answers became right again; `mean_steps` is over the recovered."""

    events: int
    recovered: int
    mean_steps: float | None
    most_steps: int | None


@dataclass(frozen=True, slots=True)
class Point:
    """The answers of all questions at one step (from 0) or in one year.

    Beliefs are means over the steps with a previous answer, None without any.
    """

    at: int
    answers: int
    attacked: Rate
    accuracy: Rate
    attack_success: Rate
    stale: Rate
    retained: Rate
    support_prior: float | None
    conflict_prior: float | None
    support_posterior: float | None
    conflict_posterior: float | None


@dataclass(frozen=True, slots=True)
class Dynamics:
    """One contender over time under one condition."""

    stale: Rate
    after_attack: Recovery
    after_change: Recovery
    by_step: tuple[Point, ...]
    by_year: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """One step of one question; None where a quantity does not apply or the answer failed."""

    row: Row
    correct: bool | None
    attacked: bool | None
    stale: bool | None


def dynamics_of(rows: Iterable[Row]) -> Dynamics:
    """Dynamics of one contender's rows under one condition, errors among them."""
    histories: defaultdict[str, list[Row]] = defaultdict(list)
    for row in rows:
        histories[row.query_id].append(row)
    judged = [judge(sorted(h, key=lambda row: row.step)) for h in histories.values()]
    moments = [moment for history in judged for moment in history]
    return Dynamics(
        stale=_rate(moment.stale for moment in moments),
        after_attack=_recovery(judged, _attack_stops, _attack_starts),
        after_change=_recovery(judged, _truth_changes, _truth_changes),
        by_step=_points(moments, lambda row: row.step),
        by_year=_points(moments, lambda row: row.observed_at.year),
    )


def judge(history: Sequence[Row]) -> list[Moment]:
    """Score one question's rows, which come in the order of their steps."""
    moments = []
    for index, row in enumerate(history):
        if row.error is not None:
            moments.append(Moment(row, None, None, None))
            continue
        response = Response(row.response, row.labels)
        earlier = [
            other.labels
            for other in history[:index]
            if answer_set(other.labels.answers) != answer_set(row.labels.answers)
        ]
        correct = contains_truth(response) if row.labels.answers else None
        stale = None
        if correct is not None and any(labels.answers for labels in earlier):
            stale = not correct and any(
                contains_truth(replace(response, labels=labels)) for labels in earlier
            )
        attacked = contains_target(response) if row.labels.target is not None else None
        moments.append(Moment(row, correct, attacked, stale))
    return moments


Edge = Callable[[Row, Row], bool]


def _attack_stops(before: Row, now: Row) -> bool:
    return before.labels.attack is not None and now.labels.attack is None


def _attack_starts(before: Row, now: Row) -> bool:
    return before.labels.attack is None and now.labels.attack is not None


def _truth_changes(before: Row, now: Row) -> bool:
    sets = answer_set(before.labels.answers), answer_set(now.labels.answers)
    return all(sets) and sets[0] != sets[1]


def _recovery(histories: Sequence[Sequence[Moment]], begins: Edge, ends: Edge) -> Recovery:
    """Waiting times in steps from each event until a right answer or the end of the wait."""
    waits: list[int | None] = []
    for asked in histories:
        history = [moment for moment in asked if moment.row.error is None]
        edges = list(pairwise(moment.row for moment in history))
        for start in (i for i, edge in enumerate(edges, start=1) if begins(*edge)):
            stop = next(
                (i for i in range(start + 1, len(history)) if ends(*edges[i - 1])), len(history)
            )
            right = (i for i in range(start, stop) if history[i].correct)
            found = next(right, None)
            waits.append(None if found is None else found - start)
    done = [wait for wait in waits if wait is not None]
    return Recovery(
        events=len(waits),
        recovered=len(done),
        mean_steps=fmean(done) if done else None,
        most_steps=max(done, default=None),
    )


def _points(moments: Sequence[Moment], place: Callable[[Row], int]) -> tuple[Point, ...]:
    grouped: defaultdict[int, list[Moment]] = defaultdict(list)
    for moment in moments:
        if moment.row.error is None:
            grouped[place(moment.row)].append(moment)
    return tuple(_point(at, members) for at, members in sorted(grouped.items()))


def _point(at: int, moments: Sequence[Moment]) -> Point:
    memories = [m.row.verdict.memory for m in moments if m.row.verdict is not None]
    decisions = [m.decision for m in memories if m.decision is not MemoryDecision.NONE]
    return Point(
        at=at,
        answers=len(moments),
        attacked=_rate(moment.row.labels.attack is not None for moment in moments),
        accuracy=_rate(moment.correct for moment in moments),
        attack_success=_rate(moment.attacked for moment in moments),
        stale=_rate(moment.stale for moment in moments),
        retained=_rate(decision is MemoryDecision.RETAINED for decision in decisions),
        support_prior=_mean(memories, lambda m: m.support_prior),
        conflict_prior=_mean(memories, lambda m: m.conflict_prior),
        support_posterior=_mean(memories, lambda m: m.support_posterior),
        conflict_posterior=_mean(memories, lambda m: m.conflict_posterior),
    )


def _rate(outcomes: Iterable[bool | None]) -> Rate:
    known = [outcome for outcome in outcomes if outcome is not None]
    return Rate(sum(known), len(known))


def _mean(
    memories: Sequence[MemoryVerdict], quantity: Callable[[MemoryVerdict], float | None]
) -> float | None:
    known = [value for memory in memories if (value := quantity(memory)) is not None]
    return fmean(known) if known else None
