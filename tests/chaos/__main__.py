"""python -m tests.chaos: kill the job, its broker and its database under load; see what is left."""

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from radarstream.pipelines.evaluation.provenance import code_revision
from tests.chaos import run, two_workers
from tests.postgresql import server_binaries

OUTPUT = Path("build/chaos.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a tenth of it")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    told = Console(stderr=True)
    began = time.monotonic()

    def say(line: str) -> None:
        told.print(f"{time.monotonic() - began:5.0f} s  {line}")

    with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
        deaths = run.run_chaos(
            replace(run.SHORT if options.short else run.Size(), seed=options.seed),
            Path(directory),
            say,
        )
    Console().print(table_of_deaths(deaths))
    record = {"revision": code_revision(), **deaths.record()}
    sound = deaths.findings.sound and not deaths.recovery["beyond_limit"]
    if server_binaries() is None:
        told.print("skipped: two workers on PostgreSQL; install pgserver")
    else:
        with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
            two = two_workers.run_two_workers(
                replace(
                    two_workers.SHORT if options.short else two_workers.Disturbances(),
                    seed=options.seed,
                ),
                Path(directory),
                say,
            )
        Console().print(table_of_two_workers(two))
        record["two_workers"] = two.record()
        sound = sound and two.sound
    OUTPUT.parent.mkdir(exist_ok=True)
    OUTPUT.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0 if sound else 1


def table_of_deaths(outcome: run.Outcome) -> Table:
    """Everything that was counted while workers and the broker died."""
    rows = Table("figure", "value", title="sound" if outcome.findings.sound else "NOT SOUND")
    for point, count in outcome.kills.items():
        rows.add_row(f"kills: {point}", str(count))
    for name, value in outcome.findings.as_rows().items():
        rows.add_row(name.replace("_", " "), str(value))
    for name, seconds in outcome.recovery.items():
        rows.add_row(f"recovery: {name} (limit {run.HEALTHY_WITHIN_S:g} s)", f"{seconds:.3g}")
    rows.add_row("seconds", f"{outcome.seconds:.0f}")
    return rows


def table_of_two_workers(outcome: two_workers.Outcome) -> Table:
    """Everything that was counted with two workers on PostgreSQL."""
    title = f"two workers: {'sound' if outcome.sound else 'NOT SOUND'}"
    rows = Table("figure", "value", title=title)
    for name, value in outcome.findings.as_rows().items():
        rows.add_row(name.replace("_", " "), str(value))
    rows.add_row("workers that ended by themselves", str(len(outcome.ended_by_themselves)))
    for name, seconds in outcome.record()["answered_again"].items():
        rows.add_row(f"answered again: {name}", f"{seconds:.3g}")
    rows.add_row("seconds", f"{outcome.seconds:.0f}")
    return rows


if __name__ == "__main__":
    sys.exit(main())
