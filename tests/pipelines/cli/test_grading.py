"""The grade of a model: what it is asked, and what each kind of fault costs."""

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from typer.testing import CliRunner

from radarstream.connectors.models.scripted import ScriptedRelations
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.cli.grading import QUESTIONS, Counting, Grade, grade
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.evidence import quote_of
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import AnswerPair, Completion, Prompt

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
