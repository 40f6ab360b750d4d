"""python -m tests.engines: fetch Apache Kafka and Flink; start, show and stop them on loopback."""

import argparse
import subprocess
import sys
from pathlib import Path

from tests.engines import artifacts, running

RUN = artifacts.DIRECTORY / "run"


def main(arguments: list[str] | None = None) -> int:
    """Run one of the actions; returns the exit code."""
    given = parsed(arguments)
    directory = given.directory.resolve()
    if given.action == "fetch":
        return fetch(optional=given.optional)
    if given.action == "start":
        return start(given.engines or ["kafka", "flink"], directory)
    if given.action == "stop":
        running.stop(directory)
        say("stopped")
        return 0
    found = running.alive(directory)
    say("\n".join(running.described(directory, found)) if found else "nothing runs")
    return 0


def parsed(arguments: list[str] | None) -> argparse.Namespace:
    """The action and its options."""
    parser = argparse.ArgumentParser(prog="python -m tests.engines", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    fetching = actions.add_parser("fetch", help="bring the jars and compare their checksums")
    fetching.add_argument("--optional", action="store_true", help="exit with 0 if they cannot come")
    starting = actions.add_parser("start", help="start engines; default: kafka flink")
    starting.add_argument(
        "engines", nargs="*", choices=[[], *running.ENGINES], help="kafka3: three nodes"
    )
    actions.add_parser("stop", help="stop all that were started")
    actions.add_parser("status", help="show what runs")
    for action in actions.choices.values():
        action.add_argument("--directory", type=Path, default=RUN, help="data, logs and state file")
    return parser.parse_args(arguments)


def fetch(*, optional: bool) -> int:
    """Bring the jars; 0 where they are there."""
    try:
        artifacts.fetch()
    except (FileNotFoundError, ValueError) as error:
        reason = str(error)
    except subprocess.CalledProcessError as error:
        reason = f"Maven ended with {error.returncode}; what it said is above"
    else:
        say(f"Apache Kafka, Flink and Beam's job server are in {artifacts.DIRECTORY}")
        return 0
    say(f"{'note' if optional else 'error'}: no Apache Kafka and Flink: {reason}", sys.stderr)
    return 0 if optional else 1


def start(engines: list[str], directory: Path) -> int:
    """Start engines, or of those that run the parts that have ended; or say what prevents it."""
    jars = {jar for engine in engines for jar in running.ENGINES[engine].jars}
    if reason := artifacts.missing(*sorted(jars)):
        say(f"error: {reason}", sys.stderr)
        return 1
    alive = running.alive(directory)
    if alive and len(alive) == len(running.read(directory)):
        say("error: they run already: `make engines-stop` first", sys.stderr)
        return 1
    try:
        if alive:
            running.revive(directory)
        else:
            running.start(engines, directory)
    except RuntimeError as error:
        say(f"error: {error}", sys.stderr)
        return 1
    say("\n".join(running.described(directory, running.alive(directory))))
    return 0


def say(text: str, stream: object = None) -> None:
    """Print a line at once."""
    print(text, file=stream or sys.stdout, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
