"""Commands that are sent a signal in the middle of a model call."""

import os
import signal
import subprocess
import sys
from pathlib import Path

BLOCKING = Path(__file__).with_name("blocking_radarstream.py")
REPOSITORY = Path(__file__).parents[2]
# What a shell without job control does for "command &": SIGINT is ignored from the start.
DEAF = ["bash", "-c", 'trap "" INT; exec "$@"', "background"]


def interrupted(
    directory: Path,
    call: int,
    number: signal.Signals,
    arguments: list[str],
    *,
    background: bool = False,
) -> tuple[int, str]:
    """Exit code and error output of a command that got a signal at its generator's CALL-th call."""
    reached, gate = directory / "reached", directory / "gate"
    for pipe in (reached, gate):
        os.mkfifo(pipe)
    command = [sys.executable, BLOCKING, str(call), reached, gate, "--", *arguments]
    running = subprocess.Popen(
        [*DEAF, *command] if background else command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )
    try:
        assert reached.read_text() == "here"
        running.send_signal(number)
        _, error = running.communicate(timeout=60)
    finally:
        running.kill()
        running.wait()
    return running.returncode, error
