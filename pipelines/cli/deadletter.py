"""`radarstream deadletter`: list, inspect and replay records that led to no answer."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from radarstream.connectors.files.lines import read_lines
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink, Message
from radarstream.connectors.kafka.topic_reader import Start, TopicReader
from radarstream.pipelines.cli.moments import moment
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import (
    agree,
    cell,
    empty_table,
    note,
    print_json,
    print_path,
    printable,
    stderr,
    stdout,
)
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.job.answering.dead_letters import (
    Disposition,
    Letter,
    LetterSelection,
    ReplayPlan,
    distinct,
    only_one,
    plan_replay,
    read_letter,
    replay_headers,
    replay_key,
    replay_of,
)
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec.decoding import OWN_EVENT_BYTES
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.errors import ConfigurationError, InputError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.snapshot import SearchSnapshot

SNAPSHOTS = WIRE_SCHEMAS[SearchSnapshot].topic
DEAD_LETTERS = WIRE_SCHEMAS[DeadLetter].topic
MINUTE = slice(len("2025-"), len("2025-06-01T12:00"))
SHORT_ID = 8
ID_HELP = "A dead letter's id, as `deadletter list` shows it; may be shortened."
IDS_HELP = "Ids of dead letters, which may be shortened; default: all of an outage."
SHOWN_CHARACTERS = 2_000
EPOCH = re.compile(r"^[^/]*/(?=[^/]+/[0-9]+$)")
SKEW = timedelta(minutes=10)  # clocks of those who write to the topics may differ this much

app = typer.Typer(help="List, show and replay records that led to no answer.", no_args_is_help=True)

File = Annotated[Path | None, typer.Option(help="Read this deadletter.jsonl of a replay instead.")]
Reason = Annotated[
    ReasonClass | None,
    typer.Option(
        metavar="REASON",
        help="Only with this reason, one of: " + ", ".join(reason.value for reason in ReasonClass),
    ),
]
Fault = Annotated[
    Disposition | None,
    typer.Option(help="poison: the record is at fault; outage: a model, a clock or the database."),
]
Since = Annotated[str | None, typer.Option(help="Only since this time, e.g. 2025-06-01 or 2d.")]


@app.command("list")
def list_letters(
    config: Config = None,
    file: File = None,
    reason: Reason = None,
    disposition: Fault = None,
    since: Since = None,
    as_json: AsJson = False,
) -> None:
    """List the dead letters that the topic holds, oldest first."""
    if file and since:
        raise ConfigurationError("a file does not tell when its dead letters were written")
    selection = LetterSelection((), reason, disposition, since_when(since))
    rows = [letter.plain() for letter in chosen(config, file, selection)]
    rows.sort(key=lambda row: row["written_at"] or "")
    if as_json:
        print_json(rows)
    else:
        print_rows(rows)


@app.command()
def show(
    letter_id: Annotated[str, typer.Argument(metavar="ID", help=ID_HELP)],
    config: Config = None,
    file: File = None,
    raw: Annotated[bool, typer.Option("--raw", help="Write only the original bytes.")] = False,
    out: Annotated[Path | None, typer.Option(help="With --raw: write them to a file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show one dead letter and the start of the record as it came, made safe to look at."""
    letter = only_one(list(chosen(config, file, LetterSelection((letter_id,)))), letter_id)
    if raw:
        write_raw(letter, out)
        return
    start = printable(letter.payload.decode("utf-8", "replace"), SHOWN_CHARACTERS)
    if as_json:
        print_json(letter.plain() | {"start": start})
        return
    for name, value in letter.plain().items():
        line = cell(f"{name}: {'' if value is None else value}", limit=500)
        stdout.print(line, soft_wrap=True, highlight=False)
    stdout.print("\nrecord:", highlight=False)
    stdout.print(cell(start, "dim", SHOWN_CHARACTERS), soft_wrap=True, highlight=False)


