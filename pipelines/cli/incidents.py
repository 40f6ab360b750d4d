"""`radarstream incidents`: look at wrong answers and decide about them."""

from pathlib import Path
from typing import Annotated, Any

import typer
from sqlalchemy import Engine
from typer import Argument, Option

from radarstream.connectors.state_table.incidents import store
from radarstream.connectors.state_table.incidents.complaints import complaint_of
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.incident_view import (
    SHORT_KEY,
    event_json,
    incident_json,
    print_event,
    print_incidents,
)
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import agree, note, print_json, print_values, say
from radarstream.pipelines.job.incidents.settling import decide
from radarstream.pipelines.job.operating.incidents import MEANING, only_one, removal_of, senders_of
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.incidents import ComplaintState, Decision
from radarstream.schemas.shown import one_line
from radarstream.schemas.times import now_ms
from radarstream.schemas.wording import counted_noun

ONE_COMPLAINTS_OWN = {"complaint_id", "sent_at", "sender", "comment"}
IN_THE_EVENT = {"answer", "status", "finding"}
IncidentId = Annotated[
    str,
    Argument(
        metavar="ID", help="Id of an incident (see `list`) or of a complaint; may be shortened."
    ),
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
        print_json(
            [
                _without(incident_json(row), ONE_COMPLAINTS_OWN) | {"senders": some.counts}
                for row, some in zip(found, who, strict=True)
            ]
        )
        return
    print_incidents(found, who)
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
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Confirm that the answer is wrong: its texts are left out from now on.

    Whoever complained before gains trust. The texts are left out even if the models found that the
    answer stays the same without them.
    """
    _decide(incident, Decision.APPROVED, config, everywhere=everywhere, yes=yes, as_json=as_json)


@app.command()
def dismiss(
    incident: IncidentId, config: Config = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Say that the answer is not wrong: its texts are let back in.

    Whoever complained before loses trust.
    """
    _decide(incident, Decision.DISMISSED, config, yes=yes, as_json=as_json)


@app.command()
def model_erred(
    incident: IncidentId, config: Config = None, yes: Yes = False, as_json: AsJson = False
) -> None:
    """Say that the answer is wrong and that no source is to blame: the model erred.

    Its texts are let back in. Whoever complained before gains trust.
    """
    _decide(incident, Decision.MODEL_ERRED, config, yes=yes, as_json=as_json)


def _decide(
    named: str,
    decision: Decision,
    config: Path | None,
    *,
    everywhere: bool = False,
    yes: bool,
    as_json: bool,
) -> None:
    settings = load_settings(config)
    engine = existing_engine(settings)
    row = only_one(engine, named)
    if decision is Decision.APPROVED and not yes:
        _print_removal(engine, row["incident"], settings.attribution)
    deed = f"say that {one_line(row['answer'], 80)!r} is {MEANING[decision]}"
    agree(f"{one_line(row['query_id'])}: {deed}?", deed, yes=yes)
    rules = settings.attribution
    event = decide(
        engine, complaint_of(row), decision, rules, now_ms=now_ms(), everywhere=everywhere
    )
    if as_json:
        print_json({"incident": row["incident"], "decision": decision, "event": event_json(event)})
    elif event is None:
        waits = decision is Decision.APPROVED
        say("noted; it counts once the answer is attributed" if waits else "noted")
    else:
        print_event(event)


def _print_removal(engine: Engine, incident: str, rules: Rules) -> None:
    """Print the texts that an approval will leave out."""
    removal = removal_of(engine, incident, rules)
    if removal.why_none:
        note(removal.why_none, 200)
        return
    note(f"this leaves out {counted_noun(len(removal.texts), 'text')}:")
    for row in removal.texts:
        address = one_line(row["url"] or row["title"], 120)
        begins = one_line(row["excerpt"], 80)
        note(f"- {row['text_key'][:SHORT_KEY]}  {address}  {begins}", 250)


def _without(values: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
