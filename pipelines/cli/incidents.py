"""`radarstream incidents`: look at wrong answers and decide about them."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import quarantine, store
from radarstream.connectors.state_table.incidents.complaints import complaint_of
from radarstream.defenses.attribution.protection import status_of
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.incident_view import (
    SHORT_ID,
    event_json,
    incident_json,
    print_event,
    print_incidents,
    senders_of,
)
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.report_incidents import report_incidents
from radarstream.pipelines.cli.terminal import agree, cell, print_json, printable, stderr, stdout
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.job.incidents.settling import Policy, decide, policy_of
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.incidents import REMOVING, ComplaintState, Decision
from radarstream.schemas.times import milliseconds

SAID = {
    Decision.APPROVED: "wrong",
    Decision.DISMISSED: "not wrong",
    Decision.MODEL_ERRED: "wrong, and that no source is to blame",
}
ONE_COMPLAINTS_OWN = ("complaint_id", "sent_at", "sender", "comment")
IncidentId = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="Id of an incident (see `list`) or of a complaint; may be shortened.",
    ),
]

app = typer.Typer(
    help="Show answers that somebody complained about, and decide.",
    no_args_is_help=True,
)


@app.command("list")
def list_all(
    config: Config = None,
    state: Annotated[
        ComplaintState | None, typer.Option(help="Only with a complaint in this state.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Show at most this many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List incidents, the newest complaint first, with their status.

    An incident is one answer of a query at one step, however many complaints it has.
    """
    settings = load_settings(config)
    engine = existing_engine(settings)
    found = store.list_incidents(engine, limit, state)
    rules = policy_of(settings).protection
    who = [senders_of(engine, row["query_id"], row["answer"], rules) for row in found]
    if as_json:
        print_json(
            [
                {k: v for k, v in incident_json(row).items() if k not in ONE_COMPLAINTS_OWN}
                | {"senders": some.counts}
                for row, some in zip(found, who, strict=True)
            ]
        )
        return
    print_incidents(found, who)
    if not found:
        stdout.print("no incidents; `radarstream complain` makes one", highlight=False)


@app.command()
def show(incident: IncidentId, config: Config = None, as_json: AsJson = False) -> None:
    """Show the complaint, the texts that taught the answer, and the answer without them."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    row = only_one(engine, incident)
    rules = policy_of(settings).protection
    who = senders_of(engine, row["query_id"], row["answer"], rules)
    known = store.look(engine, row["incident"])
    event = known.event if known else None
    if as_json:
        everybody = who.counts | {"names": who.names}
        print_json(incident_json(row) | {"senders": everybody, "event": event_json(event)})
        return
    for name, value in incident_json(row).items():
        stdout.print(cell(f"{name}: {'' if value is None else value}", limit=500), soft_wrap=True)
    stdout.print(cell(f"senders: {who.line()}", limit=2_000), soft_wrap=True)
    if event is not None:
        print_event(event)
        return
    stdout.print("not attributed yet: radarstream attribute", highlight=False)
    if row["state"] == ComplaintState.OPEN:
        stdout.print("it waits for its turn, for budget, or for a model", highlight=False)


@app.command()
def approve(
    incident: IncidentId,
    config: Config = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="Leave the texts out for all queries.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Confirm that the answer is wrong: its texts are left out from now on.

    Whoever complained before gains trust. The texts are left out even if the models found that the
    answer stays the same without them.
    """
    record(incident, Decision.APPROVED, config, everywhere=everywhere, yes=yes, as_json=as_json)


@app.command()
def dismiss(
    incident: IncidentId, config: Config = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Say that the answer is not wrong: its texts are let back in.

    Whoever complained before loses trust.
    """
    record(incident, Decision.DISMISSED, config, everywhere=False, yes=yes, as_json=as_json)


@app.command()
def model_erred(
    incident: IncidentId, config: Config = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Say that the answer is wrong and that no source is to blame: the model erred.

    Its texts are let back in, and nothing is counted against their sources. Whoever complained
    before gains trust.
    """
    record(incident, Decision.MODEL_ERRED, config, everywhere=False, yes=yes, as_json=as_json)


def record(
    named: str,
    decision: Decision,
    config: Path | None,
    *,
    everywhere: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Write a person's decision down and print what follows."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    row = only_one(engine, named)
    deed = f"say that {printable(row['answer'], 80)!r} is {SAID[decision]}"
    policy = policy_of(settings)
    if decision is Decision.APPROVED and not yes:
        print_removal(engine, row["incident"], policy)
    agree(f"{printable(row['query_id'])}: {deed}?", deed, yes=yes)
    now_ms = milliseconds(datetime.now(UTC))
    event = decide(
        engine, complaint_of(row), decision, policy, now_ms=now_ms, everywhere=everywhere
    )
    if as_json:
        told = {"incident": row["incident"], "decision": decision, "event": event_json(event)}
        print_json(told)
    elif event is None:
        waits = decision is Decision.APPROVED
        stdout.print("noted; it counts once the answer is attributed" if waits else "noted")
    else:
        print_event(event)


def print_removal(engine: Engine, incident: str, policy: Policy) -> None:
    """Print the texts that an approval will leave out."""
    known = store.look(engine, incident)
    event = known.event if known else None
    if event is None or event.finding is None:
        stderr.print("its texts are not known yet: those found out later will be left out")
        return
    status, detail = status_of(event, {}, Decision.APPROVED, policy.protection)
    if status not in REMOVING:
        stderr.print(cell(f"this leaves out no text: {detail}", limit=200), soft_wrap=True)
        return
    with engine.connect() as connection:
        rows = quarantine.texts_of(connection, incident)
    stderr.print(f"this leaves out {counted_noun(len(rows), 'text')}:", highlight=False)
    for row in rows:
        where = row["url"] or row["title"]
        begins = printable(row["excerpt"], 80)
        told = f"  {row['text_key'][: SHORT_ID + 2]}  {printable(where, 120)}  {begins}"
        stderr.print(cell(told, limit=250), soft_wrap=True)


def only_one(engine: Engine, named: str) -> dict[str, Any]:
    """Return the incident whose id begins so.

    Raises NotFoundError where there is none, ConfigurationError for several.
    """
    found = store.list_incidents(engine, limit=2, prefix=named) if named else []
    if not found:
        raise NotFoundError(f"no incident has an id that begins with {named!r}")
    if len(found) > 1:
        raise ConfigurationError(f"several incidents have an id that begins with {named!r}")
    return found[0]


app.command("report")(report_incidents)
