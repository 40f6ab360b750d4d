"""`radarstream ask` as somebody types it."""

import json
from functools import partial
from pathlib import Path

import pytest

from radarstream.pipelines.asking.values import Origin
from radarstream.pipelines.documents import WHY
from radarstream.schemas.support import STATUS_RULE
from tests.commands import refused, run
from tests.connectors.webpages.page_server import serve_pages
from tests.documents import UNREADABLE, docx, pdf

CAPITAL = "What is the capital of Peru?"
TRUE = ("Lima is the capital of Peru.", "Lima is its capital.")
LIE = "Cusco is the capital of Peru."


pytestmark = pytest.mark.usefixtures("settings_file")
ask = partial(run, "ask", CAPITAL, "--config", "r.toml")


def files(*texts: str) -> list[str]:
    for number, text in enumerate(texts):
        Path(f"page-{number}.txt").write_text(text)
    return [f"page-{number}.txt" for number in range(len(texts))]


def test_files_and_texts_are_answered_from_and_everything_is_said() -> None:
    shown = ask(*files(*TRUE), "--document", LIE, "--explain").stdout
    assert shown.splitlines()[0] == "Lima"
    for words in (
        "disputed: 2 independent sites say so, 1 says Cusco",
        "page-0.txt",
        "modules that acted: guardrail",
        "attention filter: off",
        "trust: 0.50",
        STATUS_RULE,
    ):
        assert words in " ".join(shown.split())
    table = shown[shown.index("why") :]
    assert (table.count("says so"), table.count("otherwise")) == (2, 1)


def test_json_has_the_whole_reply() -> None:
    given = ["--document", TRUE[0], "--document", LIE, "--document", TRUE[1], "--json"]
    reply = json.loads(ask(*given).stdout)
    assert reply["answer"] == reply["event"]["answer"] == "Lima"
    assert [document["rank"] for document in reply["documents"]] == [1, 2, 3]
    assert len(reply["orchestration"]["hooks"]) == 5


def test_standard_input_is_a_document_or_the_question() -> None:
    for document in (TRUE[0], pdf(TRUE[0]), docx(TRUE[0]), f"<!-- x --><html><p>{TRUE[0]}"):
        two = ask("-", *files(TRUE[1]), "--defense", "majority", answer=document)
        assert two.stdout.startswith("Lima")
    one = run("ask", "-", "--document", TRUE[0], "--config", "r.toml", answer=CAPITAL)
    said = " ".join(one.stdout.split())
    assert "1 independent site says Lima" in said and "nothing contradicts it" in said
    assert "`--withstand 0`" in one.stderr and "`--withstand 0`" not in two.stderr


def test_a_corpus_is_asked() -> None:
    lines = [json.dumps({"text": text, "id": str(n)}) for n, text in enumerate((*TRUE, LIE))]
    Path("own.jsonl").write_text("\n".join(lines))
    run("corpus", "add", "own.jsonl", "--config", "r.toml")
    for given in (["-k", 3], ["own.jsonl"]):
        assert ask(*given).stdout.startswith("Lima")
    run("corpus", "remove", "0", "1", "2", "--yes", "--config", "r.toml")
    emptied = ask()
    assert "no answer" in emptied.stdout and "radarstream corpus add" in emptied.stderr


def test_documents_of_every_kind_are_answered_from_and_pages_are_named() -> None:
    with serve_pages() as server:
        server.add("/", f"<html><p>{LIE}</p></html>")
        address = f"{server.url}/"
        with Path("r.toml").open("a") as config:
            config.write('[documents]\ninner_networks = ["127.0.0.0/8"]\n')
        Path("a.pdf").write_bytes(pdf("Minutes.", *TRUE))
        Path("b.docx").write_bytes(docx(TRUE[1]))
        Path("c.html").write_text(f"<html><body><p>{TRUE[0]}</p></body></html>")
        Path("d.md").write_text("The capital is [Lima](https://lima.example).")
        reply = json.loads(ask("a.pdf", "b.docx", "c.html", "d.md", address, "--json").stdout)
    judged = reply["event"]["verdict"]["documents"]
    assert [one["atomic_answer"] for one in judged] == ["Lima", "Lima", "Lima", "Lima", "Cusco"]
    assert [one.get("page") for one in judged] == [2, None, None, None, None]
    assert reply["documents"][0]["pages"] == [0, 9, 38]
    assert "a.pdf, p. 2" in ask("a.pdf").stdout


