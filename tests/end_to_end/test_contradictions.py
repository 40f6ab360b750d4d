"""Options that contradict each other are told before anything that takes seconds is loaded."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.programs import REPOSITORY

HEAVY = ["apache_beam", "torch", "transformers", "sentence_transformers", "xllamacpp", "sklearn"]
# One process tries all: what is imported for one would be seen in all that follow.
PROGRAM = """
import json, os, sys
from typer.testing import CliRunner
from radarstream.pipelines.cli.app import app
for arguments, variables in json.loads(sys.argv[1]):
    result = CliRunner().invoke(app, arguments, env=variables)
    code = getattr(result.exception, "exit_code", result.exit_code)
    loaded = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
    told = [result.output, str(result.exception)]
    print(json.dumps({"code": code, "loaded": loaded, "told": " ".join(" ".join(told).split())}))
"""
POSTGRES = {"RADARSTREAM_DATABASE": "postgresql://radarstream@127.0.0.1:1/radarstream"}
SASL = {"RADARSTREAM_KAFKA__SECURITY": "SASL_SSL"}
GROUP = {"RADARSTREAM_JOB__MEMBERSHIP": "group"}
RADER = {"RADARSTREAM_DEFENSE__NAME": "rader"}
NO_TOKENS = {"RADARSTREAM_TOKENS__KIND": "none"}
SUBMIT = ["submit", "--job-endpoint", "a:1"]
CASES: dict[str, tuple[list[str], dict[str, str], str]] = {
    "both flags": (["run", "--group", "--partitions", "0"], {}, "exclude each other"),
    "no numbers": (["run", "--partitions", "all"], {}, "not a list of numbers"),
    "partitions in a group": (
        ["run"], GROUP | {"RADARSTREAM_JOB__PARTITIONS": "[0]"}, "the broker gives the partitions"),
    "no such defence": (["run"], RADER, "no defence named"),
    "no such option": (
        ["run"], {"RADARSTREAM_DEFENSE__OPTIONS": '{"pear_scale": 1.0}'}, "pear_scale"),
    "no model tells what the defence asks": (
        ["run"], NO_TOKENS | {"RADARSTREAM_RETRIEVAL__NAME": "raguard"}, "needs"),
    "a password that is not there": (
        ["run"], {**SASL, "RADARSTREAM_KAFKA__USERNAME": "ada", "KAFKA_PASSWORD": ""},
        "KAFKA_PASSWORD is not set"),
    "no user": (["attribute"], SASL, "needs kafka.username"),
    "no model tells what the attributor asks": (
        ["attribute"], NO_TOKENS, "needs token probabilities"),
    "no job server": (["submit", "--job-endpoint", ""], POSTGRES, "job-endpoint"),
    "detached from itself": (
        [*SUBMIT, "--environment", "LOOPBACK", "--detach"], POSTGRES, "--detach needs"),
    "a file for a cluster": (SUBMIT, {}, "cannot share an SQLite"),
    "no such defence on a cluster": (SUBMIT, POSTGRES | RADER, "no defence named"),
    "what changed of attributions": (["tail", "--changed", "--attributions"], {}, "leave --chang"),
    "a plan without queries": (["watch", "--dry-run"], {}, "needs --watchlist"),
    "no webhook": (["alert"], {}, "alerts.webhook.url is not given, nor a channel"),
}  # fmt: skip


def test_it_is_told_at_once(tmp_path: Path) -> None:
    """All in one process where PostgreSQL and Kafka cannot be reached."""
    cases = [(arguments, variables) for arguments, variables, _ in CASES.values()]
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY)}
    program = [sys.executable, "-c", PROGRAM, json.dumps(cases), json.dumps(HEAVY)]
    run = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert list(tmp_path.iterdir()) == []  # and nothing was made
    outcomes = map(json.loads, run.stdout.splitlines())
    for (name, (_, _, told)), outcome in zip(CASES.items(), outcomes, strict=True):
        assert told in outcome["told"], name
        assert (outcome["code"], outcome["loaded"]) == (2, []), name
