"""`radarstream tail`: follow answers and attribution events on a terminal or into a pipe."""

import os
import sys
from collections.abc import Collection, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from time import sleep
from typing import Annotated

from rich.text import Text
from typer import Option

from radarstream.connectors.kafka.topic_reader import Start, TopicReader, TopicRecord
from radarstream.pipelines.cli.options import Config, Once, moment
from radarstream.pipelines.cli.terminal import cell, note, stdout
from radarstream.pipelines.job.alerting.alerts import (
    ANSWERS,
    ATTRIBUTIONS,
    Event,
    Following,
    Selection,
)
from radarstream.pipelines.pages import verdict_words as words
from radarstream.pipelines.pages.safe_text import written_address
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import encode, envelope, structured
from radarstream.schemas.errors import BrokerError, ConfigurationError, InputError
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from radarstream.schemas.incidents import TaughtEvent
from radarstream.schemas.shown import escaped_json, one_line
from radarstream.schemas.support import AnswerStatus

POLL_S = 1.0
SKEW = timedelta(minutes=10)  # an event is written after it was observed, clocks permitting


def tail(
    config: Config = None,
    query: Annotated[list[str] | None, Option(help="Only this query id; repeatable.")] = None,
    tag: Annotated[list[str] | None, Option(help="Only with this tag; repeatable.")] = None,
    changed: Annotated[bool, Option("--changed", help="Only changed answers.")] = False,
    attributions: Annotated[
        bool, Option("--attributions", help="Show attribution events instead of answers.")
    ] = False,
    everything: Annotated[
        bool, Option("--all", help="Show answers and attribution events.")
    ] = False,
    start: Annotated[
        str,
        Option(
            "--from", help="Where to begin: beginning, latest, or a time such as 2025-06-01 or 2h."
        ),
    ] = "",
    as_json: Annotated[bool, Option("--json", help="Print CloudEvents, one per line.")] = False,
    limit: Annotated[int | None, Option(min=1, help="Stop after this many events.")] = None,
    once: Once = False,
) -> None:
    """Show new answers, attribution events and forgotten queries, each once.

    Begins with the next event, or with the oldest if --once is given. Belongs to no consumer
    group and commits nothing. Ctrl-C ends it.
    """
    if changed and (attributions or everything):
        raise ConfigurationError("attribution events do not tell what changed: leave --changed out")
    topics = [ANSWERS] * (everything or not attributions)
    topics += [ATTRIBUTIONS] * (everything or attributions)
    begin, since = _beginning(start or ("beginning" if once else "latest"))
    queries, tags = frozenset(query or ()), frozenset(tag or ())
    following = Following(Selection(queries, tags, since, changed_only=changed))
    # A tombstone is no CloudEvent, has no tags and changes no answer.
    forgotten = None if as_json or tags or changed else topics[0]
    try:
        with TopicReader(load_settings(config).kafka, topics, start=begin) as reader:
            events = _events(_records(reader, once=once), following, forgotten, queries)
            for event in islice(events, limit):
                if as_json:  # the structured CloudEvent
                    _write(escaped_json(structured(envelope(event), encode(event)).decode()))
                elif stdout.is_terminal:
                    stdout.print(_line(event), soft_wrap=True, highlight=False)
                else:
                    _write(_line(event).plain)
    except KeyboardInterrupt:
        pass
    except BrokenPipeError:  # whoever read has seen enough; nothing may be written at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _beginning(start: str) -> tuple[Start, datetime | None]:
    """Where to begin reading, and the event time before which nothing is shown."""
    if start == "beginning":
        return "beginning", None
    if start == "latest":
        return "latest", None
    since = moment(start, "--from", datetime.now(UTC), also=("beginning", "latest"))
    return since - SKEW, since


def _records(reader: TopicReader, *, once: bool) -> Iterator[TopicRecord]:
    """The records as they come. Waits out an outage."""
    away = False
    while not once or not reader.at_end():
        try:
            records = reader.poll(timeout_s=POLL_S)
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
        away = False
        yield from records


