"""The command line with a scripted model that stops at one call and waits for the test.

`python blocking_radarstream.py CALL REACHED GATE -- arguments...`: at its CALL-th call the
generator writes to REACHED, which tells the test where it is, then waits for GATE to be written.
Both are named pipes, so that neither side ever sleeps.
"""

import sys
from itertools import count
from pathlib import Path

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.pipelines.cli import app

call, reached, gate = int(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
complete = ScriptedGenerator.complete
calls = count(1)


def blocking(self: ScriptedGenerator, prompts):
    if next(calls) == call:
        reached.write_text("here")
        gate.read_text()
    return complete(self, prompts)


ScriptedGenerator.complete = blocking
sys.argv = ["radarstream", *sys.argv[5:]]
app.main()
