"""Signals of a process of its own: one asks, a second one insists, SIGHUP asks to reload."""

import signal
import subprocess
import sys

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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_asks_and_ends_pauses(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(3):
            process.send_signal(signal.SIGHUP)
            assert process.stdout.readline() == "reload\n"
        process.send_signal(number)
        assert process.stdout.readline() == "stopping\n"
        assert process.wait(30) == 0


def test_a_second_signal_ends_the_process_at_once() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, "--stubborn"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "stopping\n"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == -signal.SIGTERM
