"""Killed at any point, the worker repeats an attribution at most and doubles nothing."""

import signal
from pathlib import Path

import pytest

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.incidents import complaints
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.schemas.incidents import Status
from tests.pipelines.job.attributing_rig import complaint, events_of, keep, trusted
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
        for row in complaints.find_complaints(engine):
            complaints.close(connection, row["incident"], complaints.ComplaintState.JUDGED)
    keep(engine)
    stored = [complaint(engine, sender) for sender in ("ada", "bob")][0]
    topic = tmp_path / "events"

    assert run(url, topic, place) == (0 if place == "nowhere" else -signal.SIGKILL)
    assert run(url, topic, "nowhere") == 0

    (event,) = events_of(engine)
    assert (event.status, event.revision) == (Status.QUARANTINED, 0)
    assert (len(list_quarantine(engine)), pending(engine)) == (3, [])
    lines = topic.read_text().splitlines()
    assert set(lines) == {lines[0]}, "the same id with the same bytes"
    assert lines[0].startswith(f"cup/0/taught/{stored.incident}/0 ")
    assert len(lines) == (2 if place == "published" else 1)
    engine.dispose()