@app.command()
def replay(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID", help=IDS_HELP)] = None,
    config: Config = None,
    reason: Reason = None,
    disposition: Fault = None,
    since: Since = None,
    max_attempts: Annotated[
        int, typer.Option(min=1, help="Skip records with this many attempts.")
    ] = 5,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Publish original records again: those of an outage, unless something else is named.

    What was replayed before is left alone, so an interrupted replay can be run again. Run one at
    a time.
    """
    if not ids and reason is None and disposition is None:
        disposition = "outage"
    kafka = load_settings(config).kafka
    selection = LetterSelection(tuple(ids or ()), reason, disposition, since_when(since))
    everything = list(distinct(letters_of_topic(kafka)))
    letters = [x for x in everything if selection.admits(x)]
    for letter_id in selection.ids:
        only_one([x for x in letters if x.id.startswith(letter_id)], letter_id)
    plan = plan_replay(letters, replayed_before(kafka, letters), max_attempts)
    if plan.publish:
        reasons = Counter(letter.content.reason.value for letter in plan.publish)
        told = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        deed = f"publish {told} to {kafka.topic(SNAPSHOTS)} again"
        agree(f"P{deed[1:]}?", deed, yes=yes)
    with KafkaSink(kafka) as sink:
        sink.send(
            [Message(SNAPSHOTS, replay_key(x), x.payload, replay_headers(x)) for x in plan.publish]
        )
    if not letters:
        stderr.print(left_alone(everything), highlight=False, soft_wrap=True)
    print_plan(plan, as_json=as_json)


def left_alone(letters: Iterable[Letter]) -> str:
    """Say why a replay has nothing to do."""
    faults = Counter(letter.content.disposition for letter in letters)
    if not faults:
        return "there are no dead letters"
    told = ", ".join(f"{count} {printable(fault)}" for fault, count in faults.most_common())
    name = printable(faults.most_common(1)[0][0])
    return f"left alone: {told}; name an id or give --disposition {name}"


def since_when(since: str | None) -> datetime | None:
    """Read --since."""
    return moment(since, "--since", datetime.now(UTC)) if since else None


def chosen(config: Path | None, file: Path | None, selection: LetterSelection) -> Iterator[Letter]:
    """Read the selected letters from a file or from the topic, each once."""
    if file is not None:
        found = letters_of_file(file)
    else:
        found = letters_of_topic(load_settings(config).kafka, selection.since or "beginning")
    return filter(selection.admits, distinct(found))


def letters_of_topic(kafka: KafkaOptions, start: Start = "beginning") -> Iterator[Letter]:
    """Read the topic to its end; what is no dead letter is told and left out."""
    with TopicReader(kafka, [DEAD_LETTERS], start=start) as reader:
        for record in reader.to_the_end():
            try:
                yield read_letter(record.read(), record.timestamp)
            except InputError as error:
                warn(f"{record.topic}/{record.partition} offset {record.offset}: {error}")


def letters_of_file(file: Path) -> Iterator[Letter]:
    """Read a file of structured events; what is no dead letter is told and left out."""
    if not file.is_file():
        raise ConfigurationError(f"there is no file {file}")
    for record in read_lines(file, OWN_EVENT_BYTES):
        try:
            yield read_letter(record.payload)
        except InputError as error:
            warn(f"{file} line {record.position}: {error}")


def warn(what: str) -> None:
    """Tell that a record is no dead letter."""
    note(f"warning: cannot read {what}")


def replayed_before(kafka: KafkaOptions, letters: Iterable[Letter]) -> frozenset[str]:
    """Ids of letters that snapshot records written since then say they replay."""
    times = [letter.written_at for letter in letters if letter.written_at is not None]
    if not times:
        return frozenset()
    with TopicReader(kafka, [SNAPSHOTS], start=min(times) - SKEW) as reader:
        marks = {replay_of(record.headers) for record in reader.to_the_end()}
    return frozenset(mark for mark in marks if mark is not None)


def write_raw(letter: Letter, out: Path | None) -> None:
    """Write the original bytes to a file or a pipe, never to a terminal."""
    if out is not None:
        out.write_bytes(letter.payload)
        print_path(f"{len(letter.payload)} bytes", out)
        return
    if sys.stdout.isatty():
        raise ConfigurationError("raw bytes may harm a terminal: give --out FILE or redirect")
    sys.stdout.buffer.write(letter.payload)
    sys.stdout.buffer.flush()


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print a table."""
    whole = ("id", "written", "reason", "disposition")
    table = empty_table(*whole, whole=whole, title=counted_noun(len(rows), "dead letter"))
    table.add_column("record", min_width=12, overflow="fold")
    table.add_column("detail", min_width=10, overflow="fold")
    for row in rows:
        table.add_row(
            row["id"][:SHORT_ID],
            cell((row["written_at"] or "")[MINUTE].replace("T", " ")),
            cell(row["reason"]),
            cell(row["disposition"]),
            cell(record_of(row), limit=100),
            cell(row["detail"], limit=200),
        )
    stdout.print(table)


def record_of(row: dict[str, Any]) -> str:
    """Name a record without the epoch of its log, which `deadletter show` has in full."""
    return f"{EPOCH.sub('', row['source'])}@{row['position']}"


def print_plan(plan: ReplayPlan, *, as_json: bool) -> None:
    """Say what was done and what was not."""
    done = {
        "replayed": [letter.id for letter in plan.publish],
        "replayed_before": [letter.id for letter in plan.replayed_before],
        "tried_too_often": [letter.id for letter in plan.tried_too_often],
    }
    if as_json:
        print_json(done)
        return
    for what, ids in done.items():
        stdout.print(f"{what.replace('_', ' ')}: {len(ids)}", highlight=False)
