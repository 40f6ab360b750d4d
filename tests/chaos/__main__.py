"""python -m tests.chaos: kill the job and its broker under load and see what is left."""

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pipelines.evaluation.provenance import code_revision
from tests.chaos.run import HEALTHY_WITHIN_S, SHORT, Outcome, Size, run_chaos

OUTPUT = Path("build/chaos.json")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a tenth of it")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    size = replace(SHORT if options.short else Size(), seed=options.seed)
    told = Console(stderr=True)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
        outcome = run_chaos(
            size,
            Path(directory),
            lambda line: told.print(f"{time.monotonic() - began:5.0f} s  {line}"),
        )
    OUTPUT.parent.mkdir(exist_ok=True)
    record = {"revision": code_revision(), **outcome.record()}
    OUTPUT.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    Console().print(table(outcome))
    return 0 if outcome.findings.sound and not outcome.recovery["beyond_limit"] else 1


def table(outcome: Outcome) -> Table:
    """Everything that was counted."""
    rows = Table("figure", "value", title="sound" if outcome.findings.sound else "NOT SOUND")
    for point, count in outcome.kills.items():
        rows.add_row(f"kills: {point}", str(count))
    for name, value in outcome.findings.as_rows().items():
        rows.add_row(name.replace("_", " "), str(value))
    for name, seconds in outcome.recovery.items():
        rows.add_row(f"recovery: {name} (limit {HEALTHY_WITHIN_S:g} s)", f"{seconds:.3g}")
    rows.add_row("seconds", f"{outcome.seconds:.0f}")
    return rows


if __name__ == "__main__":
    sys.exit(main())
