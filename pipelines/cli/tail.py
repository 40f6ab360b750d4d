"""`radarstream tail`: follow answers and attribution events on a terminal or into a pipe."""

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from time import sleep
from typing import Annotated

import typer
from rich.text import Text

from radarstream.connectors.kafka.topic_reader import Start, TopicReader, TopicRecord
from radarstream.pipelines.cli.moments import moment
from radarstream.pipelines.cli.options import Config, Once
from radarstream.pipelines.cli.terminal import cell, note, printable, stdout
from radarstream.pipelines.job.alerting.following import (
    ANSWERS,
    ATTRIBUTIONS,
    Event,
    Following,
    Selection,
)
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import encode, envelope, structured
from radarstream.schemas.errors import BrokerError, ConfigurationError, InputError
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from radarstream.schemas.incidents import TaughtEvent
from radarstream.schemas.shown import escaped_json
from radarstream.schemas.verdict import MemoryDecision

POLL_S = 1.0
WARNINGS = 3  # unreadable records that are told one by one
SKEW = timedelta(minutes=10)  # an event is written after it was observed, clocks permitting


class Kind(StrEnum):
    """Which events are followed."""

    ANSWERS = "answers"
    ATTRIBUTIONS = "attributions"
    ALL = "all"


TOPICS = {
    Kind.ANSWERS: [ANSWERS],
    Kind.ATTRIBUTIONS: [ATTRIBUTIONS],
    Kind.ALL: [ANSWERS, ATTRIBUTIONS],
}


