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
    [("a/0 b/0 a/1 a/0 b/1", 0), ("a/1 a/0", 1), ("a/0 a/2 b/0", 1)],  # a repetition is none
)
def test_disorder_is_found(names: str, wrong: int) -> None:
    assert out_of_order(names.split()) == wrong


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ('[1, ["a"]] [1, ["b"]] [2, ["b", "c"]] [2, ["a"]]', (1, 1)),
        # Calls in flight when the database dies, which has no worker, may be repeated.
        ('[1, ["a"]] [1, ["b"]] [0, []] [1, ["c"]] [0, []] [1, ["a", "b", "c"]]', (1, 2)),
    ],
)
def test_calls_are_told_apart_by_what_was_in_flight(calls: str, found, tmp_path: Path) -> None:
    (tmp_path / "calls").write_text(calls.replace("] [", "]\n[") + "\n")
    assert repeated_calls(tmp_path / "calls") == found
