"""Ten thousand malformed messages: each is an answer or a dead letter, and memory stays small."""

import json
from pathlib import Path

from radarstream.schemas.codec import decode_snapshot
from radarstream.schemas.records import Limits
from tests.programs import done

ROOT = Path(__file__).parents[2]
COUNT = 10_000


def test_every_message_is_answered_or_explained(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'state.db'}"
    ended = done(COUNT, database, module="tests.end_to_end.malformed_run", timeout_s=300)
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = json.loads(ended.stdout.splitlines()[-1])
    assert found["messages"] == found["committed"] == COUNT
    assert found["letters"] > COUNT / 2
    # What has no letter is a snapshot like any other, answered or the repetition of one.
    silent = [bytes.fromhex(data) for data in found["without_letter"]]
    assert len(silent) + found["letters"] == COUNT
    snapshots = {decode_snapshot(data, limits=Limits()).id for data in silent}
    assert len(snapshots) == found["distinct_answers"] > 0
    assert found["peak_mb"] < 2 * found["idle_mb"], found
