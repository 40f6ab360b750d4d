"""The loop around attribution: intake, commits, publication, outages, metrics."""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from sqlalchemy import Engine
from sqlalchemy.exc import OperationalError
from structlog.testing import capture_logs

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topic_reader import TopicReader, TopicRecord
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.state_table.incidents.complaints import counts, find_complaints
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.incidents.quarantine import count_active
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.attribution.rag_origin import RagOrigin
from radarstream.pipelines.job.incidents.attributing import Attributing
from radarstream.pipelines.job.incidents.worker import Worker, opened_worker
from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.job.telemetry.metrics import AttributingMetrics
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import (
    BrokerError,
    ConfigurationError,
    InputError,
    ModelOutageError,
    ReasonClass,
)
from radarstream.schemas.incidents import Complaint
from radarstream.schemas.records import OutboxRecord
from tests.brokers import event
from tests.builders import make_snapshot
from tests.pipelines.job.attributing_rig import LIED, NOW, claims, keep, worker_on


@dataclass
class Log:
    """A topic of complaints. `down` calls of `poll` fail first."""

    values: list[bytes | InputError | None]
    down: int = 0
    committed: list[dict[int, int]] = field(default_factory=list)
    read: int = 0

    def poll(self, *, timeout_s: float) -> list[TopicRecord]:
        if self.down:
            self.down -= 1
            raise BrokerError("away")
        fresh = list(enumerate(self.values))[self.read :]
        self.read = len(self.values)
        told = [(b"batch", v) if isinstance(v, InputError) else (v,) for _, v in fresh]
        return [
            TopicRecord("answers.complaints", 0, n, NOW, b"cup", {}, *value)
            for (n, _), value in zip(fresh, told, strict=True)
        ]

    def epoch(self) -> str:
        return "log"

    def commit(self, next_offsets: dict[int, int]) -> None:
        self.committed.append(next_offsets)

    def at_end(self) -> bool:
        return self.read == len(self.values)


@dataclass
class Published:
    records: list[OutboxRecord] = field(default_factory=list)

    def publish(self, records) -> None:
        self.records += records


def told(sender: str, answer: str = "Rome", query: str = "cup") -> bytes:
    return encode(Complaint(sender, NOW, query, answer=answer))


def built(attributing: Attributing, log: Log | None) -> Worker:
    engine = attributing.engine
    attributing.metrics = AttributingMetrics(lambda: (*counts(engine), count_active(engine)))
    scripted = load_settings(profile="scripted")
    return Worker(attributing, scripted, Health(60.0, 60.0), Stop(), log, Published())


def test_from_the_topic_to_the_topic(engine: Engine) -> None:
    keep(engine)
    values = [told("eve"), b"{}", None, told("eve"), told("eve", query="nobody")]
    bomb = InputError(ReasonClass.OVERSIZED_RECORD, "offsets 0 to 1: records of too many bytes")
    log = Log([bomb, *values])
    worker = built(worker_on(engine), log)
    worker.run(drain=True)
    assert log.committed == [{0: 6}]
    assert [row["state"] for row in find_complaints(engine)] == ["judged"]
    assert [record.topic for record in worker.sink.records] == ["events.attribution"]
    assert pending(engine) == []
    exposed = generate_latest(worker.attributing.metrics.registry).decode()
    for line in """complaints_total{result="taken_in"} 2.0
        complaints_total{result="refused"} 1.0
        complaints_total{result="unreadable"} 3.0
        attributions_total{finding="texts_flagged"} 1.0
        attributions_total{finding="unverified"} 0.0
        incidents_settled_total{status="proposed"} 1.0
        complaints_stored{state="judged"} 1.0
        incidents_stored{status="proposed"} 1.0
        quarantined_texts 0.0
        attribution_duration_seconds_count 1.0""".splitlines():
        assert f"radarstream_{line.strip()}" in exposed


def test_a_question_on_the_topic_names_its_query_as_for_commands(engine: Engine) -> None:
    snapshot = make_snapshot(claims(*LIED), question="Who won the cup?", observed_at=NOW)
    questions = {"cup": "Who won the cup?", "one": "Who lost?", "two": "who  LOST"}
    for query_id, question in questions.items():
        query = replace(snapshot.query, id=query_id, text=question)
        case = KeptAnswer(query_id, 0, "Rome", None, replace(snapshot, query=query))
        with engine.begin() as connection:
            keep_answer(connection, case, steps=2)
    texts = ("who won the CUP", "Who won the cup ?!", "Who lost?")
    log = Log([encode(Complaint(f"eve {n}", NOW, None, q)) for n, q in enumerate(texts)])
    with capture_logs() as logs:
        built(worker_on(engine), log).take_in()
    assert {row["query_id"] for row in find_complaints(engine)} == {"cup"}
    assert len(find_complaints(engine)) == 2
    (line,) = logs
    assert (line["event"], line["reason"]) == ("a complaint was refused", "ambiguous")


