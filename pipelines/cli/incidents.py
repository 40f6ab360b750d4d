"""`radarstream incidents`: look at wrong answers and decide about them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine
from typer import Argument, Option

from radarstream.connectors.state_table.incidents import quarantine, store
from radarstream.connectors.state_table.incidents.complaints import complaint_of
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import (
    agree,
    cell,
    note,
    print_json,
    print_table,
    print_values,
    printed,
    say,
    system_user,
)
from radarstream.pipelines.job.incidents.settling import (
    MEANING,
    consequences,
    decide,
    only_one,
    senders_of,
)
from radarstream.pipelines.pages.safe_text import written_address
from radarstream.pipelines.pages.wrong_answers import facts_of, standing_of, text_state
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.incidents import ComplaintState, Decision, TaughtEvent
from radarstream.schemas.shown import one_line
from radarstream.schemas.times import now_ms, stored_time
from radarstream.schemas.wording import counted_noun

SHORT_ID = 8
MINUTE = slice(0, len("2025-06-01T12:00"))
ONE_COMPLAINTS_OWN = {"complaint_id", "sent_at", "sender", "comment"}
IN_THE_EVENT = {"answer", "status", "finding", "detail"}
IncidentId = Annotated[
    str,
    Argument(
        metavar="ID", help="Id of an incident (see `list`) or of a complaint; may be shortened."
    ),
]

By = Annotated[
    str | None, Option(help="Who decides, for the action log; default: the system's user.")
]

app = typer.Typer(
    help="Show answers that somebody complained about, and decide.", no_args_is_help=True
)


@app.command("list")
def list_all(
    config: Config = None,
    state: Annotated[
        ComplaintState | None, Option(help="Only with a complaint in this state.")
    ] = None,
    limit: Annotated[int, Option(min=1, help="Show at most this many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List incidents, the newest complaint first, with their status.

    An incident is one answer of a query at one step, however many complaints it has.
    """
    settings = load_settings(config)
    engine = existing_engine(settings)
    found = store.list_incidents(engine, limit, state)
    rules = settings.attribution
    who = [senders_of(engine, row, rules) for row in found]
    if as_json:
        rows = [
            incident_json(row) | {"senders": w.counts} for row, w in zip(found, who, strict=True)
        ]
        print_json([_without(row, ONE_COMPLAINTS_OWN) for row in rows])
        return
    cells = (
        (
            row["incident"][:SHORT_ID],
            stored_time(row["received_ms"])[MINUTE].replace("T", " "),
            cell(f"{row['query_id']}/{row['step']}"),
            cell(row["answer"], "bold", limit=80),
            *(some.words, standing_of(row)[0]),
        )
        for row, some in zip(found, who, strict=True)
    )
    columns = ("id", "received", "query", "wrong answer", "senders", "status")
    print_table(columns, cells, whole=("id", "senders"))
    if not found:
        say("no incidents; `radarstream complain` makes one")


@app.command()
def show(incident: IncidentId, config: Config = None, as_json: AsJson = False) -> None:
    """Show the complaint, the texts that taught the answer, and the answer without them."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    row = only_one(engine, incident)
    who = senders_of(engine, row, settings.attribution)
    known = store.look(engine, row["incident"])
    event = known.event if known else None
    values = incident_json(row)
    if as_json:
        everybody = who.counts | {"names": who.names}
        print_json(values | {"senders": everybody, "event": event_json(event)})
        return
    print_values(_without(values, IN_THE_EVENT) if event else values)
    say(f"senders: {who.line()}")
    if event is not None:
        print_event(event)
        with engine.connect() as connection:
            held = quarantine.texts_of(connection, row["incident"])
        keys = (
            (
                one["text_key"],
                text_state(one)[0],
                cell(written_address(one["url"]) or one["title"], limit=120),
            )
            for one in held
        )
        print_table(("key of the text", "state", "address"), keys, whole=("key of the text",))
        return
    say("not attributed yet: radarstream attribute")
    if row["state"] == ComplaintState.OPEN:
        say("it waits for its turn, for budget, or for a model")


@app.command()
def approve(
    incident: IncidentId,
    config: Config = None,
    everywhere: Annotated[
        bool, Option("--everywhere", help="Leave the texts out for all queries.")
    ] = False,
    text: Annotated[
        list[str] | None,
        Option(metavar="KEY", help="Leave out this text alone (see `show`); repeat for more."),
    ] = None,
    by: By = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Confirm that the answer is wrong: its texts are left out from now on.

    Whoever complained before gains trust. The texts are left out even if the models found that the
    answer stays the same without them.
    """
    _decide(incident, Decision.APPROVED, config, everywhere=everywhere, begun=text, by=by, yes=yes,
            as_json=as_json)  # fmt: skip


