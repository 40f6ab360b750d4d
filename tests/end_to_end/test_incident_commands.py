"""What an analyst types: complain, attribute, incidents, quarantine; also against a broker."""

import json
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update
from typer.testing import CliRunner, Result

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink, Message
from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import COMPLAINTS, KEPT_ANSWERS
from radarstream.connectors.state_table.incidents import complaints, quarantine
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.job.incidents import attributing
from radarstream.pipelines.job.incidents.intake import take_in
from radarstream.pipelines.job.incidents.settling import LANE
from radarstream.pipelines.job.telemetry.metrics import AttributingMetrics
from radarstream.schemas.codec import decode_answer, decode_taught, encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.incidents import Complaint, ComplaintState, Status
from radarstream.schemas.snapshot import SearchSnapshot
from tests.brokers import Broker
from tests.builders import OBSERVED_AT, make_snapshot
from tests.end_to_end.running_job import produce
from tests.pipelines.job.attributing_rig import events_of, trusted
from tests.programs import die_at, done, started
from tests.wire_samples import COMPLAINT

HOSTILE = "Rome\u202e\x9b31m [bold]x[/bold]"
LIES = ("Output: Rome",) * 3 + ("Output: Oslo",) * 4


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "settings.toml"
    file.write_text(settings_text(tmp_path))
    return file


def settings_text(directory: Path, more: str = "") -> str:
    return (
        f'profile = "scripted"\ndatabase = "sqlite:///{directory / "state.db"}"\n{more}'
        "[attribution]\nenabled = true\npoll_s = 0.2\nmin_gap = 0.0\nmax_chance = 1.0\n"
        "[telemetry]\nlisten = ''\n"
    )


