"""Takes complaints in: which answer is meant, and may this sender send more?"""

from datetime import datetime, timedelta
from typing import Literal

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import complaints, senders
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, kept_answers
from radarstream.connectors.state_table.queries.lookup import ANSWERED, FINAL_MARKS, queries_named
from radarstream.defenses.attribution.protection import Rules, refusal
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.incidents import Complaint, incident_id
from radarstream.schemas.names import plain_name
from radarstream.schemas.times import milliseconds

DAY = timedelta(days=1)

Refusal = Literal["ambiguous", "not_kept", "no_answer", "enough"]


class RefusedComplaintError(RadarstreamError):
    """A complaint that is not taken in; the message says why, `reason` without its words."""

    def __init__(self, reason: Refusal, detail: str) -> None:
        super().__init__(detail)
        self.reason: Refusal = reason


def take_in(engine: Engine, complaint: Complaint, rules: Rules, now: datetime) -> StoredComplaint:
    """Store a complaint; for a repetition return the earlier one. Raises RefusedComplaintError
    where no kept answer is meant or the sender has sent enough.
    """
    kept, answer = meant(engine, complaint)
    stored = StoredComplaint(
        complaint_id=complaint.id,
        incident=incident_id(kept.query_id, kept.step, answer),
        query_id=kept.query_id,
        step=kept.step,
        answer=answer,
        sender=plain_name(complaint.sender),  # one name has one spelling
        sent_ms=milliseconds(complaint.sent_at),
        received_ms=milliseconds(now),
        comment=complaint.comment,
    )
    since_ms = milliseconds(now - DAY)
    return in_transaction(engine, lambda one: taken_in(one, stored, rules, since_ms=since_ms))


def taken_in(
    connection: Connection, complaint: StoredComplaint, rules: Rules, *, since_ms: int
) -> StoredComplaint:
    """Store a complaint; limits count from `since_ms`. Raises RefusedComplaintError."""
    if earlier := complaints.repeated(connection, complaint):
        return earlier
    why = refusal(
        rules,
        senders.record_of(connection, complaint.sender),
        in_a_day=complaints.received_since(connection, complaint.sender, since_ms),
        waiting=complaints.count_open(connection),
        own_waiting=complaints.count_open(connection, complaint.sender),
    )
    if why:
        raise RefusedComplaintError("enough", why)
    complaints.insert(connection, complaint)
    return complaint


def meant(engine: Engine, complaint: Complaint) -> tuple[KeptAnswer, str]:
    """The kept answer that a complaint is about, and the wrong answer as recorded: of the step it
    names, else the latest with this answer, else the latest. Raises RefusedComplaintError.
    """
    query_id = complaint.query_id
    if query_id is None:
        asking = queries_named(engine, complaint.question or "", ANSWERED)
        if len(asking) > 1:
            raise RefusedComplaintError(
                "ambiguous", f"{len(asking)} queries ask this; a complaint names one by its id"
            )
        query_id = asking[0] if asking else complaint.query
    kept = kept_answers(engine, query_id)
    if not kept:
        raise RefusedComplaintError(
            "not_kept",
            f"no answer of query {query_id!r} is kept: with attribution.enabled, the job keeps the "
            "last attribution.keep_steps answers of a query for attribution.keep_days",
        )
    candidates = [one for one in kept if complaint.step in (None, one.step)]
    if not candidates:
        steps = ", ".join(str(one.step) for one in kept)
        raise RefusedComplaintError(
            "not_kept",
            f"no answer of query {query_id!r} at step {complaint.step} is kept; steps {steps} are",
        )
    answer = complaint.answer.strip() if complaint.answer else candidates[0].answer
    if not answer:
        raise RefusedComplaintError(
            "no_answer", f"query {query_id!r} has no answer that could be wrong"
        )
    for one in candidates:
        for recorded in (one.answer, one.undefended):
            if recorded and bare(recorded) == bare(answer):
                return one, recorded
    return candidates[0], answer


def bare(answer: str) -> str:
    """Fold case, white space and final marks: another spelling is no other answer."""
    folded = " ".join(answer.casefold().split())
    return folded.rstrip(FINAL_MARKS) or folded
