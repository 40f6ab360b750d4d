"""`radarstream reports`: look at wrong answers and judge them."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.table import Table
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import origins, quarantine, reports
from radarstream.connectors.state_table.incidents.report_listing import reported_answers
from radarstream.connectors.state_table.incidents.reports import StoredReport
from radarstream.defenses.attribution.protection import decide
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.origins import print_origin
from radarstream.pipelines.cli.reporters import Reporters, reporters_of
from radarstream.pipelines.cli.terminal import agree, cell, print_json, printable, stderr, stdout
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.job.incidents.settling import Policy, give_word, policy_of
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.reports import REMOVING, OriginEvent, ReportState, Word
from radarstream.schemas.times import milliseconds, stored_time

SHORT_ID = 8
WIDE = 120  # columns of a terminal from which on a table needs no narrow columns
LONGEST_WORD = 18  # the id of a query that has none of its own, and a step
MINUTE = slice(0, len("2025-06-01T12:00"))
SAID = {
    Word.APPROVED: "wrong",
    Word.DISMISSED: "not wrong",
    Word.MODEL_ERRED: "wrong, and that no source is to blame",
}
ReportId = Annotated[
    str, typer.Argument(metavar="ID", help="A report's id, as `list` shows it; may be shortened.")
]

app = typer.Typer(
    help="Reports of wrong answers: list, show, approve, dismiss, model-erred.",
    no_args_is_help=True,
)


class UnknownReportError(RadarstreamError):
    """No report, or several, of this id."""


@app.command("list")
def list_reports(
    config: Config = None,
    state: Annotated[ReportState | None, typer.Option(help="Only in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most that are shown.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List reported answers, those reported last first, with what was decided.

    An answer is one row, however many have reported it.
    """
    settings = load_settings(config)
    engine = existing_engine(settings)
    found = reported_answers(engine, limit, state)
    rules = policy_of(settings).protection
    who = [reporters_of(engine, row["query_id"], row["answer"], rules) for row in found]
    if as_json:
        print_json([listed(row, some) for row, some in zip(found, who, strict=True)])
        return
    print_answers([told(row) for row in found], who)
    if not found:
        stdout.print("no reports here; `radarstream report-wrong` makes one", highlight=False)


def print_answers(rows: list[dict[str, Any]], who: list[Reporters]) -> None:
    """Print a row for each reported answer; no word is broken on a narrow terminal."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    queries = [f"{row['query_id']}/{row['step']}" for row in rows]
    outcomes = [outcome(row) for row in rows]
    many = [", ".join(some.parts) for some in who]
    widths = {
        "reported": len("2025-06-01"),
        "query": whole_words(queries),
        "reporters": whole_words([*many, "reporters"]),
        "decision": whole_words([*outcomes, "decision"]),
    }
    for name in ("id", "reported", "query", "wrong answer", "reporters", "decision"):
        width = widths.get(name) if stdout.width < WIDE else None
        table.add_column(name, overflow="fold", no_wrap=name == "id", width=width)
    for row, query, some, decided in zip(rows, queries, many, outcomes, strict=True):
        table.add_row(
            row["report_id"][:SHORT_ID],
            row["received_at"][MINUTE].replace("T", " "),
            cell(query, limit=60),
            cell(row["answer"], "bold", limit=80),
            some,
            cell(decided, limit=60),
        )
    stdout.print(table)


@app.command()
def show(report_id: ReportId, config: Config = None, as_json: AsJson = False) -> None:
    """Show a report, the texts that taught the answer, and what is answered without them."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    row = only_one(engine, report_id)
    rules = policy_of(settings).protection
    who = reporters_of(engine, row["query_id"], row["answer"], rules)
    origin = origins.look(engine, row["misgeneration"])
    event = origin.event if origin else None
    if as_json:
        everybody = who.counts | {"names": who.names}
        print_json(told(row) | {"reporters": everybody, "origin": plain(event)})
        return
    for name, value in told(row).items():
        stdout.print(cell(f"{name}: {'' if value is None else value}", limit=500), soft_wrap=True)
    stdout.print(cell(f"reporters: {who.line()}", limit=2_000), soft_wrap=True)
    if event is None:
        stdout.print("not attributed yet: radarstream attribute", highlight=False)
        if row["state"] == ReportState.OPEN:
            stdout.print("it waits for its turn, for budget, or for a model", highlight=False)
    else:
        print_origin(event)