def test_a_complaint_is_stored_before_its_offset_is_committed(engine: Engine) -> None:
    keep(engine)
    log = Log([told("eve")])
    worker = built(worker_on(engine), log)
    log.commit = lambda _: pytest.fail("killed")  # type: ignore[method-assign]
    with pytest.raises(pytest.fail.Exception):
        worker.take_in()
    assert len(find_complaints(engine)) == 1
    built(worker_on(engine), Log([told("eve")])).run(drain=True)
    assert len(find_complaints(engine)) == 1


def test_outages_are_waited_for(engine: Engine) -> None:
    keep(engine)
    log = Log([told("eve", "Bern")], down=2)
    attributing = worker_on(engine)
    sound = attributing.models

    class Away:
        model_id = "away"
        failures = 2

        def complete(self, prompts):
            if self.failures:
                self.failures -= 1
                raise ModelOutageError("away")
            return sound.generator.complete(prompts)

    attributing.models = Models(Away(), sound.relations, sound.embedder)
    worker = built(attributing, log)
    turns = iter(range(20))
    worker.stop = lambda: next(turns) >= 10  # type: ignore[assignment]
    worker.run(drain=False)
    assert [row["status"] for row in find_complaints(engine)] == ["unverified"]
    assert [row["attempts"] for row in find_complaints(engine)] == [0]
    with pytest.raises(BrokerError):  # draining does not wait for what is away
        built(worker_on(engine), Log([], down=1)).run(drain=True)


def test_metrics_survive_a_database_that_is_away(engine: Engine) -> None:
    def away():
        raise OperationalError("select", {}, Exception("away"))

    exposed = generate_latest(AttributingMetrics(away).registry).decode()
    assert "radarstream_complaints_total" in exposed
    assert "radarstream_complaints_stored{" not in exposed


def test_without_a_broker_events_wait(engine: Engine) -> None:
    keep(engine)
    replace(built(worker_on(engine), Log([told("eve")])), sink=None).run(drain=True)
    assert len(pending(engine)) == 1


OPTIONS = "options = { check_unaided = true }"


@pytest.mark.parametrize(
    ("options", "checked"),
    [("", "uncontradicted"), (OPTIONS, True), ("options = {}", True),
     ('attributor = "pfdnn"', None),  # whose options are others
     ('options = { check_unaided = "sometimes" }', ConfigurationError)],
)  # fmt: skip
def test_options_of_the_settings_reach_the_worker(tmp_path, options: str, checked: Any) -> None:
    page = Path(__file__).parents[3] / "docs" / "attribution.md"
    assert f"`attribution.{OPTIONS}`" in page.read_text("utf-8")
    file = tmp_path / "settings.toml"
    file.write_text(
        f'profile = "scripted"\ndatabase = "sqlite:///{tmp_path / "state.db"}"\n'
        f"[attribution]\nenabled = true\n{options}\n[telemetry]\nlisten = ''\n"
    )
    refused = checked is ConfigurationError
    with (
        pytest.raises(ConfigurationError) if refused else nullcontext(),
        opened_worker(load_settings(file), Stop(), kafka=False) as worker,
    ):
        attributor = worker.attributing.attributor
        assert isinstance(attributor, RagOrigin) is (checked is not None)
        assert getattr(attributor, "check_unaided", None) == checked


def test_an_empty_database_under_a_group_that_has_read_complaints_is_refused(own_broker, tmp_path):
    options = own_broker.options(partitions=1)
    ensure_topics(options)
    group = f"{options.group}-complaints"
    with KafkaSink(options) as sink:
        sink.publish([event("k", b"{}", "answers.complaints")])
    with TopicReader(options, ["answers.complaints"], group=group) as reader:
        reader.commit({0: 1})
    settings = load_settings(
        profile="scripted",
        database=f"sqlite:///{tmp_path / 'state.db'}",
        kafka=options.model_dump(exclude_defaults=True),
        telemetry={"listen": ""},
    )
    with (
        pytest.raises(ConfigurationError, match=f"is empty or .*consumer group {group} has"),
        opened_worker(settings, Stop(), kafka=True),
    ):
        pass
    assert not (tmp_path / "state.db").exists()
    with opened_worker(settings, Stop(), kafka=True, start_over=True) as worker:
        assert not worker.turn()
    with opened_worker(settings, Stop(), kafka=True) as worker:
        assert worker.health.ready
        (tmp_path / "state.db").unlink()
        with pytest.raises(ConfigurationError, match="deleted or replaced"):
            worker.turn()
