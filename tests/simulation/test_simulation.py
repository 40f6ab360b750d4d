"""The driver in simulated lives, and the proof that they notice a driver that is broken."""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.simulation.life import live
from tests.simulation.mutants import MUTANTS
from tests.simulation.plan import Plan, harsh, harsh_in_disorder

CHUNK = 25
CHUNKS = [
    pytest.param(first, marks=[pytest.mark.long] if first >= 75 else [])
    for first in range(0, 300, CHUNK)
]
ENOUGH_SEEDS = 60
# Of these a harsh life without disorder tells nothing; the seed is tried first.
NEED_DISORDER = {"forget_the_highest_offset": 0, "release_by_waiting_alone": 39}
ROOT = Path(__file__).parents[2]


@cache
def lived(seed: int) -> tuple[list[str], str]:
    """Which promises a life broke, and all that happened in it."""
    life = live(seed)
    return life.promises.broken, "\n".join(life.faults.trace)


@pytest.mark.parametrize("first", CHUNKS)
def test_nothing_is_lost_doubled_or_rewound(first: int) -> None:
    broken = {seed: lived(seed)[0] for seed in range(first, first + CHUNK)}
    assert not any(broken.values()), "\n".join(
        f"replay with: python -m tests.simulation.run --seed {seed}\n  {lines}"
        for seed, lines in broken.items()
        if lines
    )


@pytest.mark.parametrize("mutant", sorted(MUTANTS))
def test_a_broken_driver_is_noticed(mutant: str) -> None:
    with MUTANTS[mutant]():
        change = harsh_in_disorder if mutant in NEED_DISORDER else harsh
        seeds = (NEED_DISORDER.get(mutant, 0), *range(ENOUGH_SEEDS))
        assert any(noticed(seed, change) for seed in seeds), f"{mutant} unnoticed"


def noticed(seed: int, change: Callable[[Plan], Plan]) -> bool:
    """Whether a life goes wrong: by a promise or by an error that no worker may end with."""
    try:
        return bool(live(seed, change).promises.broken)
    except Exception:  # noqa: BLE001 whatever a broken driver raises
        return True


def test_lives_are_full_of_faults() -> None:
    """The simulation would prove nothing if nothing went wrong in it."""
    traces = [lived(seed)[1] for seed in range(60)]
    for event in (
        "CRASH", "meanwhile", "tries again", "went through", "model fails", "anew", "late",
    ):  # fmt: skip
        assert sum(event in trace for trace in traces) >= 3, event


def test_a_seed_is_the_same_life_in_every_process() -> None:
    """Otherwise a failing seed could not be replayed."""
    salt = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    output = subprocess.run(
        [sys.executable, "-m", "tests.simulation.run", "--seed", "7"],
        cwd=ROOT,
        env={"PYTHONHASHSEED": salt, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert lived(7)[1] in output
    assert len(lived(7)[1]) > 500
