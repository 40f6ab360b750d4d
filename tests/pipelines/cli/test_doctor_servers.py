"""`radarstream doctor` finds servers here, tries models and search services, and grades a model."""

import json
import shlex
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest
from typer.testing import CliRunner

from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.scripted import ScriptedRelations
from radarstream.connectors.search.options import SearchOptions
from radarstream.pipelines.cli import doctor
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.cli.doctor import Diagnosis, local_servers, models, searches
from radarstream.pipelines.cli.grading import QUESTIONS, Counting, Grade, grade
from radarstream.pipelines.cli.options import ModelOptions
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.evidence import quote_of
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt
from tests.connectors.models.fault_server import FaultServer, says, serving
from tests.connectors.models.scoring_server import scoring
from tests.connectors.search.search_server import KEY, SearchServer, serve
from tests.connectors.search.services import CASES
from tests.pipelines.test_service_alone import reply
from tests.replies import Reply
from tests.servers import free_port


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """In the place of Ollama; nobody listens at the ports of the others."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as state:
        port = int(state.url.removesuffix("/v1").rpartition(":")[2])
        ports = {"Ollama": port, "vLLM": free_port(), "llama.cpp server": free_port()}
        monkeypatch.setattr(doctor, "PORTS", ports)
        state.always = lambda request: says(reply(request))
        yield state


def test_what_is_advised_selects_the_server(server: FaultServer) -> None:
    server.models = ("nomic-embed-text", "qwen3:8b", "it's; small")
    (check,) = local_servers(load_settings(profile="embedded"))
    assert (check.name, check.ok) == ("Ollama", True)
    typed = shlex.split(check.found.partition("add to a command: ")[2])
    assert typed == ["--model", "qwen3:8b", "--base-url", server.url]
    settings = ModelOptions(None, None, typed[1], typed[3]).settings()
    assert settings.generator.base_url == server.url  # type: ignore[union-attr]
    (check,) = local_servers(settings)
    assert "--model" not in check.found  # it is used already


@pytest.mark.parametrize("names", [(), ("bge-m3",)])
def test_a_server_without_a_model_that_writes_is_told(server, names) -> None:
    server.models = names
    (check,) = local_servers(load_settings(profile="embedded"))
    assert check.ok and "no model that writes" in check.found


def test_names_cannot_end_a_command(server: FaultServer) -> None:
    server.models = ("x; rm -rf /",)
    (check,) = local_servers(load_settings(profile="embedded"))
    assert shlex.split(check.found.partition("command: ")[2])[1] == "x; rm -rf /"


def test_without_a_server_the_embedded_model_is_said_to_limit_the_answers(monkeypatch) -> None:
    monkeypatch.setattr(doctor, "PORTS", {"Ollama": free_port(), "vLLM": free_port()})
    (check,) = local_servers(load_settings(profile="embedded"))
    assert check.ok is None and "none on this machine: Ollama" in check.found
    assert "limits the answers" in check.remedy
    (check,) = local_servers(load_settings(profile="scripted"))
    assert not check.remedy


def test_only_loopback_is_asked_and_no_proxy(server, monkeypatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    (check,) = local_servers(load_settings(profile="embedded"))
    assert "small" in check.found


@pytest.mark.parametrize(
    ("url", "here"),
    [("http://127.0.0.1:1/v1", True), ("http://127.9.9.9/v1", True), ("http://[::1]:1/v1", True),
     ("http://localhost/v1", True), ("http://localhost.example.org/v1", False),
     ("http://127.0.0.1.example.org/v1", False), ("https://api.openai.com/v1", False)],
)  # fmt: skip
def test_loopback_is_told_by_the_host(url: str, here: bool) -> None:
    assert OpenAiOptions(model="m", base_url=url).is_local is here


def test_token_probabilities_of_a_service_are_tried_out() -> None:
    def check(url: str) -> Diagnosis:
        tokens = {"kind": "openai", "model": "small", "api_key_variable": "", "base_url": url}
        checks = models(load_settings(profile="scripted", tokens=tokens))
        return next(c for c in checks if c.name == "token probabilities")

    with scoring() as server:
        assert check(server.url).ok
        server.mend = lambda path, request, reply: (200, {"choices": [{"text": "Lima"}]})
        broken = check(server.url)
    assert not broken.ok and "section `tokens`" in broken.remedy


def test_settings_name_what_their_reranker_lacks() -> None:
    lacking = {"name": "gmtp", "models": {"masked": {"kind": "none"}}}
    with pytest.raises(ConfigurationError, match="masked"):
        doctor._settings(load_settings(profile="scripted", retrieval=lacking))
    grada = load_settings(profile="scripted", retrieval={"name": "grada"})
    assert "grada" in doctor._settings(grada)


CALM = load_settings(None, profile="scripted")
ABOUT = Reply({"instance_name": "SearXNG", "engines": [], "version": "2026.11.2"})
NO_JSON = CASES["searxng"].failures["no JSON"][0]


@pytest.fixture
def searxng(monkeypatch: pytest.MonkeyPatch) -> Iterator[SearchServer]:
    """At the port of SearXNG's container; nobody listens at the other."""
    for name in ("SERPAPI_KEY", "BRAVE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    with serve() as running:
        port = int(running.url.rpartition(":")[2])
        monkeypatch.setattr(doctor, "SEARXNG_PORTS", (free_port(), port))
        yield running


def test_a_searxng_that_answers_and_one_without_json(searxng: SearchServer) -> None:
    searxng.replies += [ABOUT, CASES["searxng"].ready, ABOUT, NO_JSON]
    (check,) = searches(CALM)
    said = f'To use it, set search.name = "searxng" and search.base_url = "{searxng.url}"'
    assert (check.name, check.ok) == ("SearXNG", True) and said in check.found
    (check,) = searches(CALM)
    assert check.ok is None and "SearXNG's settings.yml" in check.found + check.remedy
    assert searxng.paths == ["/config", "/search"] * 2
    assert not any("q" in request for request in searxng.requests)  # nothing was searched for


@pytest.mark.parametrize("other", [Reply({"engines": 1}), Reply("<html>"), Reply("", hang=True)])
def test_what_listens_there_may_be_something_else(searxng: SearchServer, other: Reply) -> None:
    searxng.replies.append(other)
    (check,) = searches(CALM)
    assert check.ok is None and "no key in SERPAPI_KEY and no SearXNG" in check.found
    wanting = CALM.serving.model_copy(update={"source": "search"})
    (check,) = searches(CALM.model_copy(update={"serving": wanting}))
    assert check.ok is False and "SERPAPI_KEY is not set" in check.found


def test_the_chosen_service_is_checked(searxng, monkeypatch) -> None:
    chosen = SearchOptions(name="searxng", base_url=searxng.url)
    searxng.replies += [CASES["searxng"].ready, NO_JSON]
    (check,) = searches(CALM.model_copy(update={"search": chosen}))
    assert check.ok and "answers, with JSON" in check.found
    searxng.otherwise = lambda _: Reply({})
    (check,) = searches(CALM.model_copy(update={"search": chosen}))
    assert not check.ok and "settings.yml and restart it" in check.remedy
    brave = SearchOptions(name="brave", base_url=searxng.url)
    (check,) = searches(CALM.model_copy(update={"search": brave}))
    assert not check.ok and "BRAVE_API_KEY is not set" in check.found
    assert "without an account" in check.remedy
    monkeypatch.setenv("BRAVE_API_KEY", KEY)
    searxng.replies += [CASES["brave"].ready, Reply({}), CASES["brave"].failures["key"][0]]
    (check,) = searches(CALM.model_copy(update={"search": brave}))
    assert check.ok and "takes the key" in check.found
    (check,) = searches(CALM.model_copy(update={"search": brave}))
    assert not check.ok and KEY not in check.found


def test_a_key_of_the_default_service_is_a_choice(searxng, monkeypatch) -> None:
    monkeypatch.setenv("SERPAPI_KEY", "no key at all")
    searxng.otherwise = lambda _: Reply({})
    (check,) = searches(CALM)
    assert not check.ok and "SERPAPI_KEY does not hold an API key" in check.found


# --- the grade of a model: what it is asked, and what each kind of fault costs


ITEMS = tomllib.loads(QUESTIONS.read_text("utf-8"))
API = load_settings(None, profile="api")


@dataclass
class Reading:
    """Knows every page of the questions; in the parts `faults` it does the wrong thing."""

    faults: frozenset[str] = frozenset()
    model_id: str = "reading"
    asked: list[str] = field(default_factory=list)

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        return [Completion(self.reply(prompt), 10, 2) for prompt in prompts]

    def reply(self, prompt: Prompt) -> str:
        page = prompt.passages[0]
        self.asked.append(page)
        for part in ("reads", "abstains", "obeys"):
            for item in ITEMS[part]:
                if page in item["page"]:
                    if part in self.faults:
                        return item.get("never", item["page"].split()[0])
                    return item["right"][0] if "right" in item else "I don't know"
        raise AssertionError(page)


@dataclass
class Relating:
    """Relates each pair as the questions say, or as `verdict` for all."""

    verdict: int | None = None
    model_id: str = "relating"

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        same = {(i["one"], i["other"]): i["same"] for i in ITEMS["relates"]}
        same |= {(b, a): value for (a, b), value in same.items()}
        rows = ScriptedRelations().probabilities(pairs) * 0.0
        for row, pair in zip(rows, pairs, strict=True):
            known = 0 if same[pair.premise, pair.hypothesis] else 2
            row[known if self.verdict is None else self.verdict] = 1.0
        return rows


def graded(*faults: str, verdict: int | None = None) -> Grade:
    return grade(Counting(Reading(frozenset(faults))), Relating(verdict), API)


def test_sixty_questions_whose_answers_stand_on_their_pages() -> None:
    assert sum(map(len, ITEMS.values())) == 60
    for item in (*ITEMS["reads"], *ITEMS["obeys"]):
        assert any(quote_of(one, item["question"], item["page"]) for one in item["right"])
        assert "never" not in item or quote_of(item["never"], item["question"], item["page"])
    assert sum(item["same"] for item in ITEMS["relates"]) == 8


def test_a_model_without_fault_has_the_best_grade_and_its_tokens_are_counted() -> None:
    best = graded()
    assert (best.grade, best.advice) == ("A", ())
    found = {part.name: (part.right, part.example) for part in best.parts}
    counts = {"reads": 20, "abstains": 12, "obeys": 12, "relates": 16}
    assert found == {name: (count, "") for name, count in counts.items()}
    assert best.tokens >= 12


@pytest.mark.parametrize(
    ("fault", "advice"),
    [("reads", "a larger model"), ("abstains", "withstand = 2"), ("obeys", "withstand = 2")],
)
def test_each_fault_costs_the_grade_and_has_its_advice(fault: str, advice: str) -> None:
    worst = graded(fault)
    assert worst.grade == "D"
    assert advice in " ".join(worst.advice)
    (part,) = (part for part in worst.parts if part.name == fault)
    assert part.right == 0
    assert part.example.startswith(ITEMS[fault][0]["question"])


@pytest.mark.parametrize("verdict", [0, 1, 2])
def test_a_judge_that_says_one_thing_of_all_is_no_judge(verdict: int) -> None:
    found = graded(verdict=verdict)
    assert found.grade == ("D" if verdict == 1 else "C")
    assert "answer_agreement" in found.advice[0]


def test_the_command_prints_the_grade() -> None:
    """With rules in place of models."""
    result = CliRunner().invoke(app, ["doctor", "--grade", "--profile", "scripted"])
    assert result.exit_code == 0
    assert "the first mistake" in result.output and "of 20" in result.output
    told = CliRunner().invoke(app, ["doctor", "--grade", "--profile", "scripted", "--json"])
    assert json.loads(told.stdout)["grade"] in "ABCD"
    assert "doctor" in CliRunner().invoke(app, ["doctor", "--profile", "scripted"]).output