def test_a_folder_is_read_in_order_without_links_and_what_is_hidden() -> None:
    Path("own/b/.git").mkdir(parents=True)
    Path("outside.txt").write_text(LIE)
    named = {"b/x.md": TRUE[0], "a.txt": TRUE[1], "c.csv": TRUE[1], "z.png": "", ".a.txt": LIE}
    for name, text in named.items():
        (Path("own") / name).write_text(text)
    Path("own/b/.git/c.txt").write_text(LIE)
    Path("own/c.txt").symlink_to("../outside.txt")
    Path("own/d").symlink_to("..")
    Path("own/y.jsonl").write_text(json.dumps({"text": TRUE[0], "title": "line"}))
    shown = ask("own", "--json")
    titles = [source["title"] for source in json.loads(shown.stdout)["event"]["sources"]]
    assert titles == ["a.txt", "c.csv", "line", "x.md"]
    (other,) = json.loads(shown.stdout)["unread"]
    assert (other["name"], other["why"]) == ("own", "1 file in it is of another kind")
    Path("none").mkdir()
    assert "there is no document in it" in refused("ask", CAPITAL, "none", "--config", "r.toml")[1]


@pytest.mark.parametrize("name", [*UNREADABLE, "huge", "long"])
def test_what_cannot_be_read_is_named_with_the_reason_and_alone_an_error(name: str) -> None:
    limits = "[documents]\nmost_bytes = 2048\n[limits]\ndocument_bytes = 1024\n"
    data, suffix, why = UNREADABLE.get(name, (b"Lima. " * 200, ".txt", "text_size"))
    if name == "huge":
        data, why = b"Lima. " * 400, "size"
    if name in ("huge", "long"):
        with Path("r.toml").open("a") as config:
            config.write(limits)
    Path(f"page{suffix}").write_bytes(data)
    code, told = refused("ask", CAPITAL, f"page{suffix}", "--config", "r.toml")
    assert code == 2
    assert f"page{suffix}: {WHY[why]}" in " ".join(told.split())
    shown = ask(f"page{suffix}", *(word for text in TRUE for word in ("--document", text))).stdout
    assert shown.startswith("Lima\ncorroborated: 2 independent sites say so")
    assert f"not read: page{suffix}: {WHY[why]}" in " ".join(shown.split())


def test_what_cannot_be_asked_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SERPAPI_KEY", raising=False)
    Path("empty.jsonl").touch()
    for arguments, said in (
        ((CAPITAL,), "give files, folders or addresses, - for standard input"),
        ((CAPITAL, "--source", Origin.SEARCH), "SERPAPI_KEY"),
        ((CAPITAL, "--source", "documents"), "or --source search; `radarstream corpus add"),
        ((CAPITAL, "--document", ""), "--document is empty"),
        ((CAPITAL, ""), "the name of a file is empty"),
        ((CAPITAL, "empty.jsonl"), "there is no document to answer from"),
        ((CAPITAL, *["--document", LIE] * 201), "the limit is 200 (limits.documents)"),
        (("-", "-"), "cannot be both"),
        ((CAPITAL, "missing.txt"), "missing.txt: there is no such file or folder"),
        ((CAPITAL, "n" * 3_000), "nnn: cannot be read: File name too long"),
        ((CAPITAL, "lima.example:80/a.pdf"), "an address begins with https:// or http://"),
        ((CAPITAL, "--document", LIE, "--defense", "wishful"), "wishful"),
        ((CAPITAL, "--document", LIE, "--source", "corpus"), "documents are given"),
    ):
        code, told = refused("ask", *arguments, "--config", "r.toml")
        assert code in (1, 2) and said in " ".join(told.split())
        if arguments == (CAPITAL,):
            assert not Path("state.db").exists()
    assert ask("--document", "Nothing to see.").stdout.startswith("no answer: ")
