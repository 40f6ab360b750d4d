"""A command imports what it uses, when it runs."""

import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest

from radarstream.lab.simulation.history import SimulationOptions, write_history
from radarstream.schemas.plugins import EXTRAS
from tests import commands

HEAVY = {
    *("torch", "transformers", "pandas", "pyarrow", "scipy", "sklearn", "apache_beam"),
    *("polars", "vl_convert", "numpy", "sqlalchemy", "pydantic", "rich", "kafka"),
}
UNUSED = {
    *("torch", "transformers", "sklearn", "apache_beam.ml.inference"),
    *("scipy.stats", "scipy.optimize"),  # of SciPy only the special functions of intervals
}
# Never imported, and left out of the lock files of demo and images.
LEFT_OUT = ("bson", "hf_xet", "huggingface_hub", "pandas", "PIL", "pyarrow", "pymongo")
PROGRAM = """
import atexit, json, sys
sys.modules.update(dict.fromkeys({missing!r}))
def show():
    loaded = sorted(name for name, module in sys.modules.items() if module is not None)
    open({out!r}, "w").write(json.dumps(loaded))
atexit.register(show)
from radarstream.pipelines.cli.app import main
main()
"""


def run(
    tmp_path: Path, *arguments: str, missing: Collection[str] = ()
) -> subprocess.CompletedProcess[str]:
    """A command where libraries are missing; what it has imported is in modules.json."""
    program = PROGRAM.format(out=str(tmp_path / "modules.json"), missing=tuple(missing))
    command = [sys.executable, "-c", program, *arguments]
    pipes = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    return subprocess.run(command, timeout=120, cwd=tmp_path, **pipes)


def modules(tmp_path: Path, *arguments: str, missing: Collection[str] = ()) -> set[str]:
    """What a command has imported when it ends."""
    ended = run(tmp_path, *arguments, missing=missing)
    assert ended.returncode == 0, ended.stderr
    return set(json.loads((tmp_path / "modules.json").read_text()))


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_import_nothing_heavy(option: str, tmp_path: Path) -> None:
    loaded = modules(tmp_path, option)
    assert not HEAVY & loaded
    ours = {name for name in loaded if name.startswith("radarstream.pipelines.")}
    light = ("cli", "cli.app", "cli.commands", "cli.ending", "job", "job.stopping")
    assert ours <= {f"radarstream.pipelines.{name}" for name in light}


def test_a_dry_run_needs_no_library_of_models_or_tables(tmp_path: Path) -> None:
    """Beam runs where its optional libraries are missing, and where they are not."""
    options = SimulationOptions(questions=1, min_snapshots=3, max_snapshots=3)
    write_history(tmp_path / "history.json", options)
    loaded = modules(
        tmp_path, "replay", "history.json", "--dry-run", "--out", "one", missing=LEFT_OUT
    )
    assert "apache_beam" in loaded
    assert not UNUSED & loaded
    commands.run("replay", tmp_path / "history.json", "--dry-run", "--out", tmp_path / "two")
    answers = [(tmp_path / name / "answers.jsonl").read_text() for name in ("one", "two")]
    assert (answers[0].count("\n"), answers[0]) == (3, answers[1])


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ("ask --dry-run Who? page.txt", 0, "no answer"),
        ("state show", 2, "there is no state database"),
        ("doctor --json --profile scripted", 0, "not installed: adapters, alerts, embedded"),
        ("serve --dry-run --listen 192.0.2.1:80", 2, "serving.listen"),  # an address of nobody
        ("mcp --dry-run", 0, ""),
        ("replay history.json --dry-run", 2, "apache_beam is not installed: pip install 'radarst"),
        ("run", 2, "kafka is not installed: pip install 'radarstream[stream]'"),
        ("evaluate --dry-run", 2, "scipy is not installed: pip install 'radarstream[lab]'"),
        ("replay history.json --attack pia@1", 2, "polars is not installed: pip install 'radarst"),
        ("ask Who? page.txt", 2, "pip install 'radarstream[embedded]'"),
    ],
)
def test_without_extras_a_command_works_or_says_what_to_install(arguments, code, told, tmp_path):
    (tmp_path / "page.txt").write_text("Lima is the capital.")
    write_history(tmp_path / "history.json", SimulationOptions(questions=1))
    missing = {*EXTRAS, "opentelemetry.sdk"} - {"opentelemetry"}  # whose interface MCP brings
    ended = run(tmp_path, *arguments.split(), missing=missing)
    assert ended.returncode == code, ended.stderr
    assert told in ended.stdout + ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize(
    ("command", "library", "extra"),
    [("topics", "kafka", "stream"), ("deadletter", "kafka", ""), ("evaluate", "polars", "lab")],
)
def test_help_works_without_an_extra_and_names_it(command, library, extra, tmp_path) -> None:
    helped = run(tmp_path, command, "--help", missing=[library])
    assert (helped.returncode, extra in helped.stdout) == (0, True), helped.stderr
