"""`radarstream check` as somebody types it."""

import json
from pathlib import Path

import pytest

from radarstream.pipelines.cli import check
from radarstream.pipelines.documents import WHY
from tests.commands import refused, run

LIMA, CUSCO = "Lima is the capital of Peru.", "Cusco is the capital of Peru."
TRUE = (LIMA, "As every school atlas says, the capital of Peru is Lima, on the coast.")
GIVEN = [word for text in TRUE for word in ("--document", text)] + ["--config", "r.toml"]


pytestmark = pytest.mark.usefixtures("settings_file")


def csv_of(text: str | bytes) -> str:
    Path("claims.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    return "claims.csv"


def test_a_claim_is_supported_or_refuted_with_its_documents() -> None:
    shown = run("check", LIMA, *GIVEN).stdout
    assert shown.startswith("supported: 2 independent sites support it, none contradicts it\n")
    assert "asked: What is the capital of Peru? The claim says: Lima" in shown
    assert TRUE[1][:20] in shown
    Path("bad.pdf").write_bytes(b"%PDF-1.4")
    shown = run("check", CUSCO, "bad.pdf", "--document", CUSCO, *GIVEN).stdout
    rows = [" ".join(line.split()) for line in shown.splitlines()]
    assert "the claim its answer why it does not count document" in rows
    assert "3 contradicts Lima " + TRUE[0] in rows and "2 supports Cusco " + CUSCO in rows
    assert f"not read: bad.pdf: {WHY['damaged']}" in rows
    assert run("check", LIMA, "--withstand", 2, *GIVEN).stdout.startswith("not enough evidence")
    told = json.loads(run("check", CUSCO, "--json", *GIVEN).stdout)
    assert (told["verdict"], told["supporting"], told["contradicting"]) == ("refuted", 0, 2)
    assert (told["claim"], told["claimed"], told["answer"]) == (CUSCO, "Cusco", "Lima")
    assert told["stances"] == [[1, "contradicts"], [2, "contradicts"]]
    assert told["event"]["question"] == told["question"]


def test_a_file_of_claims_gives_a_table() -> None:
    file = csv_of(
        f'\ufeffid,claim\n1,{LIMA}\n2,"{CUSCO}"\n3,Lima is not old.\n'
        '4,"\x1b[31m[bold]=cmd|x is the capital of Peru."\n'
    )
    shown = run("check", "--claims", file, *GIVEN, exit_code=2).stdout
    rows = [line.split() for line in shown.splitlines()[2:]]
    assert [row[6] for row in rows[:2]] == ["supported", "refuted"]
    denied = "the claim denies something: check what it denies"
    assert " ".join(rows[2]) == f"Lima is not old. refused {denied}"
    assert "[bold]=cmd" in shown and "\x1b" not in shown
    told = json.loads(run("check", "--claims", file, "--json", *GIVEN, exit_code=2).stdout)
    assert [one["verdict"] for one in told][:3] == ["supported", "refuted", "refused"]
    assert told[2] == {"claim": "Lima is not old.", "verdict": "refused", "error": denied}


def test_documents_may_stand_behind_a_file_of_claims() -> None:
    for number, text in enumerate(TRUE):
        Path(f"{number}.txt").write_text(text)
    files = ["0.txt", "1.txt", "--config", "r.toml"]
    told = json.loads(run("check", "--claims", csv_of(f"claim\n{LIMA}\n"), "--json", *files).stdout)
    assert (told[0]["verdict"], told[0]["supporting"]) == ("supported", 2)
    quotes = [(one["stance"], one["document"], one["quote"]) for one in told[0]["quotes"]]
    assert quotes == [("supports", f"{number}.txt", text) for number, text in enumerate(TRUE)]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("text\nLima\n", "no column 'claim'; there are text"),
        ("", "no column 'claim'"),
        ("claim\n", "the file has no claims"),
        (f"claim\n{LIMA}\n \n", "row 2: a claim has 1 to 2000 characters"),
        (f"claim\n{'x' * 2_001}\n", "row 1: a claim has 1 to 2000 characters"),
        (f"a,claim\n{LIMA}\n", "row 1: a claim has"),  # a row that ends before the column
        ('claim\n"Lima\n', "is no CSV file of claims"),
        (f'claim\n"{"x" * 140_000}"\n', "is no CSV file of claims"),
        (b"claim\n\xff\xfe\n", "is no CSV file of claims"),
    ],
)
def test_a_file_that_is_none_of_claims_is_refused(text: str | bytes, why: str) -> None:
    code, said = refused("check", "--claims", csv_of(text), *GIVEN)
    assert (code, why in " ".join(said.split())) == (2, True), said


def test_too_many_claims_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check.MOST_CLAIMS == 10_000
    monkeypatch.setattr(check, "MOST_CLAIMS", 2)
    run("check", "--claims", csv_of(f"claim\n{LIMA}\n{CUSCO}\n"), *GIVEN)
    code, said = refused("check", "--claims", csv_of(f"claim\n{LIMA}\n{CUSCO}\n{LIMA}\n"), *GIVEN)
    assert (code, "more than 2 claims" in said) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "give a claim"),
        (["  ", *GIVEN], "give a claim"),
        ([LIMA, "--config", "r.toml", "--source", "documents"], "give files"),
        (["x" * 2_001, *GIVEN], "a claim has 1 to 2000 characters"),
        (["Rain falls.", *GIVEN], "the model made no question of the claim"),
        (["--claims", "nothing.csv", *GIVEN], "nothing.csv"),
    ],
)
def test_what_cannot_be_checked_is_said(arguments: list[str], why: str) -> None:
    code, said = refused("check", *arguments)
    assert code and why in " ".join(said.split()), said
