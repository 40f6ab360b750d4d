"""Signals of a process of its own: one asks, a second one insists, SIGHUP asks to reload."""

import signal
import subprocess
import sys
from typing import Any

import pytest

WAITING = """
import sys
from radarstream.pipelines.job.stopping import Stop
stop = Stop()
stop.install()
print("ready", flush=True)
while not stop():
    if stop.reload.wait(0.02):
        stop.reload.clear()
        print("reload", flush=True)
print("stopping", flush=True)
if "--stubborn" in sys.argv:
    sys.stdin.read()  # until the second signal
stop.clock.wait(3600.0)  # ends at once: somebody asked
"""


def waiting(*arguments: str) -> Any:
    """A process that has said that it is ready."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process: Any = subprocess.Popen([sys.executable, "-c", WAITING, *arguments], **pipes)
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_asks_and_ends_pauses(number: signal.Signals) -> None:
    with waiting() as process:
        for sent, said in (*[(signal.SIGHUP, "reload\n")] * 3, (number, "stopping\n")):
            process.send_signal(sent)
            assert process.stdout.readline() == said
        assert process.wait(30) == 0


def test_a_second_signal_ends_the_process_at_once() -> None:
    with waiting("--stubborn") as process:
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM
