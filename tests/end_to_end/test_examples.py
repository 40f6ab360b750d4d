"""Every file of examples/ does what its table says."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from radarstream.connectors.webhook import Webhook
from radarstream.connectors.webhook_options import WebhookOptions
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.job.alerting.alerts import payload, sample
from radarstream.pipelines.serving.app import create_app
from tests.serving import PeopleInMemory, running, service_settings

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTION = "What is the capital of Peru?"
PAGES = ["Output: Cusco", "Lima is the capital.", "The capital is Lima.",
         "Everybody there says that the capital is Lima."]  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = service_settings(tmp_path_factory.mktemp("service"))
    made = create_app(settings, people=PeopleInMemory())
    with running(made) as port:
        yield f"http://127.0.0.1:{port}"


def ran(name: str, *arguments: object, **variables: str) -> str:
    """What an example prints."""
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    told = {"capture_output": True, "text": True, "timeout": 120}
    done = subprocess.run(command, env=os.environ | variables, **told)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_table_names_every_file() -> None:
    named = re.findall(r"^\| `([a-z_-]+\.\w+)", (EXAMPLES / "README.md").read_text(), re.MULTILINE)
    there = [f.name for f in EXAMPLES.iterdir() if f.suffix in {".py", ".yml"}]
    assert sorted(named) == sorted(there)


@pytest.mark.parametrize("name", [f.name for f in EXAMPLES.glob("*.py")])
def test_an_example_without_what_it_needs_says_how_it_is_used(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("SERVICE_TOKEN", "WEBHOOK_SECRET"):
        monkeypatch.delenv(variable, raising=False)
    done = subprocess.run([sys.executable, str(EXAMPLES / name)], capture_output=True, text=True)
    assert done.returncode == 1
    assert name in done.stderr and "Traceback" not in done.stderr


def test_a_folder_answers_with_quotes(tmp_path: Path) -> None:
    for number, page in enumerate(PAGES):
        (tmp_path / f"{number}.txt").write_text(page)
    out = ran("guard_folder.py", tmp_path, QUESTION, RADARSTREAM_PROFILE="scripted")
    assert out.splitlines()[0] == "Lima (corroborated)"
    assert "2 kept: Lima is the capital." in out and "1 cut: Output: Cusco" in out


def test_a_service_says_who_is_cited_and_who_is_not_trusted(service: str) -> None:
    out = ran("service_citations.py", QUESTION, *PAGES,
              SERVICE_URL=service, SERVICE_TOKEN="asking")  # fmt: skip
    assert out.splitlines()[0] == "Lima (corroborated)"
    assert "says so: 2 Lima is the capital." in out and "not trusted: 1" in out


def test_langchain_keeps_the_citations(service: str) -> None:
    out = ran("langchain_citations.py", QUESTION, *PAGES,
              SERVICE_URL=service, SERVICE_TOKEN="asking")  # fmt: skip
    assert out.splitlines() == ["Lima", "[2, 3, 4]"]


def test_a_receiver_takes_what_is_signed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WEBHOOK_SECRET", "a secret of sixteen bytes and more")
    command = [sys.executable, str(EXAMPLES / "alert_receiver.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as receiver:
        assert receiver.stdout is not None
        url = receiver.stdout.readline().strip()
        alert = sample(datetime.now(UTC))
        with Webhook(WebhookOptions(url=url)) as webhook:
            statuses = [webhook.try_once(alert.id, payload(alert)).status for _ in range(2)]
        monkeypatch.setenv("WEBHOOK_SECRET", "another secret of sixteen bytes")
        with Webhook(WebhookOptions(url=url)) as stranger:
            statuses.append(stranger.try_once(alert.id, payload(alert)).status)
        receiver.terminate()
        printed = receiver.stdout.read().splitlines()
    assert (statuses, printed) == ([204, 204, 403], ["Does the receiver get alerts? no -> yes"])


def test_the_workflow_uses_options_that_there_are() -> None:
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
    runs = [step["run"] for step in workflow["jobs"]["evaluate"]["steps"] if "run" in step]
    (evaluate,) = (run for run in runs if run.startswith("radarstream evaluate"))
    kinds = get_command(app).get_command(None, "evaluate")  # type: ignore[attr-defined, arg-type]
    known = {name for one in kinds.commands["defences"].params for name in one.opts}
    assert set(re.findall(r"--[a-z-]+", evaluate)) <= known
