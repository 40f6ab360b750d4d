"""`radarstream complain`: say that an answer is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from getpass import getuser
from typing import Annotated, Any

from typer import Option

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config, QueryName
from radarstream.pipelines.cli.terminal import print_json, print_values, say
from radarstream.pipelines.job.incidents.reporting import complaint_about, report
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import ConfigurationError, InputError

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
    for option, given in (("--answer", answer), ("--sender", sender)):
        if given is not None and not given.strip():
            raise ConfigurationError(f"{option} is empty; leave it out for the default")
    said: dict[str, Any] = {"answer": answer, "step": step, "comment": comment}
    name = _user_name() if sender is None else sender
    if publish:
        with using_what_is_said():
            complaint = complaint_about(query, name, known=None, **said)
        with KafkaSink(settings.kafka) as sink:
            sink.publish([outbox_record(complaint)])
        # The worker finds out query, step and answer, and the ids follow from them.
        named = {"query_id": complaint.query_id, "question": complaint.question}
        told = {name: value for name, value in named.items() if value}
        shown: dict[str, object] = {"published": True, **told, "sender": complaint.sender}
    else:
        with using_what_is_said():
            stored = report(settings, existing_engine(settings), name, query, **said)
        shown = {field: getattr(stored, field) for field in STORED}
    if as_json:
        print_json(shown)
        return
    print_values(shown)
    if not settings.attribution.enabled:
        say("attribution is off in these settings: [attribution] enabled = true switches it on")


@contextmanager
def using_what_is_said() -> Iterator[None]:
    """Call what makes no complaint a wrong use of the options: exit code 2."""
    try:
        yield
    except InputError as error:
        raise ConfigurationError(error.detail) from None


def _user_name() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        raise ConfigurationError("no user name is known: give --sender") from None
