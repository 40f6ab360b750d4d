"""Ctrl-C at a terminal is acknowledged at once, also while the main thread cannot be reached."""

import os
import pty
import signal
import subprocess
import sys

BUSY = """
import ctypes, os, signal
from radarstream.pipelines.cli.ending import take_signals
take_signals(); take_signals()
signal.signal(signal.SIGINT, signal.default_int_handler)
os.write(1, b"busy\\n")
mutex = ctypes.create_string_buffer(64)
libc = ctypes.CDLL(None)
libc.pthread_mutex_lock(mutex); libc.pthread_mutex_lock(mutex)  # for ever, in C
"""


def test_the_first_ctrl_c_is_answered_while_c_code_runs() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=theirs, stderr=theirs) as process:
        try:
            os.close(theirs)
            said = b""
            while b"busy" not in said:
                said += os.read(ours, 1_024)
            process.send_signal(signal.SIGINT)
            while b"once more" not in said:
                said += os.read(ours, 1_024)  # raises where the process ends without it
            assert process.poll() is None
        finally:
            process.kill()
            os.close(ours)
