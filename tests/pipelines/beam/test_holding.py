"""Allowed lateness: what is held, until when, and what may be committed meanwhile."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.beam.holding import HoldBack, place
from radarstream.schemas.records import LogPosition, RawRecord

LATENESS_S = 20.0
READ_TO_ITS_END = {0: 0, 1: 0}
MORE_TO_READ = {0: 7, 1: 7}


def record(offset: int, time_s: float | None, partition: int = 0, epoch: str = "e") -> RawRecord:
    payload = b"" if time_s is None else str(time_s).encode()
    source = f"{epoch}/t/{partition}"
    return RawRecord(source, offset, payload, log=LogPosition(epoch, partition, offset))


def held_back(lateness_s: float = LATENESS_S) -> HoldBack:
    return HoldBack(lateness_s, lambda r: float(r.payload) if r.payload else None)


def offsets(records: Sequence[RawRecord]) -> list[int]:
    return [place(r).offset for r in records]


def test_without_lateness_nothing_waits_and_order_is_kept() -> None:
    holding = held_back(0.0)
    given_records = [record(0, 50), record(1, 10), record(2, None)]
    assert (holding.take(given_records, 0.0, MORE_TO_READ), holding.held) == (given_records, 0)
    assert holding.next_offsets() == {0: 3}


@pytest.mark.parametrize("unread", [MORE_TO_READ, {}], ids=["more to read", "unknown"])
def test_waiting_does_not_count_while_there_is_more_to_read(unread: dict[int, int]) -> None:
    holding = held_back()
    holding.take([record(0, 100)], 0.0, unread)
    assert holding.take([], 1_000.0, unread) == []


def test_a_log_created_anew_releases_what_can_never_be_read_again() -> None:
    holding = held_back()
    holding.take([record(0, 100), record(1, 110)], 0.0, MORE_TO_READ)
    released = holding.take([record(0, 50, epoch="new")], 0.0, MORE_TO_READ)
    assert ([r.source for r in released], holding.held) == (["e/t/0", "e/t/0"], 1)
    assert holding.next_offsets() == {0: 0}


def test_a_record_from_no_log_is_refused() -> None:
    with pytest.raises(ValueError, match="no place in a log"):
        held_back().take([RawRecord("file", 1, b"")], 0.0, {})


times = st.lists(st.integers(0, 100), max_size=40)
cuts = st.lists(st.integers(1, 6), min_size=40, max_size=40)


@given(times=times, cuts=cuts, waits=st.lists(st.booleans(), min_size=40, max_size=40))
def test_never_an_older_record_after_a_newer_one_that_came_before(times, cuts, waits) -> None:
    """Whatever the batches and pauses: of two held records the older one goes first."""
    holding = held_back()
    records = [record(offset, time_s) for offset, time_s in enumerate(times)]
    released: list[tuple[int, RawRecord]] = []
    taken, now_s = 0, 0.0
    for cut, waits_here in zip(cuts, waits, strict=True):
        now_s += 25.0 if waits_here else 0.5
        batch = records[taken : taken + cut]
        taken += len(batch)
        unread = {0: len(records) - taken}
        released += [(taken, r) for r in holding.take(batch, now_s, unread)]
        floor = holding.next_offsets().get(0, 0)
        assert all(offset in offsets([r for _, r in released]) for offset in range(floor))
    for index, (_, late) in enumerate(released):
        for seen, earlier in released[:index]:
            known = place(late).offset < seen
            assert not (known and float(late.payload) < float(earlier.payload))


@given(order=st.permutations(range(25)))
def test_what_is_displaced_by_less_than_the_lateness_comes_out_in_order(order: list[int]) -> None:
    """Events 1 s apart, each at most 10 places from where it belongs."""
    near = sorted(range(25), key=lambda i: i + order[i] % 11)
    holding = held_back(11.0)
    released = []
    for offset, time_s in enumerate(near):
        released += holding.take([record(offset, time_s)], 0.0, MORE_TO_READ)
    released += holding.take([], 20.0, READ_TO_ITS_END)
    assert [float(r.payload) for r in released] == list(range(25))
