"""What a consumer and an operator type, against real brokers: tail, alert, deadletter."""

import json
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import category

import pytest
from rich.console import Console
from typer.testing import CliRunner

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink, Message
from radarstream.connectors.kafka.topic_reader import TopicReader, TopicRecord
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.cli.deadletter import print_rows
from radarstream.pipelines.cli.options import moment
from radarstream.schemas.codec import encode, outbox_record, structured
from radarstream.schemas.errors import BrokerError, ConfigurationError, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter, RejectedEvent
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import MemoryDecision, MemoryVerdict
from tests.brokers import Broker
from tests.builders import make_snapshot
from tests.clocks import until
from tests.commands import refused, run
from tests.markdown import code_block
from tests.programs import Program, started
from tests.replies import Reply
from tests.webhook_receiver import TAKEN, receiving
from tests.wire_samples import ANSWER, REJECTED

DOCUMENT = Path(__file__).parents[2] / "docs" / "consuming.md"
PROGRAM = [sys.executable, "-c", "from radarstream.pipelines.cli.app import main; main()"]
REPOSITORY = Path(__file__).parents[2]
GIVEN = {"abstention": None, "status": AnswerStatus.CORROBORATED, "standing": None}
HOSTILE = "Re\u202ex \u2066[bold]won\nNOTHING\u200b"


@dataclass
class Site:
    """A broker with empty topics of our own and the settings file that names them."""

    broker: Broker
    options: KafkaOptions
    config: Path
    group: str

    def publish(self, *events: AnswerEvent | RejectedEvent | DeadLetter) -> None:
        records = [outbox_record(event) for event in events]
        with KafkaSink(self.options) as sink:
            until(lambda: published(sink, records))

    def configure(self, more: str = "") -> None:
        self.config.write_text(
            f'profile = "scripted"\n[kafka]\nbootstrap = "{self.options.bootstrap}"\n'
            f'topic_prefix = "{self.options.topic_prefix}"\nrequest_timeout_s = 5.0\n'
            f"delivery_timeout_s = 20.0\n[telemetry]\nlog_format = 'json'\n{more}"
        )

    def records(self, topic: str) -> list[TopicRecord]:
        with TopicReader(self.options, [topic]) as reader:
            return list(reader.to_the_end())


def published(sink: KafkaSink, records: Sequence) -> bool:
    try:
        sink.publish(records)
    except BrokerError:  # it was just started again
        return False
    return True


def site_of(broker: Broker, prefix: str, directory: Path) -> Site:
    options = broker.options(topic_prefix=prefix, partitions=2)
    ensure_topics(options)
    made = Site(broker, options, directory / "settings.toml", f"{prefix}alerts")
    made.configure()
    return made


@pytest.fixture
def site(broker: Broker, prefix: str, tmp_path: Path) -> Site:
    return site_of(broker, prefix, tmp_path)


@pytest.fixture
def own_site(own_broker: Broker, tmp_path: Path) -> Site:
    return site_of(own_broker, "", tmp_path)


@contextmanager
def radarstream(*arguments: object, module: str = "") -> Iterator[Program]:
    with TemporaryDirectory() as place:
        out, err = Path(place) / "out", Path(place) / "err"
        secret = {"WEBHOOK_SECRET": "canary-secret"}
        with started(*map(str, arguments), out=out, err=err, module=module, **secret) as process:
            yield process


def answer(query_id: str, step: int, changed: bool | None = False, **fields) -> AnswerEvent:
    moment = ANSWER.observed_at + timedelta(hours=step)
    fields = GIVEN | {"answer": f"answer {step}", "changed": changed} | fields
    return replace(ANSWER, query_id=query_id, step=step, observed_at=moment, **fields)


def attribution(query_id: str, step: int, rank: int, **fields) -> RejectedEvent:
    moment = ANSWER.observed_at + timedelta(hours=step)
    return replace(REJECTED, query_id=query_id, step=step, rank=rank, observed_at=moment, **fields)


def letter(position: int, reason: ReasonClass, payload: bytes, attempts: int = 1) -> DeadLetter:
    disposition = "outage" if reason is ReasonClass.MODEL_UNAVAILABLE else "poison"
    held, detail = b64encode(payload).decode(), f"because of {position}"
    source = "epoch/search.snapshots/0"
    return DeadLetter(reason, detail, disposition, source, position, attempts, held)


# tail


