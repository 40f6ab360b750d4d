"""A record batch of 35 KB that decompresses to 1.1 GB, in front of every command that consumes."""

from pathlib import Path

from typer.testing import CliRunner

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.pipelines.cli.app import app
from radarstream.schemas.codec import decode_dead_letter, outbox_record
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.events import DeadLetter
from tests.brokers import Broker
from tests.end_to_end.running_job import Job, events, produce, running_job, snapshots
from tests.hostile_batches import send_bomb
from tests.programs import done
from tests.webhook_receiver import receiving
from tests.wire_samples import ANSWER

SNAPSHOTS, ANSWERS, DEAD = "search.snapshots", "answers.defended", "snapshots.deadletter"
ROOT = Path(__file__).parents[2]


def most_mb_of(job: Job) -> float:
    """The most memory that the process has held so far."""
    status = Path(f"/proc/{job.process.pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def test_run_makes_each_bomb_a_dead_letter_and_goes_on(own_broker: Broker, tmp_path: Path) -> None:
    options = own_broker.options(partitions=1)
    given = snapshots(3)
    produce(options, given[:2])
    send_bomb(options, SNAPSHOTS, records=2)
    produce(options, given[2:])
    send_bomb(options, SNAPSHOTS)
    with running_job(options, tmp_path) as job:
        job.wait_for("answered", 3)
        job.wait_for("dead_letter", 2)
        assert most_mb_of(job) < 900
        assert job.terminate() == 0
    with running_job(options, tmp_path, "--once") as job:
        job.wait_for("stopped")
        assert job.process.wait(20) == 0
        assert not [line for line in job.log() if line["event"] == "dead_letter"]
    letters = [decode_dead_letter(data) for _, data in events(options, DEAD)]
    assert [letter.position for letter in letters] == [3, 5]
    assert {letter.reason for letter in letters} == {ReasonClass.OVERSIZED_RECORD}
    assert letters[0].detail.startswith("offsets 2 to 3: ")
    assert letters[0].source.endswith("/search.snapshots/0")
    with TopicReader(options, [SNAPSHOTS], group=options.group) as reader:
        assert reader.places() == {0: 6}
    assert len(events(options, ANSWERS)) == 3


def configured(options: KafkaOptions, directory: Path, webhook: str) -> Path:
    """Settings of the commands, with an answer and a dead letter before a bomb."""
    ensure_topics(options)
    letter = DeadLetter(ReasonClass.LATE, "late", "poison", "e/search.snapshots/0", 7, 1, "")
    with KafkaSink(options) as sink:
        sink.publish([outbox_record(ANSWER), outbox_record(letter)])
    for topic in (ANSWERS, DEAD):
        send_bomb(options, topic)
    config = directory / "settings.toml"
    config.write_text(
        f'profile = "scripted"\n[kafka]\nbootstrap = "{options.bootstrap}"\n'
        f'[alerts]\ngroup = "alerts"\nstart = "beginning"\n[alerts.webhook]\nurl = "{webhook}"\n'
    )
    return config


def test_commands_pass_over_a_bomb_and_say_so(own_broker: Broker, tmp_path: Path) -> None:
    options = own_broker.options(partitions=1)
    with receiving() as receiver:
        config = str(configured(options, tmp_path, receiver.url))
        tail = CliRunner().invoke(app, ["tail", "--once", "--config", config])
        assert tail.exit_code == 0, tail.output
        assert "cannot read answers.defended/0 offset 1: oversized_record: offset 1" in tail.output
        listed = CliRunner().invoke(app, ["deadletter", "list", "--config", config])
        assert listed.exit_code == 0, listed.output
        assert "1 dead letter " in listed.output
        assert "cannot read snapshots.deadletter/0 offset 1: oversized_record" in listed.output
        alert = done("alert", "--once", "--config", config, WEBHOOK_SECRET="canary-secret")
        assert alert.returncode == 0, alert.stderr
        assert "an answer cannot be read" in alert.stderr and "1 unreadable" in alert.stderr
    with TopicReader(options, [ANSWERS], group="alerts") as reader:
        assert reader.at_end()
