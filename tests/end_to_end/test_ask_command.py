"""`radarstream ask` as somebody types it."""

import json
from pathlib import Path

import pytest

from radarstream.pipelines.asking.values import Origin
from radarstream.schemas.support import TOLD_APART
from tests.commands import refused, run

CAPITAL = "What is the capital of Peru?"
TRUE = ("Lima is the capital of Peru.", "Lima is its capital.")
LIE = "Cusco is the capital of Peru."


@pytest.fixture(autouse=True)
def _config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of scripted models, in a directory of the test's own."""
    monkeypatch.chdir(tmp_path)
    text = (
        'profile = "scripted"\ndatabase = "sqlite:///state.db"\n[orchestration]\npolicy = "none"\n'
    )
    Path("r.toml").write_text(text)


def files(*texts: str) -> list[str]:
    for number, text in enumerate(texts):
        Path(f"page-{number}.txt").write_text(text)
    return [f"page-{number}.txt" for number in range(len(texts))]


def test_files_and_texts_are_answered_from_and_everything_is_said() -> None:
    given = [*files(*TRUE), "--document", LIE, "--config", "r.toml", "--explain"]
    shown = run("ask", CAPITAL, *given).stdout
    assert shown.splitlines()[0] == "Lima"
    for words in (
        "disputed: 2 independent sites say so, 1 says Cusco",
        "page-0.txt",
        "modules that acted: guardrail",
        "attention filter: off",
        "trust: 0.50",
        TOLD_APART,
    ):
        assert words in " ".join(shown.split())
    table = shown[shown.index("why") :]
    assert (table.count("says so"), table.count("otherwise")) == (2, 1)


def test_json_has_the_whole_reply() -> None:
    given = ["--document", TRUE[0], "--document", LIE, "--document", TRUE[1], "--json"]
    reply = json.loads(run("ask", CAPITAL, *given, "--config", "r.toml").stdout)
    assert reply["answer"] == reply["event"]["answer"] == "Lima"
    assert [document["rank"] for document in reply["documents"]] == [1, 2, 3]
    assert len(reply["orchestration"]["hooks"]) == 5


def test_standard_input_is_a_document_or_the_question() -> None:
    given = ("ask", CAPITAL, "-", *files(TRUE[1]), "--config", "r.toml", "--defense", "majority")
    assert run(*given, answer=TRUE[0]).stdout.startswith("Lima")
    asked = run(
        "ask", "-", "--document", TRUE[0], "--config", "r.toml", answer=CAPITAL, exit_code=0
    )
    assert "1 independent site says so" in " ".join(asked.stdout.split())


def test_a_corpus_is_asked() -> None:
    lines = [json.dumps({"text": text, "id": str(n)}) for n, text in enumerate((*TRUE, LIE))]
    Path("own.jsonl").write_text("\n".join(lines))
    run("corpus", "add", "own.jsonl", "--config", "r.toml")
    shown = run("ask", CAPITAL, "--config", "r.toml", "-k", 3).stdout
    assert shown.startswith("Lima")
    assert run("ask", CAPITAL, "own.jsonl", "--config", "r.toml").stdout.startswith("Lima")
    run("corpus", "remove", "0", "1", "2", "--yes", "--config", "r.toml")
    emptied = run("ask", CAPITAL, "--config", "r.toml")
    assert "no answer" in emptied.stdout
    assert "radarstream corpus add" in emptied.stderr


def test_what_cannot_be_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPAPI_KEY", raising=False)
    Path("empty.jsonl").touch()
    for arguments, said in (
        ((CAPITAL,), "no state database"),
        ((CAPITAL, "--source", Origin.SEARCH), "SERPAPI_KEY"),
        ((CAPITAL, "--source", "documents"), "give documents"),
        ((CAPITAL, "--document", ""), "--document is empty"),
        ((CAPITAL, "empty.jsonl"), "give documents"),
        ((CAPITAL, *["--document", LIE] * 201), "the limit is 200 (limits.documents)"),
        (("-", "-"), "cannot be both"),
        ((CAPITAL, "missing.txt"), "cannot read missing.txt"),
        ((CAPITAL, "--document", LIE, "--defense", "wishful"), "wishful"),
        ((CAPITAL, "--document", LIE, "--source", "corpus"), "documents are given"),
    ):
        code, told = refused("ask", *arguments, "--config", "r.toml")
        assert code in (1, 2)
        assert said in " ".join(told.split())
        if said == "no state database":
            assert not Path("state.db").exists()
    shown = run("ask", CAPITAL, "--document", "Nothing to see.", "--config", "r.toml").stdout
    assert shown.startswith("no answer: ")