def test_tail_shows_every_event_once(site: Site) -> None:
    answers = [answer(q, step, changed=step == 1) for step in range(3) for q in "ab"]
    site.publish(*answers)
    site.publish(*answers[2:])  # a crash repeats
    site.publish(attribution("a", 1, 3))
    lines = run("tail", "--config", site.config, "--once", "--json").stdout.splitlines()
    wire = [structured(outbox_record(e).envelope, encode(e)).decode() for e in answers]
    assert sorted(lines) == sorted(wire)
    for options, count in [
        (["--query", "a"], 3),
        (["--query", "a", "--query", "b"], 6),
        (["--tag", "sport", "--changed"], 2),
        (["--tag", "other"], 0),
        (["--attributions"], 1),
        (["--all"], 7),
        (["--limit", 2], 2),
        (["--from", "2025-06-01T14:00:00"], 2),
        (["--from", "latest"], 0),
    ]:
        shown = run("tail", "--config", site.config, "--once", *options).stdout
        assert shown.count("\n") == count, (options, shown)


def test_tail_is_readable_and_harmless(site: Site) -> None:
    falsified = MemoryVerdict(MemoryDecision.FALSIFIED, previous_answer="Basel")
    site.publish(
        answer("cup", 0, True, verdict=replace(ANSWER.verdict, memory=falsified)),
        replace(ANSWER, query_id="none"),
        answer(HOSTILE, 0, question=HOSTILE, answer=HOSTILE),
        attribution(HOSTILE, 0, 3, url=f"javascript:{HOSTILE}", atomic_answer=HOSTILE),
    )
    shown = run("tail", "--config", site.config, "--once", "--all").stdout
    assert all(c == "\n" or category(c) not in {"Cc", "Cf", "Cs"} for c in shown)
    lines = {line.split("  ")[1] if line[0] != " " else "cut": line for line in shown.splitlines()}
    assert len(lines) == shown.count("\n") == 4
    assert lines["cup/0"] == (
        "2025-06-01 12:00:00  cup/0  Who won the cup?  answer 0  corroborated: 1 independent "
        "site says so, 1 says Basel; 2 more lying sites could silence it, 3 could change it  "
        "memory falsified  CHANGED from Basel"
    )
    assert "no answer: thin_evidence" in lines["none/4"]
    assert "Basel" in lines["none/4"]  # the previous answer stands
    assert "#3 cut" in lines["cut"]
    assert "javascript:Rex [bold]won NOTHING" in lines["cut"]
    as_json = run("tail", "--config", site.config, "--once", "--all", "--json").stdout
    assert all(c == "\n" or c.isprintable() for c in as_json)
    events = [json.loads(line)["data"] for line in as_json.splitlines()]
    assert HOSTILE in {event["query_id"] for event in events}


def test_tail_tells_what_it_cannot_read(site: Site) -> None:
    site.publish(answer("a", 0))
    with KafkaSink(site.options) as sink:
        bad = [b"{\x1b[2J" + bytes([n]) for n in range(5)]
        sink.send([Message("answers.defended", f"{n}", value) for n, value in enumerate(bad)])
        sink.retract("answers.defended", "for\x1b[gotten")  # a tombstone is no error
    result = run("tail", "--config", site.config, "--once")
    assert result.stdout.count("\n") == 2
    assert "forgotten for[gotten\n" in result.stdout
    assert result.stderr.count("warning: cannot read answers.defended/") == 5
    assert "\x1b" not in result.output
    for options in (["--json"], ["--query", "a"], ["--attributions"], ["--tag", "sport"]):
        assert "gotten" not in run("tail", "--config", site.config, "--once", *options).stdout


def test_tail_follows_until_interrupted(own_site: Site) -> None:
    with radarstream("tail", "--config", own_site.config, "--from", "beginning") as tail:
        own_site.publish(answer("a", 0))
        tail.line(tail.out, "a/0")
        own_site.broker.kill()
        tail.line(tail.err, "waiting for the broker")
        own_site.broker.start()
        tail.line(tail.err, "the broker is back")
        own_site.publish(answer("a", 0), answer("a", 1))
        tail.line(tail.out, "a/1")
        assert (tail.stopped_by(signal.SIGINT), tail.out.read_text().count("a/0")) == (0, 1)


def test_a_closed_pipe_ends_tail_quietly(own_site: Site) -> None:
    site = own_site
    site.publish(*[answer("a", step) for step in range(200)])
    program = " ".join(f"'{part}'" for part in PROGRAM)
    shell = f"{program} tail --config {site.config} --once --json | head -n 1"
    bash = ["bash", "-o", "pipefail", "-c", shell]
    done = subprocess.run(bash, cwd=REPOSITORY, capture_output=True, text=True, timeout=60)
    assert ((done.returncode, done.stderr), done.stdout.count("\n")) == ((0, ""), 1)


