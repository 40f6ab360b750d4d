"""`radarstream report-wrong`: say that an answer is wrong."""

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
from radarstream.pipelines.job.incidents.reporting import take_in
from radarstream.pipelines.job.incidents.settling import policy_of
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import decode_report, encode, outbox_record
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.names import flaw_of
from radarstream.schemas.reports import PIPELINE, AnswerReport


def report_wrong(
    query: QueryName,
    answer: Annotated[
        str | None, typer.Option(help="The wrong answer as it was seen; default: the latest.")
    ] = None,
    reporter: Annotated[
        str | None, typer.Option(help="Who says so; default: the system's user name.")
    ] = None,
    step: Annotated[
        int | None, typer.Option(min=0, help="Step of the answer; default: the latest.")
    ] = None,
    comment: Annotated[str, typer.Option(help="What is wrong about it.")] = "",
    publish: Annotated[
        bool, typer.Option("--publish", help="Write to the topic answers.reported instead.")
    ] = False,
    config: Config = None,
    as_json: AsJson = False,
) -> None:
    """Report an answer that is wrong, for `radarstream attribute` to find out who taught it.

    Goes into the state database, or with --publish to the topic. Reporting the same answer again
    changes nothing.
    """
    settings = load_settings(config)
    report = checked(made(settings, query, answer, reporter, step, comment, publish))
    if publish:
        with KafkaSink(settings.kafka) as sink:
            sink.publish([outbox_record(report)])
        # Query, step and answer are found out when the report is taken in, and its id from them.
        named = {"query_id": report.query_id} if report.query_id else {"question": report.question}
        told: dict[str, object] = {"published": True, **named, "reporter": report.reporter}
    else:
        policy = policy_of(settings)
        stored = take_in(existing_engine(settings), report, policy.protection, report.reported_at)
        told = {
            "report_id": stored.report_id,
            "query_id": stored.query_id,
            "step": stored.step,
            "answer": stored.answer,
            "reporter": stored.reporter,
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
    reporter: str | None,
    step: int | None,
    comment: str,
    publish: bool,
) -> AnswerReport:
    """Make the report; what names no query that is kept is an id if it has no blank."""
    named = None if publish else named_query(existing_engine(settings), query, ANSWERED)
    query = named.query_id if named else query
    by_id = named is not None or not any(character.isspace() for character in query)
    return AnswerReport(
        reporter=user_name() if reporter is None else reporter,
        reported_at=datetime.now(UTC),
        query_id=query if by_id else None,
        question=None if by_id else query,
        answer=answer,
        step=step,
        comment=comment,
    )


def checked(report: AnswerReport) -> AnswerReport:
    """Return what a reader of the topic would read. Raises ConfigurationError."""
    if report.answer is not None and not report.answer.strip():
        raise ConfigurationError("--answer is empty; without it, the latest answer is reported")
    if not report.reporter.strip():
        raise ConfigurationError("--reporter is empty")
    if flaw := flaw_of(report.reporter):  # first: encoding leaves some characters out
        raise ConfigurationError(f"the reporter's name has {flaw}")
    try:
        read = decode_report(encode(report), now=None)
    except InputError as error:
        raise ConfigurationError(f"no report can be made of this: {error.detail}") from None
    if read.reporter == PIPELINE:
        raise ConfigurationError(f"the name {PIPELINE!r} is the pipeline's own: give --reporter")
    return read


def user_name() -> str:
    """The system's user name. Raises ConfigurationError where there is none."""
    try:
        return getuser()
    except (KeyError, OSError):
        raise ConfigurationError("who reports this? give --reporter") from None
