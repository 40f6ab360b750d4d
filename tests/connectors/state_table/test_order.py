"""Which records are folded: the table of decisions, and a hostile log against a query's row."""

from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from radarstream.connectors.state_table.queries.memory import MemoryRow, advance, order_decision

ROW = MemoryRow("q-1", "radar", 3, 1_000, "cluster-a", 2, 50, b"", log_high_offset=60)


def test_decision_table() -> None:
    for as_of_ms, epoch, partition, offset, decision in [
        (1_001, "cluster-a", 2, 51, "fold"),
        (1_001, "cluster-a", 2, 49, "fold"),  # held back while older records were folded
        (1_000, "cluster-a", 2, 61, "replayed"),  # published twice
        (1_000, "cluster-a", 2, 49, "replayed"),
        (999, "cluster-a", 2, 61, "late"),
        (999, "cluster-a", 2, 60, "replayed"),
        (999, "cluster-a", 2, 49, "replayed"),
        (1_001, "cluster-b", 2, 0, "fold"),  # a re-created broker: offsets restart
        (1_000, "cluster-b", 2, 0, "late"),  # the same snapshot, copied to a fresh log
        (999, "cluster-b", 2, 51, "late"),
        (1_001, "cluster-a", 0, 0, "fold"),  # the topic was given other partitions
        (1_000, "cluster-a", 0, 51, "late"),
        (999, "cluster-a", 0, 0, "late"),
    ]:
        assert order_decision(ROW, as_of_ms, epoch, partition, offset) == decision


def test_the_first_record_of_a_query_is_folded() -> None:
    assert order_decision(None, 0, "cluster-a", 0, 0) == "fold"


@dataclass(frozen=True)
class Observation:
    as_of_ms: int
    offset: int
    identity: int


class HostileLog(RuleBasedStateMachine):
    """One query's log, read in batches by a worker that is killed, late, shuffled and misled.

    The worker holds back what is younger than the newest event time seen less an allowed
    lateness, folds the rest of a batch in event-time order, and commits the first offset it still
    holds. It may be killed between any two folds. The state is a hash chain: it tells every lost,
    repeated or reordered fold.
    """

    @initialize(lateness=st.integers(0, 3))
    def start(self, lateness: int) -> None:
        self.lateness = lateness
        self.epoch = 0
        self.made = 0
        self.log: list[Observation] = []
        self.row: MemoryRow | None = None
        self.folded: list[Observation] = []
        self.folded_here: set[int] = set()  # from the present log
        self.late: set[int] = set()
        self.copies: set[int] = set()  # of a moment that has been folded
        self.restart()

    def restart(self) -> None:
        self.position = self.committed = getattr(self, "committed", 0)
        self.held: list[Observation] = []
        self.newest = -1

    @rule(times=st.lists(st.integers(0, 8), min_size=1, max_size=6))
    def append_out_of_order(self, times: list[int]) -> None:
        base = max((o.as_of_ms for o in self.log), default=0)
        for time in times:
            self.log.append(Observation(max(0, base + time - 4), len(self.log), self.made))
            self.made += 1

    @rule(size=st.integers(1, 6), folds=st.none() | st.integers(0, 6), commits=st.booleans())
    def read_a_batch(self, size: int, folds: int | None, commits: bool) -> None:
        """Killed after `folds` records, or, unless it `commits`, before the offsets are."""
        batch = self.log[self.position : self.position + size]
        self.position += len(batch)
        self.newest = max([self.newest, *(o.as_of_ms for o in batch)])
        ready = [o for o in self.held + batch if o.as_of_ms <= self.newest - self.lateness]
        self.held = [o for o in self.held + batch if o.as_of_ms > self.newest - self.lateness]
        self.fold(sorted(ready, key=lambda o: (o.as_of_ms, o.offset))[:folds])
        if commits and folds is None:
            self.committed = min([o.offset for o in self.held], default=self.position)
        else:
            self.restart()

    def fold(self, records: list[Observation]) -> None:
        for seen in records:
            decision = order_decision(self.row, seen.as_of_ms, str(self.epoch), 0, seen.offset)
            if decision == "fold":
                self.row = self.next_row(self.row, seen)
                self.folded.append(seen)
                self.folded_here.add(seen.identity)
            elif decision == "late":
                assert seen.identity not in self.folded_here
                self.late.add(seen.identity)
            elif seen.identity not in self.decided():
                # Skipped in silence and never decided: a copy of the moment folded last, or, read
                # again, of one folded before.
                assert self.row is not None
                assert seen.as_of_ms in {o.as_of_ms for o in self.folded}
                self.copies.add(seen.identity)

    def decided(self) -> set[int]:
        return {o.identity for o in self.folded} | self.late | self.copies

    def next_row(self, row: MemoryRow | None, seen: Observation) -> MemoryRow:
        state = sha256((row.state if row else b"") + bytes([seen.identity % 256])).digest()
        step = row.step + 1 if row else 1
        new = MemoryRow("q-1", "d", step, seen.as_of_ms, str(self.epoch), 0, seen.offset, state)
        return advance(row, new)

    @rule(kept=st.integers(0, 8))
    def recreate_the_broker(self, kept: int) -> None:
        """A new cluster whose offsets restart; the last `kept` records are published again."""
        tail = self.log[len(self.log) - kept :] if kept <= len(self.log) else self.log
        self.epoch += 1
        self.folded_here = set()
        self.log = [replace(o, offset=offset) for offset, o in enumerate(tail)]
        self.committed = 0
        self.restart()

    @rule(back=st.integers(1, 10))
    def rewind_the_reader(self, back: int) -> None:
        self.committed = max(0, self.committed - back)
        self.restart()

    @invariant()
    def beliefs_never_rewind(self) -> None:
        times = [o.as_of_ms for o in self.folded]
        assert times == sorted(set(times))

    @invariant()
    def no_record_is_folded_twice(self) -> None:
        assert max(Counter(o.identity for o in self.folded).values(), default=1) == 1

    @invariant()
    def the_row_is_the_fold_of_its_records(self) -> None:
        state = b""
        for seen in self.folded:
            state = sha256(state + bytes([seen.identity % 256])).digest()
        assert (self.row.state if self.row else b"") == state
        assert (self.row.step if self.row else 0) == len(self.folded)

    @invariant()
    def what_the_reader_passed_was_decided(self) -> None:
        assert {o.identity for o in self.log[: self.committed]} <= self.decided()


HostileLog.TestCase.settings = settings(max_examples=200, stateful_step_count=25, deadline=None)
TestHostileLog = HostileLog.TestCase