def test_tail_refuses_in_one_line(tmp_path: Path) -> None:
    config = tmp_path / "none.toml"
    timeouts = "request_timeout_s = 1.0\ndelivery_timeout_s = 2.0\n"
    config.write_text(f'[kafka]\nbootstrap = "127.0.0.1:1"\n{timeouts}')
    for arguments, code, named in (
        (["--from", "yesterday"], 2, "--from must be beginning, latest, or a time such as"),
        (["--changed", "--all"], 2, "--changed"),
        ([], 1, "127.0.0.1:1"),
    ):
        found, said = refused("tail", "--config", config, *arguments)
        assert (found, said.count("\n")) == (code, 1)
        assert named in said


def test_the_documented_consumer_runs(own_site: Site, tmp_path: Path) -> None:
    site = own_site  # groups take half a minute to form on the other broker
    text = code_block(DOCUMENT, "python", "KafkaConsumer(")
    assert len(text.splitlines()) <= 11
    file = tmp_path / "consumer.py"
    file.write_text(text)
    site.publish(answer("a", 0), answer("a", 1), answer("a", 0), answer("a", 1))
    with KafkaSink(site.options) as sink:
        sink.retract("answers.defended", "a")  # forgotten, then watched again
    site.publish(answer("a", 2))
    with radarstream(site.options.bootstrap, module=str(file)) as consumer:
        consumer.line(consumer.out, "answer 2")
        seen = consumer.out.read_text().splitlines(keepends=True)
    assert seen == [f"a {step} answer {step} False\n" for step in range(3)]


# alert


def alerting(site: Site, url: str, more: str = "") -> Site:
    site.configure(
        f'[alerts]\ngroup = "{site.group}"\n{more}\n[alerts.webhook]\nurl = "{url}"\n'
        "timeout_s = 2.0\nfirst_pause_s = 0.02\nlongest_pause_s = 0.1\n"
    )
    return site


def test_alerts_survive_kills_and_a_receiver_that_is_down(own_site: Site) -> None:
    down = [Reply(status=503)] * 5
    with receiving([TAKEN, *down], last=Reply(status=503)) as receiver:
        site = alerting(own_site, receiver.url)
        with radarstream("alert", "--config", site.config) as first:
            first.line(first.err, "alerting")
        # Killed before there was anything to do, and yet it is known where it began.
        site.publish(*[answer("a", step, step > 0) for step in range(4)], answer("b", 0, True))
        with radarstream("alert", "--config", site.config):
            receiver.wait_for(4)
        before = [r.headers["Idempotency-Key"] for r in receiver.received[:1]]
        receiver.replies.clear()
        receiver.last = TAKEN
        mark = len(receiver.received)
        with radarstream("alert", "--config", site.config) as third:
            until(lambda: len({r.headers["Idempotency-Key"] for r in receiver.received}) == 4)
            until(lambda: caught_up(site))
            assert third.stopped_by(signal.SIGTERM) == 0
            third.line(third.err, "alerts: ")
        after = [r.headers["Idempotency-Key"] for r in receiver.received[mark:]]
    accepted = list(dict.fromkeys(before + after))
    assert [key for key in accepted if key[0] == "a"] == ["a/1", "a/2", "a/3"]
    assert "b/0" in accepted
    assert json.loads(receiver.received[-1].body)["schema"] == "alert.answer/1"


def caught_up(site: Site) -> bool:
    with TopicReader(site.options, ["answers.defended"], group=site.group) as reader:
        return reader.at_end()


def test_a_sample_alert_tries_the_receiver_out(tmp_path: Path) -> None:
    config = tmp_path / "alerts.toml"
    for status, code, said in ((204, 0, "accepted"), (403, 1, "not accepted")):
        with receiving(last=Reply(status=status)) as receiver:
            config.write_text(f'profile = "scripted"\n[alerts.webhook]\nurl = "{receiver.url}"\n')
            with radarstream("alert", "--test", "--config", config) as command:
                line = command.line(command.out, "the sample alert was")
                warning = command.line(command.err, "too short to be safe")
                assert command.wait(60) == code
        assert f"was {said}" in line and f"status {status}" in line
        assert "canary-secret" not in line + warning
        (request,) = receiver.received
        body = json.loads(request.body)
        assert (body["schema"], body["query_id"]) == ("alert.answer/1", "radarstream-test")


