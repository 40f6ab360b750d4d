"""Takes reports of wrong answers in: whose answer is meant, and may this reporter report more?"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.incidents import report_standing, reports
from radarstream.connectors.state_table.incidents.cases import Case, cases_of
from radarstream.connectors.state_table.incidents.reports import StoredReport
from radarstream.connectors.state_table.queries.lookup import ANSWERED, FINAL_MARKS, queries_named
from radarstream.defenses.attribution.protection import Rules, Trust, refusal
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.names import plain_name
from radarstream.schemas.reports import PIPELINE, AnswerReport, misgeneration_id
from radarstream.schemas.times import milliseconds

DAY = timedelta(days=1)

Refusal = Literal["ambiguous", "not_kept", "no_answer", "own_name", "enough"]


class RefusedReportError(RadarstreamError):
    """A report that is not taken in; the message says why, `reason` without its words."""

    def __init__(self, reason: Refusal, detail: str) -> None:
        super().__init__(detail)
        self.reason: Refusal = reason


def trust_of(standing: report_standing.Standing) -> Trust:
    """A reporter's record of what has come to an end, for a place in the queue."""
    return Trust(standing.confirmed, standing.dismissed, standing.unconfirmed)


def trust_to_decide(standing: report_standing.Standing) -> Trust:
    """A reporter's record for a decision: what waits counts, it may be the worst of it."""
    others = standing.unconfirmed + standing.waiting
    return Trust(standing.confirmed, standing.dismissed, others)


def take_in(engine: Engine, report: AnswerReport, rules: Rules, now: datetime) -> StoredReport:
    """Store a report; one that repeats an earlier one changes nothing, and that one is returned.

    Raises RefusedReportError when no kept answer is meant, or the reporter has sent enough.
    """
    if plain_name(report.reporter) == PIPELINE:
        raise RefusedReportError("own_name", f"the name {PIPELINE!r} is the pipeline's own")
    case, answer = meant(engine, report)
    stored = StoredReport(
        report_id=report.id,
        misgeneration=misgeneration_id(case.query_id, case.step, answer),
        query_id=case.query_id,
        step=case.step,
        answer=answer,
        reporter=report.reporter,
        reported_ms=milliseconds(report.reported_at),
        received_ms=milliseconds(now),
        comment=report.comment,
    )

    def work() -> StoredReport | str:
        with engine.begin() as connection:
            return taken_in(connection, stored, rules, since_ms=milliseconds(now - DAY))

    taken = retry_contended(work)
    if isinstance(taken, str):
        raise RefusedReportError("enough", taken)
    return taken


def taken_in(
    connection: Connection, report: StoredReport, rules: Rules, *, since_ms: int
) -> StoredReport | str:
    """The report as it is stored now, or why it is refused; limits count from `since_ms` on."""
    # A name that was stored before there was one spelling keeps its own, and its record with it.
    if not report_standing.has_reported(connection, report.reporter):
        report = replace(report, reporter=plain_name(report.reporter))
    if earlier := reports.repeated(connection, report):
        return earlier
    why = refusal(
        rules,
        trust_of(report_standing.standing(connection, report.reporter)),
        in_a_day=reports.received_since(connection, report.reporter, since_ms),
        waiting=reports.count_open(connection),
        own_waiting=reports.count_open(connection, report.reporter),
    )
    if why:
        return why
    reports.insert(connection, report)
    return report


def meant(engine: Engine, report: AnswerReport) -> tuple[Case, str]:
    """The kept case that a report is about, and the wrong answer, spelt as it is on record.

    Without a step: the latest case in which this answer was given, or else the latest of all.
    Raises RefusedReportError where there is none, or several queries ask the report's question.
    """
    query_id = report.query_id
    if query_id is None:
        asking = queries_named(engine, report.question or "", ANSWERED)
        if len(asking) > 1:
            raise RefusedReportError(
                "ambiguous", f"{len(asking)} queries ask this; a report names one by its id"
            )
        query_id = asking[0] if asking else report.query
    kept = cases_of(engine, query_id)
    if not kept:
        raise RefusedReportError(
            "not_kept",
            f"no answer of query {query_id!r} is kept: with attribution.enabled, the job keeps the "
            "last attribution.case_steps answers of a query for attribution.case_days",
        )
    cases = [case for case in kept if report.step in (None, case.step)]
    if not cases:
        steps = ", ".join(str(case.step) for case in kept)
        raise RefusedReportError(
            "not_kept",
            f"no answer of query {query_id!r} at step {report.step} is kept, but of steps {steps}",
        )
    answer = report.answer.strip() if report.answer else cases[0].answer
    if not answer:
        raise RefusedReportError(
            "no_answer", f"query {query_id!r} has no answer that could be wrong"
        )
    for case in cases:
        for recorded in (case.answer, case.undefended):
            if recorded and bare(recorded) == bare(answer):
                return case, recorded
    return cases[0], answer


def bare(answer: str) -> str:
    """An answer without case, white space and final marks: spelt anew, it is no second one."""
    folded = " ".join(answer.casefold().split())
    return folded.rstrip(FINAL_MARKS) or folded
