"""Questions with labels, checked as claims."""

import json
from pathlib import Path

from tests.commands import refused, run

RIGHT, WRONG = "Ann Lee", "Bo Poe"
TAILS = (
    "It rained on the day of the vote.",
    "Trams stopped at noon for the parade downtown.",
    "A choir of ninety sang in front of old stone stairs.",
)


def question(number: int, said: str, text: str) -> dict[str, object]:
    """A question, and three pages that say an answer."""
    pages = [
        {"title": "", "text": f"{said} is the mayor of Town {number}. {tail}"} for tail in TAILS
    ]
    return {
        "question": text,
        "correct answer": RIGHT,
        "expanded answer": [RIGHT],
        "incorrect answer": WRONG,
        "incorrect_context": [f"{WRONG} is the mayor of Town {number}, and has been for long."],
        "context": pages,
    }


def dataset(folder: Path) -> Path:
    """Pages that say the right answer, the wrong one, and a question that makes no claim."""
    asked = [
        question(1, RIGHT, "Who is the mayor of Town 1?"),
        question(2, WRONG, "Who is the mayor of Town 2?"),
        question(3, RIGHT, "How many mayors has Town 3?"),
    ]
    file = folder / "questions.json"
    file.write_text(json.dumps(asked))
    return file


def test_claims_are_made_of_questions_and_checked_under_attacks(tmp_path: Path) -> None:
    config = tmp_path / "r.toml"
    config.write_text(f'database = "sqlite:///{tmp_path}/state.db"\n')
    asked = ["evaluate", "claims", "--dataset", dataset(tmp_path), "--config", config]
    labels = ["--reader", "labels", "--attacks", "poison", "--positions", "1", "--json"]
    rows = {(r["condition"], r["claims"]): r for r in json.loads(run(*asked, *labels).stdout)}
    verdicts = ("number", "supported", "refuted", "disputed", "not_enough_evidence", "unread")
    found = {key: [row[name] for name in verdicts] for key, row in rows.items()}
    assert found == {
        ("benign", "true"): [2, 1, 1, 0, 0, 0],
        ("benign", "false"): [2, 1, 1, 0, 0, 0],
        ("poison@1", "true"): [2, 0, 1, 1, 0, 0],  # the planted page takes the place of one
        ("poison@1", "false"): [2, 1, 0, 1, 0, 0],
    }
    assert "unread" in run(*asked, "--reader", "labels", "--attacks", "").stdout
    code, said = refused(*asked, "--half", "test", "--limit", "1", "--reader", "nobody")
    assert code and "no reader" in said