def test_people_get_what_they_chose_beside_a_webhook_that_is_down(own_site, monkeypatch) -> None:
    """Each receiver has its own place in the topic; a digest is one message."""
    site = own_site
    with receiving(last=Reply(status=503)) as hook, receiving(last=Reply()) as team:
        address = team.url.replace("http", "json", 1).replace("hook", "canary-secret")
        monkeypatch.setenv("TEAM_ALERTS", address)
        channel = '[alerts.channels.team]\nvariable = "TEAM_ALERTS"\nqueries = ["a"]\n'
        alerting(site, hook.url, f'start = "beginning"\n{channel}digest_hours = 0.001')
        site.publish(*[answer(q, 1, True) for q in "ab"], answer("a", 2, True))
        with radarstream("alert", "--config", site.config) as command:
            (message,) = team.wait_for(1)
            hook.wait_for(2)
            assert command.stopped_by(signal.SIGTERM) == 0
            said = command.line(command.err, "alerts: ")
    assert "2 delivered, 0 refused, 1 answers passed over" in said
    assert json.loads(message.body)["title"] == "2 answers to look at"
    assert "canary-secret" not in said


def test_a_sample_tries_each_channel_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "alerts.toml"
    config.write_text(
        'profile = "scripted"\n[alerts.channels.on-call]\nvariable = "ON_CALL"\n'
        '[alerts.channels.team]\nvariable = "TEAM"\n'
        '[alerts.webhook]\nurl = "http://127.0.0.1:1/x"\n'
    )
    monkeypatch.setenv("WEBHOOK_SECRET", "a secret of sixteen bytes and more")
    with receiving(last=Reply()) as receiver:
        monkeypatch.setenv("TEAM", receiver.url.replace("http", "json", 1))
        monkeypatch.setenv("ON_CALL", "json://127.0.0.1:1/canary-secret")
        result = CliRunner().invoke(app, ["alert", "--test", "--config", str(config)])
    assert result.exit_code == 1
    webhook, on_call, team = result.stdout.splitlines()
    assert webhook.endswith("the sample alert was not accepted: ConnectError")
    assert "too short" not in result.stderr
    assert on_call.startswith("on-call: the sample alert was not accepted: A Connection error")
    assert team == "team: the sample alert was accepted"
    assert "canary-secret" not in result.output


def test_alerts_go_over_https_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WEBHOOK_SECRET", raising=False)
    config = tmp_path / "alerts.toml"
    config.write_text('[alerts.webhook]\nurl = "http://example.org/x"\n')
    code, said = refused("alert", "--config", config)
    assert (code, "https" in said) == (2, True)


# deadletter


OUTAGE, POISON = ReasonClass.MODEL_UNAVAILABLE, ReasonClass.MALFORMED_JSON
SNAPSHOT_BYTES = encode(make_snapshot(["Rex won."], query_id="cup"))


def test_dead_letters_are_listed_and_shown(site: Site) -> None:
    letters = [letter(1, OUTAGE, SNAPSHOT_BYTES), letter(2, POISON, b"{\x1b[2J\xff\x00 rest")]
    site.publish(*letters, *letters)
    config = ("--config", site.config)
    with KafkaSink(site.options) as sink:
        sink.send([Message("snapshots.deadletter", "x", b"junk")])
    listed = run("deadletter", "list", *config, "--json")
    rows = json.loads(listed.stdout)
    told = [(r["position"], r["reason"]) for r in rows]
    assert told == [(1, "model_unavailable"), (2, "malformed_json")]
    assert "cannot read snapshots.deadletter/" in listed.stderr
    for options, count in [
        (["--reason", "malformed_json"], 1),
        (["--disposition", "outage"], 1),
        (["--disposition", "outage", "--reason", "malformed_json"], 0),
        (["--since", "1h"], 2),
        (["--since", "2100-01-01"], 0),
    ]:
        shown = run("deadletter", "list", *config, *options, "--json").stdout
        assert len(json.loads(shown)) == count, options
    poison, table = rows[1]["id"], run("deadletter", "list", *config).stdout
    for words in ("2 dead letters", "search.snapshots/0@2", poison[:8]):
        assert words in table
    assert "epoch" not in table
    shown = run("deadletter", "show", poison[:8], *config).stdout
    for words in (poison, "because of 2", "\n\nrecord:\n", "{[2J\ufffd rest"):
        assert words in shown
    assert "\x1b" not in shown
    raw = CliRunner().invoke(app, ["deadletter", "show", poison, *map(str, config), "--raw"])
    assert raw.stdout_bytes == b"{\x1b[2J\xff\x00 rest"