@app.command()
def dismiss(
    incident: IncidentId,
    config: Config = None,
    by: By = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Say that the answer is not wrong: its texts are let back in.

    Whoever complained before loses trust.
    """
    _decide(incident, Decision.DISMISSED, config, by=by, yes=yes, as_json=as_json)


@app.command()
def model_erred(
    incident: IncidentId,
    config: Config = None,
    by: By = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Say that the answer is wrong and that no source is to blame: the model erred.

    Its texts are let back in. Whoever complained before gains trust.
    """
    _decide(incident, Decision.MODEL_ERRED, config, by=by, yes=yes, as_json=as_json)


def _decide(
    named: str,
    decision: Decision,
    config: Path | None,
    *,
    everywhere: bool = False,
    begun: Sequence[str] | None = None,
    by: str | None,
    yes: bool,
    as_json: bool,
) -> None:
    settings = load_settings(config)
    engine, rules = existing_engine(settings), settings.attribution
    row = only_one(engine, named)
    texts = None if begun is None else _keys(engine, row["incident"], begun)
    who = system_user("--by") if by is None else by
    if not yes:
        for sentence in consequences(engine, row["incident"], decision, rules, texts):
            note(sentence, 5_000)
    deed = f"say that {one_line(row['answer'], 80)!r} is {MEANING[decision]}"
    agree(f"{one_line(row['query_id'])}: {deed}?", deed, yes=yes)
    complaint, at_ms = complaint_of(row), now_ms()
    event = decide(engine, complaint, decision, rules, now_ms=at_ms, everywhere=everywhere,
                   texts=texts, by=who)  # fmt: skip
    values = {"incident": row["incident"], "decision": decision, "event": event_json(event)}
    if printed(values, as_json):
        return
    if event is not None:
        print_event(event)
        return
    waits = decision is Decision.APPROVED
    say("noted; it counts once the answer is attributed" if waits else "noted")


def _keys(engine: Engine, incident: str, begun: Sequence[str]) -> set[str]:
    """The keys of an incident's texts that begin so. Raises ConfigurationError unless each is the
    beginning of one.
    """
    with engine.connect() as connection:
        known = [row["text_key"] for row in quarantine.texts_of(connection, incident)]
    found = {start: [key for key in known if start and key.startswith(start)] for start in begun}
    if unclear := [start for start, keys in found.items() if len(keys) != 1]:
        raise ConfigurationError(f"no text, or several, have a key that begins with {unclear[0]!r}")
    return {keys[0] for keys in found.values()}


def print_event(event: TaughtEvent) -> None:
    """Print what was found out and decided."""
    facts = {
        fact.term: "; ".join(filter(None, (fact.value, fact.remark))) for fact in facts_of(event)
    }
    print_values({"question": event.question} | facts)
    if not event.texts:
        return
    texts = [text for text in event.texts if text.flagged or text.search_rank]
    blamed = "cleared" if event.cleared else "blamed"
    cells = (
        (
            cell(blamed if text.flagged else "", "red"),
            text.search_rank or "-",
            *(
                None if number is None else f"{number:.2f}"
                for number in (text.score, text.similarity, text.semantic, text.generation)
            ),
            cell(written_address(text.url) or text.title, "dim", limit=120),
            cell(text.excerpt, limit=80),
        )
        for text in texts
    )
    scores = ("score", "similar", "semantic", "influence")
    print_table(("", "rank", *scores, "address", "text begins"), cells)
    if others := len(event.texts) - len(texts):
        say(f"and {counted_noun(others, 'text')} of the corpus, not flagged")


def incident_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """An incident with one of its complaints as JSON values."""
    times = {f"{name}_at": stored_time(row[f"{name}_ms"]) for name in ("sent", "received")}
    return {"incident": row["incident"]} | times | _without(row, {"sent_ms", "received_ms"})


def event_json(event: TaughtEvent | None) -> Any:
    """An event as JSON values, as it is published."""
    return None if event is None else json.loads(encode(event))


def _without(values: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
