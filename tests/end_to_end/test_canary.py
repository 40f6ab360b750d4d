"""Secrets and document text: planted everywhere, found nowhere but where they belong.

Events hold the quotes of answers and what stands beside them, see `excerpt_of`; the phrase stands
farther away.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest
from sqlalchemy import MetaData, create_engine

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.pipelines.round.deciding import AROUND
from radarstream.schemas.codec import decode_dead_letter, encode
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.snapshot import SearchSnapshot
from tests.builders import make_snapshot
from tests.end_to_end.running_job import Job, produce, produce_raw, running_job
from tests.postgresql import POSTGRESQL

SECRET = "canary-K3Y-9f31c7"
PHRASE = "the heron of Umbrafell sleeps at noon"
FIELD = "heronField"
VARIABLES = dict.fromkeys(
    ("KAFKA_PASSWORD", "OPENAI_API_KEY", "SERPAPI_API_KEY", "SERPAPI_KEY"), SECRET
)
EVENTS = ("answers.defended", "events.attribution")
DEAD = "snapshots.deadletter"


def good(query_id: str) -> SearchSnapshot:
    """Answered "Rome"; one document that only talks is distrusted, and attributed."""
    away = f"{'The sea is wide. ' * (AROUND // 8)}{PHRASE}"
    texts = ["Output: Rome", f"Output: Rome. {away}", f"Output: Oslo. {away}", PHRASE]
    return make_snapshot(texts, query_id=query_id)


def changed(**changes: Any) -> bytes:
    return json.dumps(json.loads(encode(good("bad"))) | changes).encode()


def bad() -> list[bytes]:
    """Every one a dead letter, each with the phrase in another way."""
    documents = json.loads(encode(good("bad")))["documents"]
    return [
        PHRASE.encode(),
        encode(good("bad"))[:-40],
        encode(good("bad")).replace(b"heron", b"heron\xff"),
        changed(documents=[{**documents[1], "rank": PHRASE}]),
        changed(documents=[{**documents[1], "published_at": PHRASE}]),
        changed(documents=[documents[1], documents[1]]),
        changed(documents=PHRASE),
        changed(documents=[{**documents[1], "text": f"\x00{PHRASE}"}]),
        changed(documents=[{**documents[1], FIELD: PHRASE}]),
        changed(observed_at="2999-01-01T00:00:00Z"),
        changed(provenance=PHRASE),
        changed(schema=PHRASE),
        changed(**{FIELD: PHRASE}),
    ]


@contextmanager
def database(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty database; on PostgreSQL with the secret as the password."""
    if kind == "sqlite":
        yield f"sqlite:///{tmp_path / 'canary.db'}"
        return
    socket = request.getfixturevalue("postgresql_socket")
    with psycopg.connect(host=socket, user="postgres", dbname="postgres", autocommit=True) as admin:
        admin.execute("CREATE DATABASE canary")
    yield f"postgresql://postgres:{SECRET}@/canary?host={socket}"


def everything_in(url: str) -> str:
    """Every value of every table, as text."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    tables = MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        rows = [r for t in tables.sorted_tables for r in connection.execute(t.select())]
    engine.dispose()
    assert rows
    binary = [bytes(v) for row in rows for v in row if isinstance(v, bytes | memoryview)]
    return repr(rows) + b" ".join(binary).decode("utf-8", "replace")


def published(options: KafkaOptions, topic: str) -> list[tuple[str, bytes]]:
    """Headers and key as text, and the payload, of every record of a topic."""
    with TopicReader(options, [topic]) as reader:
        return [(repr(r), r.value) for r in reader.to_the_end() if r.value is not None]


def command_lines(job: Job) -> str:
    process = psutil.Process(job.process.pid)
    return repr([p.cmdline() for p in [process, *process.children(recursive=True)]])


@pytest.mark.parametrize("kind", ["sqlite", POSTGRESQL])
def test_no_secret_and_no_document_text_comes_out(kind, own_broker, tmp_path, request) -> None:
    options = own_broker.options()
    produce(options, [good(f"q{n}") for n in range(3)])
    produce_raw(options, bad())
    with database(kind, tmp_path, request) as url:
        variables = {**VARIABLES, "RADARSTREAM_DATABASE": url, "RADARSTREAM_JOB__DEAD_SHARE": "1"}
        variables["RADARSTREAM_TELEMETRY__LOG_LEVEL"] = "debug"
        with running_job(options, tmp_path, **variables) as job:
            job.wait_for("answered", 3)
            job.wait_for("dead_letter", len(bad()))
            own_broker.save()
            own_broker.kill()
            job.wait_for("trying again")
            own_broker.start()
            produce(options, [good("q9")])
            job.wait_for("answered", 4)
            said = {path: job.get(path)[1] for path in ("/metrics", "/healthz", "/readyz")}
            said["ps"] = command_lines(job)
            assert job.terminate() == 0
            said["log"] = job.log_file.read_text()
        said["tables"] = everything_in(url)
    for topic in EVENTS:
        records = published(options, topic)
        assert records
        said[topic] = repr(records)
    letters = [decode_dead_letter(data) for _, data in published(options, DEAD)]
    assert len(letters) >= len(bad())
    assert ReasonClass.UNKNOWN_FIELD in {letter.reason for letter in letters}
    said[DEAD] = repr([(letter.reason, letter.detail, letter.source) for letter in letters])
    for place, text in said.items():
        for canary in (SECRET, PHRASE, "Umbrafell", "heron", FIELD):
            assert canary not in text, f"{canary!r} in {place}: {around(text, canary)}"


def around(text: str, canary: str) -> str:
    at = text.index(canary)
    return text[max(0, at - 200) : at + 200]
