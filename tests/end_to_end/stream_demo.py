"""`make stream-demo`: the continuous job with a throw-away broker, command by command."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.brokers import running_broker

DIRECTORY = Path("build/stream-demo")
COMMANDS = [
    f"simulate --questions 6 --snapshots 3 --out {DIRECTORY}/history.json",
    "topics create",
    f"ingest {DIRECTORY}/history.json --attack pia@1:every-3",
    "run --drain",
    "tail --from beginning --no-follow",
    "state show",
    "deadletter list",
]


def main() -> int:
    """Run the commands one after another, each shown before it runs."""
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    program = str(Path(sys.executable).with_name("radarstream"))
    with running_broker("noida", (DIRECTORY / "broker").resolve()) as broker:
        environment = os.environ | {
            "RADARSTREAM_KAFKA__BOOTSTRAP": broker.bootstrap,
            "RADARSTREAM_KAFKA__PARTITIONS": "2",
            "RADARSTREAM_DATABASE": f"sqlite:///{DIRECTORY / 'state.sqlite'}",
            "RADARSTREAM_TELEMETRY__LISTEN": "",
            "RADARSTREAM_TELEMETRY__LOG_FORMAT": "console",
        }
        for command in COMMANDS:
            sys.stdout.write(f"\n$ radarstream {command}\n")
            sys.stdout.flush()
            done = subprocess.run([program, *command.split()], env=environment, check=False)
            if done.returncode:
                return done.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main())
