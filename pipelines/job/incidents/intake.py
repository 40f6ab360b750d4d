"""Takes complaints: finds the answer that each is about, and limits what a sender may send."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

from sqlalchemy import Connection, Engine, Table

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import complaints, senders
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, kept_answers
from radarstream.connectors.state_table.queries.lookup import ANSWERED, FINAL_MARKS, queries_named
from radarstream.defenses.attribution.protection import Rules, refusal
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import decode_complaint, encode
from radarstream.schemas.errors import InputError, RadarstreamError, ReasonClass
from radarstream.schemas.incidents import Complaint, incident_id
from radarstream.schemas.names import flaw_of, plain_name
from radarstream.schemas.shown import one_line
from radarstream.schemas.times import milliseconds

DAY = timedelta(days=1)

Refusal = Literal["ambiguous", "not_kept", "no_answer", "enough"]


class RefusedComplaintError(RadarstreamError):
    """A complaint that is refused; `reason` is a code without text of the complaint."""

    def __init__(self, reason: Refusal, detail: str) -> None:
        super().__init__(detail)
        self.reason: Refusal = reason


def take_in(engine: Engine, complaint: Complaint, rules: Rules, now: datetime) -> StoredComplaint:
    """Store a complaint; for a repetition return the earlier one. Raises RefusedComplaintError
    if it is about no kept answer, or the sender reached a limit.
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
    """The kept answer that a complaint is about, and the wrong answer as recorded. Without a step,
    it is the latest step with this answer, else the latest. Raises RefusedComplaintError.
    """
    query_id = complaint.query_id
    if query_id is None:
        try:
            asking = only_query(engine, complaint.question or "", ANSWERED)
        except InputError as error:
            raise RefusedComplaintError("ambiguous", error.detail) from None
        query_id = asking or complaint.query
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


def only_query(engine: Engine, text: str, tables: Sequence[Table]) -> str | None:
    """The id of the query with this id or question, or None. Raises InputError for several."""
    found = queries_named(engine, text, tables)
    if len(found) > 1:
        ids = ", ".join(one_line(query_id) for query_id in found[:SHOWN])
        ids += ", …" if found[SHOWN:] else ""
        why = f"{len(found)} queries ask this, name one by its id: {ids}"
        raise InputError(ReasonClass.OUT_OF_RANGE, why)
    return found[0] if found else None


def bare(answer: str) -> str:
    """Fold case, white space and final marks, to compare answers in other spellings."""
    folded = " ".join(answer.casefold().split())
    return folded.rstrip(FINAL_MARKS) or folded


SHOWN = 10  # ids in a message


def report(  # noqa: PLR0913 what a complaint is made of
    settings: Settings,
    engine: Engine,
    user: str,
    query: str,
    answer: str | None = None,
    step: int | None = None,
    comment: str = "",
) -> StoredComplaint:
    """Store a user's complaint about an answer; a repetition changes nothing. `query` is an id or a
    question; `answer` and `step` default to the latest. Raises InputError, RefusedComplaintError.
    """
    complaint = checked(
        Complaint(
            sender=user,
            sent_at=datetime.now(UTC),
            query_id=only_query(engine, query, ANSWERED) or query,
            answer=answer,
            step=step,
            comment=comment,
        )
    )
    return take_in(engine, complaint, settings.attribution, complaint.sent_at)


def checked(complaint: Complaint) -> Complaint:
    """Check a complaint and return it as decoded from the topic. Raises InputError."""
    if complaint.answer is not None and not complaint.answer.strip():
        why = "the answer is empty; without one, the latest answer is meant"
        raise InputError(ReasonClass.MISSING_FIELD, why)
    if not complaint.sender.strip():
        raise InputError(ReasonClass.MISSING_FIELD, "the sender's name is empty")
    if flaw := flaw_of(complaint.sender):  # before encoding, which drops some characters
        raise InputError(ReasonClass.OUT_OF_RANGE, f"the sender's name has {flaw}")
    try:
        return decode_complaint(encode(complaint), now=None)
    except InputError as error:
        why = f"no complaint can be made of this: {error.detail}"
        raise InputError(error.reason, why) from None