def _events(
    records: Iterator[TopicRecord],
    following: Following,
    forgotten: str | None,
    queries: Collection[str],
) -> Iterator[Event]:
    """The new, wanted events; prints forgotten queries, reports unreadable records."""
    for record in records:
        if record.value is None:
            query = record.key.decode("utf-8", "replace")
            if record.topic == forgotten and (not queries or query in queries):
                _write(f"forgotten {one_line(query)}")
            continue
        try:
            event = following.event(record.topic, record.read())
        except InputError as error:
            place = f"{record.topic}/{record.partition} offset {record.offset}"
            note(f"warning: cannot read {place}: {error}")
            continue
        if event is not None:
            yield event


def _line(event: Event) -> Text:
    if isinstance(event, AnswerEvent):
        return _answer_line(event)
    return _rejected_line(event) if isinstance(event, RejectedEvent) else _taught_line(event)


def _write(line: str) -> None:
    """Write a line at once; rich would answer a closed pipe with an exit code of its own."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _answer_line(event: AnswerEvent) -> Text:
    """Time, place, question, answer, support (or documents), reranking, memory, change."""
    seen, kept = event.seen, len(event.verdict.kept_ranks)
    memory = event.verdict.memory
    parts = [
        cell(f"{event.observed_at:%Y-%m-%d %H:%M:%S}", "dim"),
        _place(event),
        cell(event.question),
        cell(f"no answer: {event.abstention}", "yellow")
        if event.abstention
        else cell(event.answer, "bold", limit=100),
        *_support_cells(event),
        *([] if event.support else [cell(f"kept {kept} cut {len(seen) - kept}", "dim")]),
    ]
    if event.reranking is not None:
        parts.append(cell(words.reranking_in_words(event.reranking), "dim", limit=100))
    if (word := words.memory_in_words(event)) and event.standing is None:
        parts.append(cell(f"memory {word}", "yellow" if event.falsified else "dim"))
    if event.changed:
        parts.append(cell(f"CHANGED from {memory.previous_answer}", "bold red", limit=100))
    return Text("  ").join(parts)


def _support_cells(event: AnswerEvent) -> list[Text]:
    """The status of an answer, in capitals where a reader must beware; the answer that stands."""
    cells = []
    if event.support is not None:
        beware = event.status in (AnswerStatus.SINGLE_SOURCE, AnswerStatus.DISPUTED)
        word = words.STATUSES[event.status].upper() if beware else words.STATUSES[event.status]
        behind = words.support_in_words(event.support)
        cells.append(cell(f"{word}: {behind}", "bold yellow" if beware else "dim", limit=160))
    if event.standing is not None:
        cells.append(cell(words.standing_in_words(event.standing), "yellow", limit=160))
    return cells


def _rejected_line(event: RejectedEvent) -> Text:
    """The rejected document, why, what it said and where it is."""
    parts = [
        _place(event),
        cell(f"#{event.rank} {event.reason}", "red"),
        cell(f"said {event.atomic_answer or 'nothing'}", limit=80),
        cell(written_address(event.url) or event.title, "dim", limit=200),
    ]
    return Text("    ") + Text("  ").join(parts)


def _taught_line(event: TaughtEvent) -> Text:
    """The wrong answer, the status of its incident, the texts that taught it."""
    texts = () if event.cleared else event.flagged
    blamed = ", ".join(written_address(t.url) or t.title for t in texts) or "no text"
    parts = [
        _place(event),
        cell(f"wrong {event.answer}", "bold red", limit=100),
        cell(f"{event.status} ({event.detail})", "yellow", limit=120),
        cell(f"blamed: {blamed}", "dim", limit=300),
    ]
    return Text("    ") + Text("  ").join(parts)


def _place(event: Event) -> Text:
    return cell(f"{event.query_id}/{event.step}", "cyan", limit=40)