def tail(
    config: Config = None,
    query: Annotated[list[str] | None, typer.Option(help="Only this query id; repeatable.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Only with this tag; repeatable.")] = None,
    changed: Annotated[bool, typer.Option("--changed", help="Only changed answers.")] = False,
    answers: Annotated[bool, typer.Option("--answers", help="Show answers (the default).")] = False,
    attributions: Annotated[
        bool, typer.Option("--attributions", help="Show attribution events.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Show answers and attribution events.")
    ] = False,
    start: Annotated[
        str,
        typer.Option(
            "--from", "--since", help="beginning, latest, or a time such as 2025-06-01 or 2h."
        ),
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print CloudEvents, one per line.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Stop after this many events.")] = None,
    once: Once = False,
) -> None:
    """Show new answers, attribution events and forgotten queries, each once.

    Begins with the next event, or with the oldest if --once is given. Belongs to no consumer
    group and commits nothing. Ctrl-C ends it.
    """
    kind = kind_of(answers=answers or changed, attributions=attributions, everything=everything)
    if changed and kind is not Kind.ANSWERS:
        raise ConfigurationError("attribution events do not tell what changed: leave --changed out")
    begin, since = beginning(start or ("beginning" if once else "latest"))
    following = Following(
        Selection(frozenset(query or ()), frozenset(tag or ()), since, changed_only=changed)
    )
    show = show_json if as_json else show_line
    forgotten = partial(show_forgotten, TOPICS[kind][0], frozenset(query or ()))
    try:
        with TopicReader(load_settings(config).kafka, TOPICS[kind], start=begin) as reader:
            Tail(reader, following, show, nothing if as_json or tag or changed else forgotten).run(
                limit, once=once
            )
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:  # whoever read has seen enough; nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def kind_of(*, answers: bool, attributions: bool, everything: bool) -> Kind:
    """Combine the flags."""
    if everything or (answers and attributions):
        return Kind.ALL
    return Kind.ATTRIBUTIONS if attributions else Kind.ANSWERS


def beginning(start: str) -> tuple[Start, datetime | None]:
    """Where to begin reading, and the event time before which nothing is shown."""
    if start == "beginning":
        return "beginning", None
    if start == "latest":
        return "latest", None
    since = moment(start, "--from", datetime.now(UTC), also=("beginning", "latest"))
    return since - SKEW, since


class Tail:
    """Reads, shows, and tells on standard error what could not be read."""

    def __init__(
        self,
        reader: TopicReader,
        following: Following,
        show: Callable[[Event], None],
        forgotten: Callable[[str, str], None],
    ) -> None:
        self._reader = reader
        self._following = following
        self._show = show
        self._forgotten = forgotten
        self._unreadable = 0

    def run(self, limit: int | None, *, once: bool) -> None:
        """Show events until `limit`, the end of the topics, or for ever."""
        shown = 0
        try:
            while not once or not self._reader.at_end():
                for record in self._polled(once=once):
                    if not self._shown(record):
                        continue
                    shown += 1
                    if shown == limit:
                        return
        finally:
            if self._unreadable > WARNINGS:
                note(f"warning: {self._unreadable} records could not be read")

    def _shown(self, record: TopicRecord) -> bool:
        if record.value is None:
            self._forgotten(record.topic, record.key.decode("utf-8", "replace"))
            return False
        try:
            event = self._following.event(record.topic, record.read())
        except InputError as error:
            self._warn(f"{record.topic}/{record.partition} offset {record.offset}: {error}")
            return False
        if event is None:
            return False
        self._show(event)
        return True

    def _polled(self, *, once: bool) -> list[TopicRecord]:
        """The next records. Waits out an outage."""
        away = False
        while True:
            try:
                records = self._reader.poll(timeout_s=POLL_S)
            except BrokerError as error:
                if once:
                    raise
                if not away:
                    note(f"{error}; waiting for the broker")
                away = True
                sleep(POLL_S)
                continue
            if away:
                note("the broker is back")
            return records

    def _warn(self, what: str) -> None:
        self._unreadable += 1
        if self._unreadable <= WARNINGS:
            note(f"warning: cannot read {what}")


def show_json(event: Event) -> None:
    """Print the structured CloudEvent; hidden characters are escaped."""
    line = structured(envelope(event), encode(event)).decode()
    write(escaped_json(line))


def show_line(event: Event) -> None:
    """Print one line for a human."""
    line = line_of(event)
    if stdout.is_terminal:
        stdout.print(line, soft_wrap=True, highlight=False)
    else:
        write(line.plain)


def line_of(event: Event) -> Text:
    """One line for a human."""
    match event:
        case AnswerEvent():
            return answer_line(event)
        case RejectedEvent():
            return rejected_line(event)
        case TaughtEvent():
            return taught_line(event)


def show_forgotten(told_by: str, queries: frozenset[str], topic: str, query: str) -> None:
    """Print that a query was forgotten, as one of its topics tells."""
    if topic == told_by and (not queries or query in queries):
        write(f"forgotten {printable(query)}")


def nothing(_topic: str, _query: str) -> None:
    """Show no tombstones: they are no CloudEvents, have no tags and change no answer."""


def write(line: str) -> None:
    """Write a line through; rich would answer a closed pipe with an exit code of its own."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def answer_line(event: AnswerEvent) -> Text:
    """Time, query and step, question, answer, documents kept and cut, memory, change."""
    kept = len(event.verdict.kept_ranks)
    memory = event.verdict.memory
    parts = [
        cell(f"{event.observed_at:%Y-%m-%d %H:%M:%S}", "dim"),
        cell(f"{event.query_id}/{event.step}", "cyan", limit=40),
        cell(event.question),
        cell(f"no answer: {event.abstention}", "yellow")
        if event.abstention
        else cell(event.answer, "bold", limit=100),
        cell(f"kept {kept} cut {len(event.verdict.documents) - kept}", "dim"),
    ]
    if memory.decision is not MemoryDecision.NONE:
        falsified = memory.decision is MemoryDecision.FALSIFIED
        parts.append(cell(f"memory {memory.decision}", "yellow" if falsified else "dim"))
    if event.changed:
        parts.append(cell(f"CHANGED from {memory.previous_answer}", "bold red", limit=100))
    return Text("  ").join(parts)


def rejected_line(event: RejectedEvent) -> Text:
    """One line: the rejected document, why, what it said and where it is."""
    said = f"said {event.atomic_answer}" if event.atomic_answer else "said nothing"
    parts = [
        cell(f"{event.query_id}/{event.step}", "cyan", limit=40),
        cell(f"#{event.rank} {event.reason}", "red"),
        cell(said, limit=80),
        cell(event.url or event.title, "dim", limit=200),
    ]
    return Text("    ") + Text("  ").join(parts)


def taught_line(event: TaughtEvent) -> Text:
    """One line: the wrong answer, the status of its incident, the texts that taught it."""
    texts = () if event.cleared else event.flagged
    blamed = ", ".join(text.url or text.title for text in texts) or "no text"
    parts = [
        cell(f"{event.query_id}/{event.step}", "cyan", limit=40),
        cell(f"wrong {event.answer}", "bold red", limit=100),
        cell(f"{event.status} ({event.detail})", "yellow", limit=120),
        cell(f"blamed: {blamed}", "dim", limit=300),
    ]
    return Text("    ") + Text("  ").join(parts)
