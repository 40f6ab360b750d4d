"""`radarstream complain`: say that an answer is wrong."""

from datetime import UTC, datetime
from getpass import getuser
from typing import Annotated

import typer

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.state_table.queries.lookup import ANSWERED
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config
from radarstream.pipelines.cli.queries import QueryName, named_query
from radarstream.pipelines.cli.terminal import print_json, printable, stdout
from radarstream.pipelines.job.incidents.intake import take_in
from radarstream.pipelines.job.incidents.settling import policy_of
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import decode_complaint, encode, outbox_record
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.incidents import PIPELINE, Complaint
from radarstream.schemas.names import flaw_of


def complain(
    query: QueryName,
    answer: Annotated[
        str | None, typer.Option(help="The wrong answer as it was seen; default: the latest.")
    ] = None,
    sender: Annotated[
        str | None, typer.Option(help="Who complains; default: the system's user name.")
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=0, help="Step of the answer; default: the latest.")
    ] = None,
    comment: Annotated[str, typer.Option(help="What is wrong with it.")] = "",
    publish: Annotated[
        bool, typer.Option("--publish", help="Send it to the topic instead of the database.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Say that an answer is wrong; `radarstream attribute` then finds out which texts taught it.

    Writes to the state database, or with --publish to the topic of complaints. A second complaint
    about the same answer changes nothing.
    """
    settings = load_settings(config)
    complaint = checked(made(settings, query, answer, sender, step, comment, publish))
    if publish:
        with KafkaSink(settings.kafka) as sink:
            sink.publish([outbox_record(complaint)])
        # The worker finds out query, step and answer, and the ids follow from them.
        named = (
            {"query_id": complaint.query_id}
            if complaint.query_id
            else {"question": complaint.question}
        )
        told: dict[str, object] = {"published": True, **named, "sender": complaint.sender}
    else:
        policy = policy_of(settings)
        stored = take_in(existing_engine(settings), complaint, policy.protection, complaint.sent_at)
        told = {
            "incident": stored.incident,
            "complaint_id": stored.complaint_id,
            "query_id": stored.query_id,
            "step": stored.step,
            "answer": stored.answer,
            "sender": stored.sender,
        }
    if as_json:
        print_json(told)
        return
    for name, value in told.items():
        line = printable(f"{name}: {value}", 500)
        stdout.print(line, markup=False, highlight=False, soft_wrap=True)
    if not settings.attribution.enabled:
        stdout.print("attribution is off in these settings: [attribution] enabled = true")


def made(
    settings: Settings,
    query: str,
    answer: str | None,
    sender: str | None,
    step: int | None,
    comment: str,
    publish: bool,
) -> Complaint:
    """Make the complaint. A name of no kept query is a question if it has a blank, else an id."""
    named = None if publish else named_query(existing_engine(settings), query, ANSWERED)
    query = named.query_id if named else query
    by_id = named is not None or not any(character.isspace() for character in query)
    return Complaint(
        sender=user_name() if sender is None else sender,
        sent_at=datetime.now(UTC),
        query_id=query if by_id else None,
        question=None if by_id else query,
        answer=answer,
        step=step,
        comment=comment,
    )


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


def user_name() -> str:
    """The system's user name. Raises ConfigurationError where there is none."""
    try:
        return getuser()
    except (KeyError, OSError):
        raise ConfigurationError("no user name is known: give --sender") from None
