"""What the documents promise of a job on Flink: quiet partitions and late records."""

import time
from base64 import b64decode
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from random import Random

from radarstream.schemas.codec import decode_answer, decode_dead_letter, outbox_record
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.snapshot import SearchSnapshot
from tests.builders import OBSERVED_AT, make_snapshot
from tests.chaos.arena import Producer
from tests.chaos.flink_arena import WITHIN_S, FlinkArena, on_flink
from tests.chaos.trials import Outcome, Say, times
from tests.clocks import until
from tests.end_to_end.running_job import events

LATENESS_S = 4.0
ANSWERED_WITHIN_S = 15.0  # a snapshot in a partition where nothing follows


@dataclass(frozen=True)
class Size:
    """`lonely` snapshots come one at a time; `queries` have `disordered` snapshots each."""

    parallelism: int = 2
    lonely: int = 10
    queries: int = 8
    disordered: int = 40
    late: int = 5
    seed: int = 0


SHORT = Size(lonely=3, queries=3, disordered=12, late=2)


def run_promises(size: Size, directory: Path, say: Say) -> Outcome:
    """Run one job that waits for older records, and look at what comes out."""
    began = time.monotonic()
    lateness = {"RADARSTREAM_JOB__ALLOWED_LATENESS_S": str(LATENESS_S)}
    with on_flink(directory, **lateness) as flink:
        flink.submit(size.parallelism)
        say(f"quiet partitions: {size.lonely} snapshots, one after the other")
        waited_s = [wait_for_answer(flink, number) for number in range(size.lonely)]
        say(f"{size.disordered} snapshots of each query, out of order by less than {LATENESS_S} s")
        queries = [f"cup-{number}" for number in range(size.queries)]
        mixed = disordered(size, queries)
        publish(flink, mixed)
        flink.until_answered(size.lonely + len(mixed))
        say(f"{size.late} snapshots of each query that are too late")
        late = [at(query, -100 - number) for query in queries for number in range(size.late)]
        publish(flink, late)
        until(lambda: len(dead_letters(flink)) >= len(late), WITHIN_S)
        letters, answers = dead_letters(flink), map(decode_answer, flink.answers().values())
        flink.cancel()
    answered: dict[str, list[int]] = defaultdict(list)
    for answer in answers:
        seconds = round((answer.observed_at - OBSERVED_AT).total_seconds())
        answered[answer.query_id].append(seconds)
    parked_late = sorted(data for data, reason in letters if reason is ReasonClass.LATE)
    payloads = sorted(outbox_record(snapshot).data for snapshot in late)
    in_order = sum(answered[q] == list(range(size.disordered)) for q in queries)
    unexpected = sum(reason is not ReasonClass.LATE for _, reason in letters)
    figures = {
        "answered in quiet partitions": times(waited_s),
        "queries_in_order": in_order,
        "late_as_expected": parked_late == payloads,
        "unexpected_dead_letters": unexpected,
        "seconds": time.monotonic() - began,
    }
    sound = max(waited_s) <= ANSWERED_WITHIN_S and in_order == size.queries and not unexpected
    sound = sound and parked_late == payloads
    return Outcome(size, sound, figures)


def at(query_id: str, seconds: int) -> SearchSnapshot:
    """A snapshot of a query, observed so many seconds after all began."""
    texts = ["Output: Rome", "Output: Rome", f"Output: Oslo. Page {seconds}"]
    observed_at = OBSERVED_AT + timedelta(seconds=seconds)
    return make_snapshot(texts, query_id=query_id, observed_at=observed_at)


def publish(flink: FlinkArena, snapshots: Sequence[SearchSnapshot]) -> None:
    """Publish them in this order."""
    Producer(flink.arena.options, list(snapshots)).publish(len(snapshots))


def wait_for_answer(flink: FlinkArena, number: int) -> float:
    """Publish one snapshot of one query; return the seconds until its answer."""
    before, began = len(flink.answers()), time.monotonic()
    publish(flink, [at("quiet", 60 * number - 86_400)])
    flink.until_answered(before + 1)
    return time.monotonic() - began


def disordered(size: Size, queries: Sequence[str]) -> list[SearchSnapshot]:
    """One snapshot of each query a second; none comes after one that is `LATENESS_S` younger."""
    random = Random(size.seed)
    drawn = [
        (seconds + random.uniform(0.0, 0.95 * LATENESS_S), at(query, seconds))
        for seconds in range(size.disordered)
        for query in queries
    ]
    return [snapshot for _, snapshot in sorted(drawn, key=lambda pair: pair[0])]


def dead_letters(flink: FlinkArena) -> list[tuple[bytes, ReasonClass]]:
    """What became a dead letter, each once, and why."""
    topic = events(flink.arena.options, "snapshots.deadletter")
    letters = [decode_dead_letter(data) for data in dict(topic).values()]
    return [(b64decode(letter.payload_base64), letter.reason) for letter in letters]
