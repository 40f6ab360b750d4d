"""`make stream-demo`: the continuous job with a throw-away broker, command by command.

Rules stand in for the models, so that it takes seconds; RADARSTREAM_PROFILE=embedded asks real
ones.
"""

import shutil
import subprocess
import sys
from pathlib import Path

from tests.brokers import running_broker

DIRECTORY = Path("build/stream-demo")
SETTINGS = """profile = "scripted"  # RADARSTREAM_PROFILE=embedded asks real models
database = "sqlite:///{directory}/state.sqlite"

[kafka]
bootstrap = "{bootstrap}"
partitions = 2

[telemetry]
listen = ""
log_format = "console"
"""
BROKEN = '{"schema": "search.snapshot/1", "query": {"id": "cut-off", "te\n'
STEPS = [
    (
        "Six questions whose answers changed, three search snapshots each.",
        "simulate --questions 6 --snapshots 3 --out {directory}/history.json",
    ),
    ("The topics of the job.", "topics create --config {config}"),
    (
        "The snapshots go to the broker: every third one with an injected page, and one broken "
        "record.",
        "ingest {directory}/history.json {directory}/broken.jsonl --attack pia@1:every-3 "
        "--config {config}",
    ),
    (
        "The job: it answers everything in the topic, then stops. Rules stand in for the models "
        "here; RADARSTREAM_PROFILE=embedded asks real ones.",
        "run --once --config {config}",
    ),
    (
        "What a consumer sees: defended answers, oldest first.",
        "tail --from beginning --once --config {config}",
    ),
    (
        "Documents that answers did not trust, and why.",
        "tail --attributions --from beginning --once --limit 12 --config {config}",
    ),
    ("All that is kept of each query.", "state show --config {config}"),
    ("The broken record is not lost.", "deadletter list --config {config}"),
]


def main() -> int:
    """Run the commands one after another, each shown before it runs."""
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    DIRECTORY.mkdir(parents=True)
    (DIRECTORY / "broken.jsonl").write_text(BROKEN)
    config = DIRECTORY / "demo.toml"
    program = str(Path(sys.executable).with_name("radarstream"))
    with running_broker("noida", (DIRECTORY / "broker").resolve()) as broker:
        config.write_text(SETTINGS.format(directory=DIRECTORY, bootstrap=broker.bootstrap))
        say(f"A broker of its own runs on {broker.bootstrap}; {config} names it.")
        for sentence, form in STEPS:
            command = form.format(directory=DIRECTORY, config=config)
            say(f"\n# {sentence}\n$ radarstream {command}")
            done = subprocess.run([program, *command.split()], check=False)
            if done.returncode:
                return done.returncode
    say("\nWhat each step shows: docs/tour.md. Your own broker and models: docs/deployment.md.")
    return 0


def say(text: str) -> None:
    """Print at once: what the commands print comes in between."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
