"""python -m tests.chaos: kill the job and what is under it while it works; see what is left."""

import argparse
import json
import shutil
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.table import Table

from radarstream.pipelines.job.replaying.record import code_revision
from tests.chaos import lost_connections, run, two_workers
from tests.chaos.grounds import kafka_on_postgresql
from tests.chaos.trials import Outcome, Trial, needs_flink, needs_kafka, needs_postgresql

ENGINES = ("noida", "kafka", "flink")
OUTPUT = "build/chaos-{}.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--engine", choices=ENGINES, default="noida", help="default %(default)s")
    parser.add_argument("--short", action="store_true", help="a tenth of it")
    parser.add_argument("--only", metavar="TRIAL", help="run this trial alone")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    trials = trials_of(options.engine)
    if options.only and options.only not in trials:
        parser.error(f"no trial {options.only!r}: choose from {', '.join(trials)}")
    told = Console(stderr=True)
    began = time.monotonic()

    def say(line: str) -> None:
        told.print(f"{time.monotonic() - began:5.0f} s  {line}")

    record = {"revision": code_revision(), "engine": options.engine}
    sound = []
    for name, trial in trials.items():
        if options.only not in (None, name):
            continue
        if reason := trial.needs():
            told.print(f"skipped: {name}; {reason}")
            continue
        size = replace(trial.short if options.short else trial.full, seed=options.seed)
        directory = Path(tempfile.mkdtemp(prefix="chaos-"))
        say(f"{name}: logs in {directory}, and there they stay if it breaks off")
        outcome = trial.run(size, directory, say)
        shutil.rmtree(directory)
        Console().print(table(name, outcome))
        record[name.replace(" ", "_")] = outcome.record()
        sound.append(outcome.sound)
    name = "-".join([options.engine, *(options.only or "").split()])
    output = Path(OUTPUT.format(name))
    output.parent.mkdir(exist_ok=True)
    output.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    return 0 if sound and all(sound) else 1


def trials_of(engine: str) -> dict[str, Trial]:
    """The trials on an engine, by name."""
    pair, lost = two_workers, lost_connections
    if engine == "noida":
        work = (pair.run_two_workers, pair.Disturbances(), pair.SHORT, needs_postgresql)
        return {"deaths": Trial(run.run_chaos, run.Size(), run.SHORT), "two workers": Trial(*work)}
    if engine == "kafka":
        deaths = partial(run.run_chaos, on=kafka_on_postgresql)
        work = partial(pair.run_two_workers, on=kafka_on_postgresql)
        return {
            "deaths": Trial(deaths, run.ON_KAFKA, run.SHORT_ON_KAFKA, needs_kafka),
            "two workers": Trial(work, pair.ON_KAFKA, pair.SHORT_ON_KAFKA, needs_kafka),
            "lost connections": Trial(
                lost.run_lost_connections, lost.Size(), lost.SHORT, needs_kafka
            ),
        }
    from tests.chaos import flink_promises as promises
    from tests.chaos import flink_run as deaths

    return {
        "deaths": Trial(deaths.run_flink, deaths.Size(), deaths.SHORT, needs_flink),
        "promises": Trial(promises.run_promises, promises.Size(), promises.SHORT, needs_flink),
    }


def table(name: str, outcome: Outcome) -> Table:
    """Everything that was counted."""
    rows = Table("figure", "value", title=f"{name}: {'sound' if outcome.sound else 'NOT SOUND'}")
    for figure, value in outcome.rows():
        rows.add_row(figure, value)
    return rows


if __name__ == "__main__":
    sys.exit(main())
