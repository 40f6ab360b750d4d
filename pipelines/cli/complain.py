"""`radarstream complain`: say that an answer is wrong."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

from typer import Option

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.state_table.queries.lookup import ANSWERED
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config, QueryName
from radarstream.pipelines.cli.queries import named_query
from radarstream.pipelines.cli.terminal import print_json, print_values, say
from radarstream.pipelines.job.incidents.intake import take_in
from radarstream.pipelines.job.incidents.settling import policy_of
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import decode_complaint, encode, outbox_record
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.incidents import PIPELINE, Complaint
from radarstream.schemas.names import flaw_of

STORED = ("incident", "complaint_id", "query_id", "step", "answer", "sender")


def complain(
    query: QueryName,
    answer: Annotated[
        str | None, Option(help="The wrong answer as it was seen; default: the latest.")
    ] = None,
    sender: Annotated[
        str | None, Option(help="Who complains; default: the system's user name.")
    ] = None,
    step: Annotated[
        int | None, Option(min=0, help="Step of the answer; default: the latest.")
    ] = None,
    comment: Annotated[str, Option(help="What is wrong with it.")] = "",
    publish: Annotated[
        bool, Option("--publish", help="Send it to the topic instead of the database.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say that an answer is wrong; `radarstream attribute` then finds out which texts taught it.

    Writes to the state database, or with --publish to the topic of complaints. A second complaint
    about the same answer changes nothing.
    """
    settings = load_settings(config)
    known = None if publish else named_query(existing_engine(settings), query, ANSWERED)
    # A query that is not known is named by its question if there is a blank in it, else by its id.
    by_id = known is not None or not any(character.isspace() for character in query)
    complaint = checked(
        Complaint(
            sender=_user_name() if sender is None else sender,
            sent_at=datetime.now(UTC),
            query_id=(known.query_id if known else query) if by_id else None,
            question=None if by_id else query,
            answer=answer,
            step=step,
            comment=comment,
        )
    )
    if publish:
        with KafkaSink(settings.kafka) as sink:
            sink.publish([outbox_record(complaint)])
        # The worker finds out query, step and answer, and the ids follow from them.
        named = {"query_id": complaint.query_id, "question": complaint.question}
        given = {name: value for name, value in named.items() if value}
        shown: dict[str, object] = {"published": True, **given, "sender": complaint.sender}
    else:
        rules = policy_of(settings).protection
        stored = take_in(existing_engine(settings), complaint, rules, complaint.sent_at)
        shown = {name: getattr(stored, name) for name in STORED}
    if as_json:
        print_json(shown)
        return
    print_values(shown)
    if not settings.attribution.enabled:
        say("attribution is off in these settings: [attribution] enabled = true switches it on")


def checked(complaint: Complaint) -> Complaint:
    """Return what a reader of the topic would read. Raises ConfigurationError."""
    if complaint.answer is not None and not complaint.answer.strip():
        raise ConfigurationError("--answer is empty; without it, the latest answer is meant")
    if not complaint.sender.strip():
        raise ConfigurationError("--sender is empty")
    if flaw := flaw_of(complaint.sender):  # first: encoding leaves some characters out
        raise ConfigurationError(f"the sender's name has {flaw}")
    try:
        read = decode_complaint(encode(complaint), now=None)
    except InputError as error:
        raise ConfigurationError(f"no complaint can be made of this: {error.detail}") from None
    if read.sender == PIPELINE:
        raise ConfigurationError(f"the name {PIPELINE!r} is the pipeline's own: give --sender")
    return read


def _user_name() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        raise ConfigurationError("no user name is known: give --sender") from None
