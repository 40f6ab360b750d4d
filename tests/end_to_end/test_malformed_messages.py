"""Ten thousand malformed messages: each is an answer or a dead letter, and memory stays small."""

import json
import subprocess
import sys
from pathlib import Path

from radarstream.schemas.codec import decode_snapshot
from radarstream.schemas.records import Limits

ROOT = Path(__file__).parents[2]
COUNT = 10_000


def test_every_message_is_answered_or_explained(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'state.db'}"
    command = [sys.executable, "-m", "tests.end_to_end.malformed_run", str(COUNT), database]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["messages"] == found["committed"] == COUNT
    assert found["letters"] > COUNT / 2
    # What has no letter is a snapshot like any other, answered or the repetition of one.
    silent = [bytes.fromhex(data) for data in found["without_letter"]]
    assert len(silent) + found["letters"] == COUNT
    snapshots = {decode_snapshot(data, limits=Limits(), now=None).id for data in silent}
    assert len(snapshots) == found["distinct_answers"] > 0
    assert found["peak_mb"] < 2 * found["idle_mb"], found
