"""What is left after a chaos run, compared with an undisturbed one."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from sqlalchemy import select

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.tables import MEMORY
from radarstream.schemas.codec import decode_answer
from radarstream.schemas.snapshot import SearchSnapshot
from tests.end_to_end.running_job import events

TOPICS = ("answers.defended", "events.attribution", "snapshots.deadletter")


@dataclass(frozen=True)
class Findings:
    """Figures of a run; all but the first three and the last must be 0 or true.

    Repeated calls are not counted (None) where several workers do the same work.
    """

    snapshots: int
    publications: int
    repeated_publications: int
    lost: int
    unexpected_dead_letters: int
    keys_with_different_payloads: int
    queries_out_of_order: int
    differing_from_undisturbed: int
    memory_equals_undisturbed: bool
    calls_repeated_beyond_the_one_in_flight: int | None
    calls_repeated_in_flight: int | None

    @property
    def sound(self) -> bool:
        wrong = (
            self.lost,
            self.unexpected_dead_letters,
            self.keys_with_different_payloads,
            self.queries_out_of_order,
            self.differing_from_undisturbed,
            self.calls_repeated_beyond_the_one_in_flight,
        )
        return not any(wrong) and self.memory_equals_undisturbed

    def as_rows(self) -> dict[str, int | bool]:
        given = {name: value for name, value in asdict(self).items() if value is not None}
        return given | {"sound": self.sound}


def findings(
    story: Sequence[SearchSnapshot],
    chaos: tuple[KafkaOptions, str],
    calm: tuple[KafkaOptions, str],
    calls_file: Path | None,
) -> Findings:
    """Read the topics and databases (options, URL) of both runs and compare."""
    published = {topic: events(patient(chaos[0]), topic) for topic in TOPICS}
    expected = {topic: dict(events(patient(calm[0]), topic)) for topic in TOPICS}
    payloads: dict[tuple[str, str], set[bytes]] = defaultdict(set)
    for topic, found in published.items():
        for identity, data in found:
            payloads[topic, identity].add(data)
    wanted = {(topic, i): {data} for topic, found in expected.items() for i, data in found.items()}
    answered = {decode_answer(data).snapshot_id for _, data in published[TOPICS[0]]}
    beyond, in_flight = repeated_calls(calls_file) if calls_file else (None, None)
    total = sum(map(len, published.values()))
    return Findings(
        snapshots=len(story),
        publications=total,
        repeated_publications=total - len(payloads),
        lost=sum(snapshot.id not in answered for snapshot in story),
        unexpected_dead_letters=len(published[TOPICS[2]]),
        keys_with_different_payloads=sum(len(versions) > 1 for versions in payloads.values()),
        queries_out_of_order=out_of_order([name for name, _ in published[TOPICS[0]]]),
        differing_from_undisturbed=sum(
            payloads.get(k) != wanted.get(k) for k in payloads.keys() | wanted.keys()
        ),
        memory_equals_undisturbed=memory_hash(chaos[1]) == memory_hash(calm[1]),
        calls_repeated_beyond_the_one_in_flight=beyond,
        calls_repeated_in_flight=in_flight,
    )


def patient(options: KafkaOptions) -> KafkaOptions:
    """The same for who reads once when all is over, however busy the machine."""
    return options.model_copy(update={"request_timeout_s": 60.0, "delivery_timeout_s": 120.0})


def out_of_order(names: Sequence[str]) -> int:
    """How many queries' answers do not come as steps 0, 1, 2, … at their first occurrence."""
    steps: dict[str, list[int]] = defaultdict(list)
    for name in dict.fromkeys(names):
        query_id, step = name.rsplit("/", 1)
        steps[query_id].append(int(step))
    return sum(found != list(range(len(found))) for found in steps.values())


def memory_hash(database: str) -> str:
    """A hash of the memory table without the names of logs, which differ from broker to broker."""
    kept = MEMORY.c
    columns = (kept.query_id, kept.defense, kept.step, kept.as_of_ms, kept.state)
    engine = open_engine(database)
    with engine.connect() as connection:
        rows = sorted(map(tuple, connection.execute(select(*columns))))
    engine.dispose()
    return sha256(repr(rows).encode()).hexdigest()


def repeated_calls(file: Path) -> tuple[int, int]:
    """Prompts asked again though their answer was not in flight at a death; and those.

    A line has the process that asked, and digests. Where the process changes, one has died; where
    it is 0, the database has (`Arena.note_database_death`).
    """
    asked: set[str] = set()
    in_flight: Counter[str] = Counter()  # at the deaths so far, less what was asked again since
    beyond = again = 0
    alive = 0
    last: list[str] = []
    for line in file.read_text(encoding="ascii").splitlines():
        process, digests = json.loads(line)
        if process != alive:
            in_flight.update(last)
        alive, last = process, digests
        for digest in digests:
            if digest in asked and in_flight[digest] > 0:
                in_flight[digest] -= 1
                again += 1
            elif digest in asked:
                beyond += 1
            asked.add(digest)
    return beyond, again