def test_an_outage_is_replayed_once(site: Site) -> None:
    bare = ("deadletter", "replay", "--config", site.config)
    assert "there are no dead letters" in run(*bare).stderr
    site.publish(letter(3, POISON, b"{"))
    left = "left alone: 1 poison; name an id or give --disposition poison\n"
    assert (run(*bare).stderr, site.records("search.snapshots")) == (left, [])
    site.publish(
        letter(1, OUTAGE, SNAPSHOT_BYTES),
        letter(2, OUTAGE, b"not a snapshot", attempts=2),
        letter(4, OUTAGE, SNAPSHOT_BYTES, attempts=5),
    )
    replay = (*bare, "--yes", "--json")
    rows = json.loads(run("deadletter", "list", "--config", site.config, "--json").stdout)
    ids = {row["position"]: row["id"] for row in rows}
    second, poison = ids[2], ids[3]
    assert json.loads(run(*replay, second).stdout)["replayed"] == [second]  # and broke off there
    done = json.loads(run(*replay).stdout)
    assert [len(done[x]) for x in ("replayed", "replayed_before", "tried_too_often")] == [1, 1, 1]
    records = {record.key: record for record in site.records("search.snapshots")}
    assert records.keys() == {b"cup", b"epoch/search.snapshots/0"}
    assert records[b"cup"].value == SNAPSHOT_BYTES
    assert records[b"cup"].headers["radarstream-attempts"] == b"2"
    assert records[b"cup"].headers["radarstream-replay-of"].decode() in done["replayed"]
    other = records[b"epoch/search.snapshots/0"]
    assert (other.value, other.headers["radarstream-attempts"]) == (b"not a snapshot", b"3")
    again = json.loads(run(*replay).stdout)
    assert again["replayed"] == []
    assert sorted(again["replayed_before"]) == sorted([*done["replayed"], second])
    assert json.loads(run(*replay, poison[:10]).stdout)["replayed"] == [poison]
    assert len(site.records("search.snapshots")) == 3


@pytest.mark.parametrize("written", [None, "2025-06-01T12:00:30.5+00:00"])
def test_a_narrow_table_of_dead_letters_cuts_no_id(written, monkeypatch) -> None:
    console = Console(width=80, record=True)
    monkeypatch.setattr("radarstream.pipelines.cli.terminal.stdout", console)
    row = {
        "id": "0123456789abcdef",
        "written_at": written,
        "reason": "model_unavailable",
        "disposition": "outage",
        "source": "a-cluster-of-brokers/search.snapshots/0",
        "position": 41,
        "attempts": 1,
        "detail": "the model did not answer in time, and not for the first time",
    }
    print_rows([row, row | {"source": "build/replay/history.jsonl", "reason": "late"}])
    shown = console.export_text()
    assert all(words in shown for words in ("01234567 ", "model_unavailable ", "detail"))
    assert shown.count("first") == 2  # the detail is there to its end
    assert ("06-01 12:00" in shown) == (written is not None)
    assert max(map(len, shown.splitlines())) <= 80


def test_a_replay_asks_first_and_without_a_terminal_needs_a_yes(site, monkeypatch) -> None:
    site.publish(letter(1, OUTAGE, SNAPSHOT_BYTES))
    topic = site.options.topic("search.snapshots")
    monkeypatch.setattr("radarstream.pipelines.cli.terminal.interactive", lambda: False)
    said = f"error: give --yes to publish 1 model_unavailable to {topic} again\n"
    assert refused("deadletter", "replay", "--config", site.config) == (2, said)
    monkeypatch.setattr("radarstream.pipelines.cli.terminal.interactive", lambda: True)
    arguments = ["deadletter", "replay", "--config", str(site.config)]
    answered_no = CliRunner().invoke(app, arguments, input="n\n")
    assert answered_no.exit_code == 1
    assert "1 model_unavailable" in answered_no.stderr
    assert site.records("search.snapshots") == []
    assert CliRunner().invoke(app, arguments, input="y\n").exit_code == 0
    assert len(site.records("search.snapshots")) == 1


def test_moments_are_read() -> None:
    now = datetime(2025, 6, 2, tzinfo=UTC)
    assert moment("2025-06-01", "--from", now) == now - timedelta(days=1)
    assert moment("2025-06-01T02:00+02:00", "--from", now) == now - timedelta(days=1)
    assert moment("90m", "--from", now) == now - timedelta(minutes=90)
    for nonsense in ("", "1y", "m", "-1h", "999999d", "2025-13-01", "٣h"):
        with pytest.raises(ConfigurationError, match="--from"):
            moment(nonsense, "--from", datetime(1970, 1, 1, tzinfo=UTC))
