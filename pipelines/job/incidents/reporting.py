"""From a user's words to a stored complaint, for commands, routes and tools."""

from datetime import UTC, datetime

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.connectors.state_table.queries.lookup import ANSWERED, queries_named
from radarstream.pipelines.job.incidents.intake import take_in
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import decode_complaint, encode
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.incidents import Complaint
from radarstream.schemas.names import flaw_of
from radarstream.schemas.shown import one_line

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
    question; without `answer` and `step` the latest is meant. Raises InputError,
    RefusedComplaintError.
    """
    found = queries_named(engine, query, ANSWERED)
    if len(found) > 1:
        ids = ", ".join(one_line(query_id, 200) for query_id in found[:SHOWN])
        ids += ", …" if found[SHOWN:] else ""
        why = f"{len(found)} queries ask this, name one by its id: {ids}"
        raise InputError(ReasonClass.OUT_OF_RANGE, why)
    complaint = checked(
        Complaint(
            sender=user,
            sent_at=datetime.now(UTC),
            query_id=found[0] if found else query,
            answer=answer,
            step=step,
            comment=comment,
        )
    )
    return take_in(engine, complaint, settings.attribution, complaint.sent_at)


def checked(complaint: Complaint) -> Complaint:
    """Return what a reader of the topic would read. Raises InputError."""
    if complaint.answer is not None and not complaint.answer.strip():
        why = "the answer is empty; without one, the latest answer is meant"
        raise InputError(ReasonClass.MISSING_FIELD, why)
    if not complaint.sender.strip():
        raise InputError(ReasonClass.MISSING_FIELD, "the sender's name is empty")
    if flaw := flaw_of(complaint.sender):  # first: encoding leaves some characters out
        raise InputError(ReasonClass.OUT_OF_RANGE, f"the sender's name has {flaw}")
    try:
        return decode_complaint(encode(complaint), now=None)
    except InputError as error:
        why = f"no complaint can be made of this: {error.detail}"
        raise InputError(error.reason, why) from None