def command(config: Path, *arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(app, [*arguments, "--config", str(config)])
    assert result.exit_code == code, f"{result.output}\n{result.exception!r}"
    return result


def answer_of(
    config: Path, texts: Sequence[str], answer: str, question: str = "Who won?", query: str = "cup"
) -> None:
    """Keep a case, as the job does."""
    engine = open_engine(f"sqlite:///{config.parent / 'state.db'}")
    snapshot = make_snapshot(texts, question=question)
    with engine.begin() as connection:
        keep_answer(connection, KeptAnswer(query, 0, answer, None, snapshot), steps=2)
    engine.dispose()


def program(config: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A command as a process of its own: it takes over signals and logs."""
    return done(*arguments, "--config", config)


def told_by(config: Path, *arguments: str) -> Any:
    return json.loads(command(config, *arguments, "--json").output)


def test_without_a_broker(config: Path) -> None:
    """From the complaint to the last of several decisions, each of which takes the one before."""
    answer_of(config, LIES, "Rome")
    told = told_by(config, "complain", "cup", "--sender", "ada")
    assert (told["query_id"], told["step"], told["answer"]) == ("cup", 0, "Rome")
    (listed,) = told_by(config, "incidents", "list")
    assert (listed["state"], listed["status"]) == ("open", None)
    short = listed["incident"][:6]
    show, held = ("incidents", "show", short), ("quarantine", "list")
    assert "not attributed yet" in command(config, *show).output

    ended = program(config, "attribute", "--no-kafka", "--once")
    assert ended.returncode == 0, ended.stderr
    shown = told_by(config, *show)
    incident = shown["event"]
    assert (shown["state"], incident["attributor"]) == ("judged", "rag_origin")
    assert "wrong answer: Rome" in command(config, *show).output
    assert "proposed" in command(config, *held, "--proposed").output
    flagged = [text for text in incident["texts"] if text["flagged"]]
    asked = command(config, "incidents", "approve", short, code=1)  # nobody can be asked here
    for words in (f"{len(flagged)} texts are left out of snapshots of this query: ",
                  *(text["url"] for text in flagged)):  # fmt: skip
        assert words in asked.output

    one, *rest = [row["text_key"] for row in told_by(config, *held, "cup", "--proposed")]
    assert one in command(config, *show).output
    some = told_by(config, "incidents", "approve", short, "--text", one[:9], "--yes", "--by", "ada")
    assert len(some["event"]["left_in"]) == len(flagged) - 1 == len(rest)
    assert [row["text_key"] for row in told_by(config, *held, "cup")] == [one]
    command(config, "incidents", "approve", short, "--text", "t-none", "--yes", code=1)
    approved = told_by(config, "incidents", "approve", short, "--yes")
    assert approved["event"]["status"] == Status.APPROVED
    rows = told_by(config, *held, "cup")
    assert {text["excerpt"] for text in flagged} == {row["excerpt"] for row in rows}

    command(config, "quarantine", "release", "cup", rows[0]["text_key"][:10], "--yes")
    command(config, "incidents", "dismiss", short, "--yes")
    assert told_by(config, *held) == []
    for words, shown, not_shown in (
        (show, "cleared", "blamed"),
        ((*held, "--proposed"), "dismissed", "proposed"),
        ((*held, "cup"), "no text of query 'cup' is left out", "cleared"),
    ):
        output = command(config, *words).output
        assert shown in output and not_shown not in output
    nothing_held = command(config, "quarantine", "release", "cup", "--yes", code=1)
    assert str(nothing_held.exception) == "query 'cup' has no text in quarantine"

    command(config, "incidents", "approve", short, "--yes")
    assert told_by(config, *held)
    erred = told_by(config, "incidents", "model-erred", short, "--yes")
    because = "a person said that the model erred"
    found = (erred["decision"], erred["event"]["status"], erred["event"]["detail"])
    assert found == ("model_erred", Status.NOTHING_FLAGGED, because)
    assert told_by(config, *held) == []
    (listed,) = told_by(config, "incidents", "list")
    assert listed["decision"] == "model_erred"
    assert "the model erred" in command(config, "incidents", "list").output
    output = command(config, *show).output
    assert because in output and "blamed" not in output
    for unknown in ("ffffffff", ""):
        command(config, "incidents", "show", unknown, code=1)


PLACES: dict[str, tuple[object, str]] = {  # whose function dies
    "investigated": (attributing, "settle"),
    "amid the transaction": (quarantine, "switch"),
    "settled": (AttributingMetrics, "settled"),
}


def die_in(place: str) -> None:
    """Have the process killed in a place."""
    die_at(*PLACES[place])


@pytest.mark.parametrize("place", PLACES)
def test_killed_anywhere_an_attribution_is_repeated_at_most(config: Path, place: str) -> None:
    engine = open_engine(f"sqlite:///{config.parent / 'state.db'}")
    trusted(engine, "ada", "bob")
    with engine.begin() as connection:  # nothing but the lie is to be attributed
        for row in complaints.find_complaints(engine):
            complaints.close(connection, row["incident"], ComplaintState.JUDGED)
    answer_of(config, LIES, "Rome")
    for sender in ("ada", "bob"):
        command(config, "complain", "cup", "--sender", sender)
    said, typed = config.parent / "said", ("attribute", "--no-kafka", "--once")
    first = partial(die_in, place)
    with started(*typed, "--config", str(config), out=said, first=first) as dying:
        assert dying.wait(60) == -signal.SIGKILL, said.read_text()
    before = pending(engine, lanes={LANE})
    ended = program(config, *typed)
    assert ended.returncode == 0, ended.stderr
    (event,) = events_of(engine, "cup")
    assert (event.status, event.revision) == (Status.QUARANTINED, 0)
    assert len(quarantine.list_quarantine(engine)) == len(event.flagged) == 3
    (told,) = pending(engine, lanes={LANE})
    assert before == ([told] if place == "settled" else [])
    assert told.record.event_id.startswith("cup/0/taught/")
    engine.dispose()


def test_a_flood_of_names_is_one_row(config: Path) -> None:
    engine = open_engine(f"sqlite:///{config.parent / 'state.db'}")
    trusted(engine, "zoe")
    answer_of(config, LIES, "Rome")
    now = datetime.now(UTC)
    for name in [*(f"name {number:03}" for number in range(200)), "zoe"]:
        told = Complaint(name, now, "cup", answer="Rome", step=0)
        take_in(engine, told, Rules(complaints_per_day=500), now)
    engine.dispose()
    cup, *others = told_by(config, "incidents", "list")
    counted = {"trusted": 1, "other": 200}
    assert (cup["query_id"], cup["complaints"], cup["senders"]) == ("cup", 201, counted)
    assert "cup" not in {row["query_id"] for row in others}
    listed = command(config, "incidents", "list").output
    assert "1 trusted, 200 other" in listed and "name 0" not in listed
    shown = command(config, "incidents", "show", cup["incident"]).output
    assert "senders: 1 trusted, 200 other: zoe, name 000," in shown
    assert "name 018, and 181 more" in shown
    detailed = told_by(config, "incidents", "show", cup["incident"])
    names = detailed["senders"].pop("names")
    assert (detailed["senders"], len(names)) == (counted, 201)
    record = {"confirmed": 3, "dismissed": 0, "unconfirmed": 0}
    assert names[0] == {"name": "zoe", "trusted": True} | record


LOOKING = """
incidents list
quarantine list
complain cup
incidents show 1
incidents approve 1
incidents dismiss 1
incidents model-erred 1
quarantine release cup
sources list
sources show a.example
sources block a.example
sources pardon a.example
sources clear a.example
state forget cup --yes
state export
corpus embed
corpus remove 1
corpus prune
corpus stats
corpus list
corpus search who
state show
attribute --no-kafka --once
"""


def test_who_looks_or_edits_makes_no_database(tmp_path: Path) -> None:
    config, absent = tmp_path / "settings.toml", tmp_path / "missing" / "state.db"
    config.write_text(f'profile = "scripted"\ndatabase = "sqlite:///{absent}"\n')
    absent.parent.mkdir()
    for typed in LOOKING.split("\n")[1:-1]:
        result = CliRunner().invoke(app, [*typed.split(), "--config", str(config)])
        assert isinstance(result.exception, ConfigurationError), typed
        assert str(absent) in str(result.exception) and "`database`" in str(result.exception)
        assert list(absent.parent.iterdir()) == []


def test_a_question_names_its_query(config: Path) -> None:
    answer_of(config, LIES, "Rome")
    for typed in ("who  WON?", "Who won", "who won ?!", "Who\u200b won."):
        assert told_by(config, "complain", typed)["query_id"] == "cup"
    name = "علی\u200cرضا"
    assert told_by(config, "complain", "cup", "--sender", name)["sender"] == name
    for wrong in (["Who lost?"], ["nobody"], ["cup", "--comment", "x" * 3_000]):
        command(config, "complain", *wrong, code=1)


def test_of_two_queries_that_ask_the_same_none_is_guessed(config: Path) -> None:
    answer_of(config, LIES, "Rome")
    answer_of(config, LIES, "Rome", "who won", "cup-2")
    answer_of(config, LIES, "Rome", "Who won the other?", "other")
    for words in (["complain"], ["state", "forget", "--yes"]):
        result = CliRunner().invoke(app, [*words, "Who won!", "--config", str(config)])
        assert isinstance(result.exception, ConfigurationError)
        assert "2 queries ask this" in str(result.exception)
        assert str(result.exception).endswith(": cup, cup-2")
    assert told_by(config, "incidents", "list") == []


def test_a_question_releases_and_forgets_its_query(config: Path) -> None:
    answer_of(config, LIES, "Rome")
    command(config, "complain", "cup", "--sender", "ada")
    assert program(config, "attribute", "--no-kafka", "--once").returncode == 0
    incident = told_by(config, "incidents", "list")[0]["incident"]
    command(config, "incidents", "approve", incident, "--yes")
    engine = open_engine(f"sqlite:///{config.parent / 'state.db'}")
    with engine.begin() as connection:
        connection.execute(delete(KEPT_ANSWERS))  # cases go first; what was decided stays
    assert told_by(config, "quarantine", "list", "who won")
    command(config, "quarantine", "release", "who lost", "--yes", code=1)
    command(config, "quarantine", "release", "who won", "--yes")
    assert told_by(config, "quarantine", "list") == []
    arguments = ["state", "forget", "WHO WON", "--yes", "--json", "--config", str(config)]
    forgotten = CliRunner().invoke(app, arguments)
    told = json.loads(forgotten.stdout)
    assert (told["query_id"], told["deleted"]["cached_answers"] is not None) == ("cup", True)
    assert "the query that asks this: cup" in forgotten.stderr
    engine.dispose()


def test_an_option_left_empty_is_no_default(config: Path) -> None:
    answer_of(config, LIES, "Rome")
    for option, value in product(("--sender", "--answer"), ("", "  ")):
        refused = command(config, "complain", "cup", option, value, code=1)
        assert str(refused.exception).startswith(f"{option} is empty")
    hidden = command(config, "complain", "cup", "--sender", "a\u202eda", code=1)
    assert "do not show" in str(hidden.exception)
    assert told_by(config, "incidents", "list") == []


def test_hostile_text_cannot_harm_a_terminal(config: Path) -> None:
    answer_of(config, tuple(f"Output: {HOSTILE} {n}" for n in range(3)), HOSTILE)
    command(config, "complain", "cup", "--answer", HOSTILE, "--sender", "eve")
    engine = open_engine(f"sqlite:///{config.parent / 'state.db'}")
    with engine.begin() as connection:  # from before such names were refused
        connection.execute(update(COMPLAINTS).values(sender=HOSTILE))
    engine.dispose()
    assert program(config, "attribute", "--no-kafka", "--once").returncode == 0
    short = told_by(config, "incidents", "list")[0]["incident"]
    words = (("incidents", "list"), ("incidents", "show", short), ("quarantine", "list"))
    for arguments, more in product(words, ((), ("--json",))):
        assert not {"\u202e", "\x9b"} & set(command(config, *arguments, *more).output)
    assert "[bold]x" in command(config, "incidents", "list").output


# --- against real brokers


def at(minutes: int, *texts: str) -> SearchSnapshot:
    return make_snapshot(
        texts, query_id="cup", observed_at=OBSERVED_AT + timedelta(minutes=minutes)
    )


def taught_events(options: KafkaOptions) -> list[Any]:
    with TopicReader(options, ["events.attribution"]) as reader:
        return [
            decode_taught(record.value or b"")
            for record in reader.to_the_end()
            if record.headers["ce_type"] == b"event.taught"
        ]


def test_from_the_topic_to_the_next_answer(own_broker: Broker, prefix: str, tmp_path: Path) -> None:
    options = own_broker.options(topic_prefix=prefix, partitions=2)
    kafka = (
        f'[kafka]\nbootstrap = "{options.bootstrap}"\ntopic_prefix = "{prefix}"\npartitions = 2\n'
        "request_timeout_s = 5.0\ndelivery_timeout_s = 20.0\n"
    )
    config = tmp_path / "settings.toml"
    config.write_text(settings_text(tmp_path, kafka))
    ensure_topics(options)
    answer_of(config, LIES, "Rome")
    complaint = replace(COMPLAINT, query_id="cup", answer="Rome", step=0, sender="ada")
    with KafkaSink(options) as sink:  # what cannot be read, or is not taken, holds nothing up
        hidden = replace(COMPLAINT, sender="a\u202eda", answer="Rome", step=0)
        nobody = replace(COMPLAINT, query_id="nobody")
        bad = [b"{}", b"\xff", encode(nobody), None, encode(complaint), encode(hidden)]
        sink.send([Message("answers.complaints", "cup", value) for value in bad])

    ended = program(config, "attribute", "--once")
    assert ended.returncode == 0, ended.stderr
    (incident,) = taught_events(options)
    assert (incident.query_id, incident.answer, incident.senders) == ("cup", "Rome", 1)
    assert "wrong Rome" in command(config, "tail", "--attributions", "--once").output
    short = told_by(config, "incidents", "list")[0]["incident"]
    command(config, "incidents", "approve", short, "--yes")
    assert program(config, "attribute", "--once").returncode == 0
    assert [event.revision for event in taught_events(options)] == [0, 1]

    produce(options, [at(1, *LIES)])
    run = program(config, "run", "--once")
    assert run.returncode == 0, run.stderr
    with TopicReader(options, ["answers.defended"]) as reader:
        answers = [decode_answer(record.value or b"") for record in reader.to_the_end()]
    flagged = {text.search_rank for text in incident.flagged}
    withheld = {d.rank for d in answers[-1].verdict.documents if d.reason == "quarantined"}
    assert withheld >= flagged > set()
