"""Every crash point twice and a broker that dies, with real processes; `make chaos` does more."""

from pathlib import Path

import pytest

from tests.chaos.dying_worker import POINTS
from tests.chaos.findings import out_of_order, repeated_calls
from tests.chaos.run import SHORT, run_chaos


@pytest.mark.long
def test_nothing_is_lost_whatever_dies(tmp_path: Path) -> None:
    told: list[str] = []
    outcome = run_chaos(SHORT, tmp_path, told.append)
    figures, found = outcome.figures, outcome.figures["findings"]
    assert figures["kills"] == dict.fromkeys(POINTS, SHORT.kills_per_point) | {"broker": 1}, told
    assert found["sound"], outcome.record()
    assert found["repeated_publications"] > 0, "nothing was ever published again"
    assert found["calls_repeated_in_flight"] > 0, "no call was ever cut off"


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        (["a/0", "b/0", "a/1", "a/0", "b/1"], 0),  # a repetition is no disorder
        (["a/1", "a/0"], 1),
        (["a/0", "a/2", "b/0"], 1),
    ],
)
def test_disorder_is_found(names: list[str], wrong: int) -> None:
    assert out_of_order(names) == wrong


def test_calls_are_told_apart_by_what_was_in_flight(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.write_text('[1, ["a"]]\n[1, ["b"]]\n[2, ["b", "c"]]\n[2, ["a"]]\n')
    assert repeated_calls(calls) == (1, 1)


def test_calls_in_flight_when_the_database_dies_may_be_repeated(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    calls.write_text('[1, ["a"]]\n[1, ["b"]]\n[0, []]\n[1, ["c"]]\n[0, []]\n[1, ["a", "b", "c"]]\n')
    assert repeated_calls(calls) == (1, 2)
