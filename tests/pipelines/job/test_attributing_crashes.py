"""Killed at any point, the worker repeats an attribution at most and doubles nothing."""

import signal
from pathlib import Path

import pytest

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.incidents import origins, reports
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.connectors.state_table.sources.ledger import standings
from radarstream.schemas.reports import Decision
from tests.pipelines.job.attributing_rig import keep, report, trusted
from tests.pipelines.job.dying_attributor import PLACES
from tests.programs import done


def run(url: str, topic: Path, place: str) -> int:
    return done(url, topic, place, module="tests.pipelines.job.dying_attributor").returncode


@pytest.mark.parametrize("place", PLACES)
def test_killed_anywhere(tmp_path: Path, place: str) -> None:
    url = f"sqlite:///{tmp_path / 'state.db'}"
    engine = open_engine(url)
    trusted(engine, "ada", "bob")
    with engine.begin() as connection:  # nothing but the lie is to be attributed
        for row in reports.find_reports(engine):
            reports.close(connection, row["misgeneration"], reports.ReportState.JUDGED)
    keep(engine, ("Rome",) * 3 + ("Oslo",) * 4, answer="Rome")
    stored = [report(engine, reporter) for reporter in ("ada", "bob")][0]
    topic = tmp_path / "events"

    killed = run(url, topic, place)
    assert killed == (0 if place == "nowhere" else -signal.SIGKILL)
    assert run(url, topic, "nowhere") == 0

    (event,) = origins.list_origins(engine)
    assert (event.decision, event.revision) == (Decision.QUARANTINED, 0)
    assert len(list_quarantine(engine)) == 3
    with engine.connect() as connection:
        assert standings(connection, ["example.org"])["example.org"].counts.dishonest == 1.0
    assert pending(engine) == []
    lines = topic.read_text().splitlines()
    assert set(lines) == {lines[0]}, "the same id with the same bytes"
    assert lines[0].startswith(f"cup/0/origin/{stored.misgeneration}/0 ")
    assert len(lines) == (2 if place == "published" else 1)
    engine.dispose()
