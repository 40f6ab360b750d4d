"""`radarstream` that kills itself with SIGKILL at a chosen place, as often as it is started.

CHAOS_POINT names the place, CHAOS_HIT says at which visit; CHAOS_CALLS is a file to which every
call of the generator is written, one line of prompt digests a call; not the one by which every
process loads its models, which no cache may answer. Nothing of this is in the product: its
functions are replaced here before it starts.
"""

import json
import os
import signal
from collections.abc import Callable
from typing import Any

from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.connectors.state_table.queries import memory, outbox
from radarstream.pipelines import build
from radarstream.pipelines.beam import folding
from radarstream.pipelines.cli.app import main

# Name of the place: where the function is looked up, its name, whether death comes after it.
POINTS: dict[str, tuple[Any, str, bool]] = {
    "after a model call": (ScriptedGenerator, "complete", True),
    "before the database commit": (memory, "insert_records", True),
    "after the database commit": (folding, "commit_fold", True),
    "between publish and mark-sent": (outbox, "mark_sent", False),
    "before the offset commit": (KafkaLog, "commit", False),
}


def deadly(function: Callable[..., Any], hit: int, *, after: bool) -> Callable[..., Any]:
    """The function, killing this process at its `hit`th call, before or after its work."""
    calls = 0

    def wrapped(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        result = function(*arguments, **named) if after or calls != hit else None
        if calls == hit:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return wrapped


def write_down_calls(file: str) -> None:
    """Let every generator call be written down before it is answered."""
    complete = ScriptedGenerator.complete

    def written(self: ScriptedGenerator, prompts: Any) -> Any:
        digests = [p.digest().hex()[:16] for p in prompts if p.question != build.QUESTION]
        if digests:
            with open(file, "a", encoding="ascii") as calls:  # noqa: PTH123 one short line a call
                calls.write(json.dumps([os.getpid(), digests]) + "\n")
        return complete(self, prompts)

    ScriptedGenerator.complete = written  # type: ignore[method-assign]


if __name__ == "__main__":
    if calls_file := os.environ.get("CHAOS_CALLS"):
        write_down_calls(calls_file)
    if point := os.environ.get("CHAOS_POINT"):
        owner, name, after = POINTS[point]
        hit = int(os.environ["CHAOS_HIT"])
        setattr(owner, name, deadly(getattr(owner, name), hit, after=after))
    main()
