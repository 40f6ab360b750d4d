"""Prints the figures at the end of the run and writes them to build/bench-figures.json."""

import json

import pytest

from tests.benchmarks.figures import Figures

FIGURES = pytest.StashKey[Figures]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FIGURES] = Figures()


@pytest.fixture
def figures(pytestconfig: pytest.Config) -> Figures:
    return pytestconfig.stash[FIGURES]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    figures = session.config.stash[FIGURES]
    if figures.rows:
        record = figures.record(passed=exitstatus == pytest.ExitCode.OK)
        file = session.config.rootpath / "build" / "bench-figures.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    figures = config.stash[FIGURES]
    if figures.rows:
        terminalreporter.section("figures")
        for line in figures.table():
            terminalreporter.write_line(line)
