"""Feeds malformed messages to the driver and the real graph, and prints what became of them.

Run as a process of its own, so that its memory is the job's:
python -m tests.end_to_end.malformed_run COUNT DATABASE.
"""

import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import psutil
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from radarstream.connectors.state_table.queries.outbox import publish_outbox
from radarstream.pipelines.beam.holding import HoldBack
from radarstream.pipelines.beam.running import MicroBatch
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.answering.driver import Driver
from radarstream.pipelines.job.answering.running import park
from radarstream.pipelines.settings import JobSettings, load_settings
from radarstream.schemas.codec import decode_answer, decode_dead_letter, encode
from radarstream.schemas.records import OutboxRecord
from tests.builders import make_snapshot
from tests.simulation.plan import Input, Rates
from tests.simulation.worker import Silence
from tests.simulation.world import Clock, Faults, Reader, Topic
from tests.wire_samples import SNAPSHOT

VALID: dict[str, Any] = json.loads(encode(make_snapshot(["Output: Rome", "Output: Oslo"])))
RICH: dict[str, Any] = json.loads(encode(SNAPSHOT))
MB = 2**20

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["2025-06-01T12:00:00Z", "9999-12-31T23:59:59+14:00", "\x1b[2J", "\ud800", ""]),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner)
)


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A good snapshot with something removed, replaced or added, perhaps cut or flipped."""
    payload = json.loads(json.dumps(draw(st.sampled_from([VALID, RICH]))))
    for _ in range(draw(st.integers(0, 2))):
        place: Any = payload
        while isinstance(place, dict | list) and place:
            key = draw(
                st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place)))
            )
            if not isinstance(place[key], dict | list) or not place[key] or draw(st.booleans()):
                if draw(st.booleans()):
                    place[key] = draw(values)
                else:
                    del place[key]
                break
            place = place[key]
    data = bytearray(
        json.dumps(payload, ensure_ascii=draw(st.booleans())).encode("utf-8", "replace")
    )
    match draw(st.sampled_from(["as it is", "as it is", "cut", "flipped", "doubled"])):
        case "cut":
            del data[draw(st.integers(0, len(data))) :]
        case "flipped" if data:
            data[draw(st.integers(0, len(data) - 1))] ^= 1 << draw(st.integers(0, 7))
        case "doubled":
            data.extend(bytes(data))
    return bytes(data)


message = st.one_of(
    st.binary(max_size=60),
    values.map(lambda value: json.dumps(value).encode()),
    mutated(),
    mutated(),
)


class EnoughError(Exception):
    """As many messages as were wanted are there."""


def messages(count: int) -> list[bytes]:
    """So many messages, the same in every run: a fifth drawn by hypothesis, the rest spliced."""
    found = drawn(count // 5)
    random = Random(0)
    good = [
        encode(make_snapshot(["Output: Rome"], query_id=f"good-{n}")) for n in range(count // 50)
    ]
    while len(found) < count - len(good) - 1:
        first, second = random.choice(found), random.choice(found)
        cut = random.randint(0, len(first))
        found.append(first[:cut] + random.randbytes(random.randint(0, 3)) + second[cut:])
    large = encode(make_snapshot(["x" * (MB + 1)]))
    found += [*good, large]
    random.shuffle(found)
    return found


def drawn(count: int) -> list[bytes]:
    """Messages drawn by hypothesis, which knows what breaks programs."""
    found: list[bytes] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(message, min_size=20, max_size=60))
    def draw(batch: list[bytes]) -> None:
        found.extend(batch)
        if len(found) >= count:
            raise EnoughError

    with suppress(EnoughError):
        draw()
    return found[:count]


class Tally:
    """A sink that remembers what was told of which record, not the events themselves."""

    def __init__(self) -> None:
        self.letters: set[tuple[str, int]] = set()
        self.answered: set[str] = set()

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        for record in records:
            if record.topic == "snapshots.deadletter":
                letter = decode_dead_letter(record.data)
                self.letters.add((letter.source, letter.position))
            elif record.topic == "answers.defended":
                self.answered.add(decode_answer(record.data).snapshot_id)


def main() -> None:
    count, database = int(sys.argv[1]), sys.argv[2]
    topic, clock, tally = Topic(1), Clock(), Tally()
    faults = Faults(Random(0), Rates())
    engine_settings = load_settings(profile="scripted", database=database)
    engine = shared_engine(engine_settings)
    answers = 0

    class Counting(Silence):
        def outcomes(self, outcomes: Sequence[Any], now: Any) -> None:
            nonlocal answers
            answers += sum(hasattr(outcome, "snapshot_id") for outcome in outcomes)

    driver = Driver(
        log=Reader(topic, clock, faults, lambda _: None, moves=False),
        batch=MicroBatch(engine_settings),
        publish=lambda lanes: publish_outbox(engine, tally, lanes=lanes),
        park=lambda record, refusal: park(engine, record, refusal),
        holding=HoldBack(0.0, lambda _: None),
        clock=clock,
        observer=Counting(faults, "job"),
        settings=JobSettings(dead_share=1.0),
        stopping=lambda: False,
    )
    given_messages = messages(count)
    topic.append(Input(0, encode(make_snapshot(["Output: Rome"], query_id="first"))))
    driver.step()
    process = psutil.Process()
    idle = peak = process.memory_info().rss
    for data in given_messages:
        topic.append(Input(0, data))
    while driver.step():
        peak = max(peak, process.memory_info().rss)
        faults.trace.clear()
    silent = [r for r in topic.below_commit(0) if (r.source, r.position) not in tally.letters]
    found = {
        "messages": len(given_messages),
        "committed": topic.committed[0] - 1,
        "letters": len(tally.letters),
        "answers": answers - 1,
        "distinct_answers": len(tally.answered) - 1,
        "without_letter": [record.payload.hex() for record in silent[1:]],
        "idle_mb": idle / MB,
        "peak_mb": peak / MB,
    }
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main()