@app.command()
def approve(
    report_id: ReportId,
    config: Config = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Leave the texts out for all queries.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Confirm that the answer is wrong: its texts are left out from now on.

    Who reported it before gains trust. The texts are left out even where the models found the
    answer to stay the same without them.
    """
    judge(report_id, Word.APPROVED, config, everywhere=everywhere, yes=yes, as_json=as_json)


@app.command()
def dismiss(
    report_id: ReportId, config: Config = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Say that the answer is not wrong: its texts are let back in.

    Who reported it before loses trust.
    """
    judge(report_id, Word.DISMISSED, config, everywhere=False, yes=yes, as_json=as_json)


@app.command()
def model_erred(
    report_id: ReportId, config: Config = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Say that the answer is wrong and that no source is to blame: the model erred.

    Its texts are let back in, and no source is held to have taught it. Who reported it before
    gains trust.
    """
    judge(report_id, Word.MODEL_ERRED, config, everywhere=False, yes=yes, as_json=as_json)


def judge(
    report_id: str,
    word: Word,
    config: Path | None,
    *,
    everywhere: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Write a person's word down and print what follows."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    row = only_one(engine, report_id)
    deed = f"say that {printable(row['answer'], 80)!r} is {SAID[word]}"
    policy = policy_of(settings)
    if word is Word.APPROVED and not yes:
        print_removal(engine, row["misgeneration"], policy)
    agree(f"{printable(row['query_id'])}: {deed}?", deed, yes=yes)
    report = StoredReport(**{name: row[name] for name in StoredReport.__dataclass_fields__})
    now_ms = milliseconds(datetime.now(UTC))
    event = give_word(engine, report, word, policy, now_ms=now_ms, everywhere=everywhere)
    if as_json:
        print_json({"report_id": report.report_id, "word": word, "origin": plain(event)})
    elif event is None:
        waits = word is Word.APPROVED
        stdout.print("noted; it counts once the answer is attributed" if waits else "noted")
    else:
        print_origin(event)


def print_removal(engine: Engine, misgeneration: str, policy: Policy) -> None:
    """Name the texts that an approval leaves out, before it is asked for."""
    origin = origins.look(engine, misgeneration)
    event = origin.event if origin else None
    if event is None or event.finding is None:
        stderr.print("its texts are not known yet: those found out later will be left out")
        return
    decision, detail = decide(event, {}, Word.APPROVED, policy.protection)
    if decision not in REMOVING:
        stderr.print(cell(f"this leaves out no text: {detail}", limit=200), soft_wrap=True)
        return
    with engine.connect() as connection:
        rows = quarantine.texts_of(connection, misgeneration)
    stderr.print(f"this leaves out {counted_noun(len(rows), 'text')}:", highlight=False)
    for row in rows:
        where = row["url"] or row["title"]
        begins = printable(row["excerpt"], 80)
        told = f"  {row['text_key'][: SHORT_ID + 2]}  {printable(where, 120)}  {begins}"
        stderr.print(cell(told, limit=250), soft_wrap=True)


def only_one(engine: Engine, report_id: str) -> dict[str, Any]:
    """Find the report that an id, perhaps shortened, names."""
    found = reports.find_reports(engine, report_id, limit=2) if report_id else []
    if len(found) != 1:
        told_count = "no report has" if not found else "several reports have"
        raise UnknownReportError(f"{told_count} an id that begins with {report_id!r}")
    return found[0]


def outcome(row: dict[str, Any]) -> str:
    """What became of a reported answer: its decision, or why there is none (yet)."""
    erred = row["word"] == Word.MODEL_ERRED
    told = Word.MODEL_ERRED if erred else row["decision"] or row["detail"]
    if row["state"] == ReportState.JUDGED and told:
        return str(told)
    return f"{row['state']}: {told}" if told else str(row["state"])


def whole_words(values: Sequence[str]) -> int:
    """The columns in which none of these folds within a word, unless one is very long."""
    words = [cell_len(word) for value in values for word in printable(value, 60).split()]
    return min(LONGEST_WORD, max(words, default=0))


def told(row: dict[str, Any]) -> dict[str, Any]:
    """A stored report as JSON values, its times in words."""
    plain = dict(row)
    return {
        "report_id": plain.pop("report_id"),
        "reported_at": moment(plain.pop("reported_ms")),
        "received_at": moment(plain.pop("received_ms")),
    } | plain


def listed(row: dict[str, Any], who: Reporters) -> dict[str, Any]:
    """A reported answer as JSON values; what is one reporter's own is left to `show`."""
    values = told(row)
    for name in ("reported_at", "reporter", "comment"):
        values.pop(name)
    return values | {"reporters": who.counts}


def plain(event: OriginEvent | None) -> Any:
    """An event as JSON values, as it is published."""
    return None if event is None else json.loads(encode(event))


def moment(at_ms: int) -> str:
    """A stored time in words."""
    return stored_time(at_ms)
