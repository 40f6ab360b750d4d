"""The watchlist on SQLite and PostgreSQL: one fetcher per due query, no budget passed."""

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.queries.watchlist import (
    WatchedQuery,
    claim,
    credits_used,
    find,
    load_active,
    record_fetch,
    replace_all,
    spend_credit,
)
from tests.clocks import at_once

COLLECTORS = 6
NOW, LEASE = 1_700_000_000_000, 60_000
LIST = [("q-b", '{"question":"Who leads 法国?"}'), ("q-a", "{}"), ("q-c", "{}")]


def test_a_new_list_is_due_at_once_and_ids_come_once(engine: Engine) -> None:
    replace_all(engine, LIST, NOW)
    assert load_active(engine) == [WatchedQuery(*pair, None, 0) for pair in LIST]
    replace_all(engine, LIST[::-1], NOW)
    assert [entry.query_id for entry in load_active(engine)] == ["q-c", "q-a", "q-b"]
    replace_all(engine, [], NOW)
    assert load_active(engine) == []
    replace_all(engine, LIST, NOW)
    with pytest.raises(ValueError, match="twice"):
        replace_all(engine, [("q-a", "{}"), ("q-a", "{}")], NOW)
    assert len(load_active(engine)) == 3


def test_the_unchanged_keep_their_times_and_the_changed_are_due(engine: Engine) -> None:
    replace_all(engine, LIST, NOW)
    for query_id, _ in LIST:
        assert claim(engine, query_id, 0, NOW, LEASE)
        assert record_fetch(engine, query_id, NOW + LEASE, fetched_ms=NOW, next_due_ms=NOW + 999)
    replace_all(engine, [("q-a", '{"k":20}'), ("q-b", LIST[0][1])], NOW + 1)
    assert load_active(engine) == [
        WatchedQuery("q-a", '{"k":20}', None, 0),
        WatchedQuery(*LIST[0], NOW, NOW + 999),
    ]
    assert find(engine, "q-c") == WatchedQuery("q-c", "{}", NOW, NOW + 999)
    assert find(engine, "q-never") is None
    replace_all(engine, LIST, NOW + 2)
    assert load_active(engine)[2] == WatchedQuery("q-c", "{}", NOW, NOW + 999)


def test_of_many_collectors_one_fetches_a_due_query(engine: Engine) -> None:
    replace_all(engine, LIST, NOW)
    due = 0
    for turn in range(10):
        now = NOW + turn * LEASE

        def attempt(due: int = due, now: int = now) -> bool:
            return claim(engine, "q-a", due, now, LEASE)

        assert sum(at_once(lambda _: attempt(), COLLECTORS)) == 1
        due = now + LEASE  # it is fetched no more, so the lease runs out


def test_a_claim_records_only_while_it_stands(engine: Engine) -> None:
    replace_all(engine, LIST, NOW)
    assert claim(engine, "q-a", 0, NOW, LEASE)
    later = NOW + LEASE
    assert claim(engine, "q-a", later, later, LEASE)
    assert not record_fetch(engine, "q-a", NOW + LEASE, fetched_ms=NOW, next_due_ms=2 * NOW)
    assert find(engine, "q-a") == WatchedQuery("q-a", "{}", None, later + LEASE)
    assert record_fetch(engine, "q-a", later + LEASE, fetched_ms=None, next_due_ms=later + 5)
    assert find(engine, "q-a") == WatchedQuery("q-a", "{}", None, later + 5)
    # An entry that is changed while it is fetched stays due; the others are off the list.
    assert claim(engine, "q-b", 0, NOW, LEASE)
    replace_all(engine, [("q-b", '{"question":"new"}')], NOW + 1)
    assert not record_fetch(engine, "q-b", NOW + LEASE, fetched_ms=NOW, next_due_ms=2 * NOW)
    assert load_active(engine)[0].next_due_ms == 0
    for query, due in (("q-a", later + 5), ("q-c", 0), ("q-never", 0)):
        assert not claim(engine, query, due, later + 5, LEASE)
    with pytest.raises(ValueError, match="due"):
        claim(engine, "q-b", NOW + 1, NOW, LEASE)
    with pytest.raises(ValueError, match="lease"):
        claim(engine, "q-b", 0, NOW, 0)


def test_credits_stop_at_the_budget(engine: Engine) -> None:
    assert credits_used(engine, "2025-03") == 0
    assert not spend_credit(engine, "2025-03", 6, budget=5)
    assert credits_used(engine, "2025-03") == 0
    assert spend_credit(engine, "2025-03", 3, budget=5)
    assert not spend_credit(engine, "2025-03", 3, budget=5)
    assert spend_credit(engine, "2025-03", 2, budget=5)
    assert not spend_credit(engine, "2025-03", 1, budget=5)
    assert spend_credit(engine, "2025-04", 5, budget=5)
    assert not spend_credit(engine, "2025-03", 1, budget=4)  # a budget that was lowered
    assert (credits_used(engine, "2025-03"), credits_used(engine, "2025-04")) == (5, 5)
    with pytest.raises(ValueError, match="positive"):
        spend_credit(engine, "2025-03", -1, budget=5)

    def spend(_: int) -> int:
        return sum(spend_credit(engine, "2025-05", 2, 101) for _ in range(40))

    assert sum(at_once(spend, COLLECTORS)) == 50
    assert credits_used(engine, "2025-05") == 100
