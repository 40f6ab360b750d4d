"""`radarstream deadletter`: list, inspect and replay records that led to no answer."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column
from typer import Argument, Option

from radarstream.pipelines.cli import terminal
from radarstream.pipelines.cli.options import AsJson, Config, Yes, moment
from radarstream.pipelines.job.answering import dead_letters
from radarstream.pipelines.job.answering.dead_letters import Disposition, Letter, LetterSelection
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, ReasonClass
from radarstream.schemas.shown import one_line
from radarstream.schemas.wording import counted_noun

MINUTE = slice(len("2025-"), len("2025-06-01T12:00"))
SHORT_ID = 8
SHOWN_CHARACTERS = 2_000
EPOCH = re.compile(r"^[^/]*/(?=[^/]+/[0-9]+$)")  # of a log; `deadletter show` has it in full

app = typer.Typer(help="List, show and replay records that led to no answer.", no_args_is_help=True)

Reason = Annotated[
    ReasonClass | None,
    Option(
        metavar="REASON",
        help="Only with this reason, one of: " + ", ".join(reason.value for reason in ReasonClass),
    ),
]
Fault = Annotated[
    Disposition | None,
    Option(help="poison: the record is at fault; outage: a model, a clock or the database."),
]
Since = Annotated[str | None, Option(help="Only since this time, e.g. 2025-06-01 or 2d.")]


@app.command("list")
def list_letters(
    config: Config = None,
    reason: Reason = None,
    disposition: Fault = None,
    since: Since = None,
    as_json: AsJson = False,
) -> None:
    """List the dead letters that the topic holds, oldest first."""
    selection = LetterSelection((), reason, disposition, _since(since))
    rows = [letter.plain() for letter in _chosen(config, selection)]
    rows.sort(key=lambda row: row["written_at"] or "")
    if not terminal.printed(rows, as_json):
        print_rows(rows)


@app.command()
def show(
    letter_id: Annotated[
        str,
        Argument(
            metavar="ID",
            help="A dead letter's id, as `deadletter list` shows it; may be shortened.",
        ),
    ],
    config: Config = None,
    raw: Annotated[bool, Option("--raw", help="Write only the original bytes.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one dead letter and the start of the original record, made safe to look at."""
    letter = dead_letters.only_one(list(_chosen(config, LetterSelection((letter_id,)))), letter_id)
    if raw:
        if sys.stdout.isatty():
            raise ConfigurationError("raw bytes may harm a terminal: redirect them to a file")
        sys.stdout.buffer.write(letter.payload)
        sys.stdout.buffer.flush()
        return
    start = one_line(letter.payload.decode("utf-8", "replace"), SHOWN_CHARACTERS)
    if terminal.printed(letter.plain() | {"start": start}, as_json):
        return
    terminal.print_values(letter.plain())
    terminal.say("")
    terminal.say("record:")
    terminal.say(start, style="dim")


@app.command()
def replay(
    ids: Annotated[
        list[str] | None,
        Argument(
            metavar="ID",
            help="Ids of dead letters, which may be shortened; default: all of an outage.",
        ),
    ] = None,
    config: Config = None,
    reason: Reason = None,
    disposition: Fault = None,
    since: Since = None,
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
    selection = LetterSelection(tuple(ids or ()), reason, disposition, _since(since))
    everything = list(dead_letters.letters_of_topic(kafka, _warn))
    letters = [letter for letter in everything if selection.admits(letter)]
    for letter_id in selection.ids:
        dead_letters.only_one([x for x in letters if x.id.startswith(letter_id)], letter_id)
    replayed = dead_letters.replayed_before(kafka, letters)
    found = dead_letters.sorted_for_replay(letters, replayed)
    if now := found["replayed"]:
        reasons = Counter(letter.content.reason.value for letter in now)
        counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
        deed = f"publish {counts} to {kafka.topic(dead_letters.SNAPSHOTS)} again"
        terminal.agree(f"P{deed[1:]}?", deed, yes=yes)
        dead_letters.publish_again(kafka, now)
    if not letters:
        terminal.note(_left_alone(everything))
    done = {name: [letter.id for letter in some] for name, some in found.items()}
    if not terminal.printed(done, as_json):
        terminal.print_values({name.replace("_", " "): len(ids) for name, ids in done.items()})


def _left_alone(letters: Iterable[Letter]) -> str:
    faults = Counter(letter.content.disposition for letter in letters).most_common()
    if not faults:
        return "there are no dead letters"
    counts = ", ".join(f"{count} {one_line(fault)}" for fault, count in faults)
    return f"left alone: {counts}; name an id or give --disposition {one_line(faults[0][0])}"


def _since(since: str | None) -> datetime | None:
    return moment(since, "--since", datetime.now(UTC)) if since else None


def _chosen(config: Path | None, selection: LetterSelection) -> Iterator[Letter]:
    """Read the selected letters from the topic, each once."""
    kafka = load_settings(config).kafka
    found = dead_letters.letters_of_topic(kafka, _warn, selection.since or "beginning")
    return filter(selection.admits, found)


def _warn(problem: str) -> None:
    terminal.note(f"warning: {problem}")


def print_rows(rows: list[dict[str, Any]]) -> None:
    """Print dead letters as a table."""
    whole = ("id", "written", "reason", "disposition")
    record = Column("record", min_width=12, overflow="fold")
    detail = Column("detail", min_width=10, overflow="fold")
    cells = (
        (
            row["id"][:SHORT_ID],
            (row["written_at"] or "")[MINUTE].replace("T", " "),
            *(row["reason"], row["disposition"]),
            terminal.cell(f"{EPOCH.sub('', row['source'])}@{row['position']}", limit=100),
            terminal.cell(row["detail"], limit=200),
        )
        for row in rows
    )
    title = counted_noun(len(rows), "dead letter")
    terminal.print_table((*whole, record, detail), cells, whole=whole, title=title)
