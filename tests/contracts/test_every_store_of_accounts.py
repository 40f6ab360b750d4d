"""Accounts in memory and in the database do the same."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.pipelines.asking.memory import MemoryAccounts

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
NAMES = count()  # a new user for each example
ACTS = st.one_of(
    st.tuples(st.just("trust"), st.floats(-0.2, 0.2)),
    st.tuples(st.just("question"), st.sampled_from(["who", "what", "where"])),
    st.tuples(st.just("spend"), st.sampled_from([0.1, 0.3, 1.0, 3.0])),
)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    opened = open_engine(f"sqlite:///{tmp_path_factory.mktemp('accounts') / 'state.db'}")
    yield opened
    opened.dispose()


@settings(max_examples=30, deadline=None)
@given(acts=st.lists(st.tuples(ACTS, st.integers(1, 90)), max_size=10))
def test_both_keep_the_same(engine: Engine, acts: list[tuple[tuple[str, object], int]]) -> None:
    user, at = f"user {next(NAMES)}", NOON
    stores = (MemoryAccounts(0.1), StoredAccounts(engine, 0.1))
    for (kind, value), minutes in acts:
        at += timedelta(minutes=minutes)
        told = []
        for store in stores:
            match kind, value:
                case "trust", float(delta):
                    told.append(store.move_trust(user, delta, at))
                case "question", str(text):
                    store.note_question(user, text, at)
                case "spend", float(epsilon):
                    told.append(store.spend(user, "corpus", epsilon, 3.0))
        assert len(set(told)) <= 1
    assert stores[0].account(user) == stores[1].account(user)
    assert stores[0].spent(user, "corpus") == pytest.approx(stores[1].spent(user, "corpus"))


@settings(max_examples=30, deadline=None)
@given(questions=st.integers(1, 30), epsilon=st.floats(0.01, 5.0))
def test_so_many_thresholds_as_the_budget_has(
    engine: Engine, questions: int, epsilon: float
) -> None:
    """Rounding neither takes one away nor gives one more."""
    user, budget = f"user {next(NAMES)}", questions * epsilon
    for store in (MemoryAccounts(0.1), StoredAccounts(engine, 0.1)):
        told = [store.spend(user, "corpus", epsilon, budget) for _ in range(questions + 1)]
        assert told == [True] * questions + [False]
        assert store.spent(user, "corpus") == pytest.approx(budget)


@pytest.mark.parametrize("epsilon", [-1.0, -0.0, 0.0, float("nan"), float("inf"), -float("inf")])
def test_what_no_threshold_costs_is_refused(engine: Engine, epsilon: float) -> None:
    user = f"user {next(NAMES)}"
    for store in (MemoryAccounts(0.1), StoredAccounts(engine, 0.1)):
        with pytest.raises(ValueError, match="positive, finite epsilon"):
            store.spend(user, "corpus", epsilon, 10.0)
        assert store.spent(user, "corpus") == 0.0
