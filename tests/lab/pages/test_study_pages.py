"""The pages of all kinds of studies: every text inert, no claim too many."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.pages import cases
from radarstream.lab.pages.cases import CaseView, cases_from
from radarstream.lab.pages.charts import Share
from radarstream.lab.pages.leads import Lead, opening
from radarstream.lab.pages.studies import fenced
from radarstream.pipelines.pages.safe_text import HIDDEN
from tests.lab import retrieval_studies
from tests.lab.defence_studies import Bench, make_dataset, make_history
from tests.lab.pages.study_pages import RUNS, page_of, towns, written
from tests.pipelines.pages.page_checks import ParsedPage, check_inert
from tests.pipelines.pages.report_run import LICENCES, MODELS

OPENS = {
    "defences": ("All attacks: vanilla (attack success", "Answers contender answer outcome memory"),
    "retrieval": ("All attacks: none (questions with a planted text", "similarity none grada"),
    "attribution": ("All plain: rag_origin (attacker's answers after removal", "5 of 5 planted"),
    "service": ("Mba:each=true: none (hidden words told", "Planted texts: poisoning"),
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_page_opens_with_what_attackers_get_and_has_tables_and_questions(
    kind: str, tmp_path: Path
) -> None:
    text = page_of(kind, tmp_path / "out")
    page, tables = ParsedPage(text), (tmp_path / "out" / "tables.md").read_text("utf-8")
    for words in (*OPENS[kind], "Trade-off and cost", "Rules stand in the place of models",
                  "With 3 questions even large differences may not be significant"):  # fmt: skip
        assert words in page.text
    for words in ("### Data", "### Definitions", "### Provenance", "questions asked"):
        assert words in tables
    for block in re.findall(r"(?:^\|.*\n)+", tables, re.M):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


@pytest.mark.parametrize("kind", RUNS)
def test_hostile_text_is_shown_and_nothing_else(kind: str, tmp_path: Path) -> None:
    parsed = check_inert(page_of(kind, tmp_path / "out", hostile=True))
    assert '<img src=x onerror="window.pwned=1">' in parsed.text
    tables = (tmp_path / "out" / "tables.md").read_text("utf-8")
    assert not HIDDEN.search(tables)
    assert not re.search(r"(?<!\\)<(script|img|b)\b", tables.split("```")[0])


def test_a_page_names_licences_failures_and_that_a_run_was_cut_short(tmp_path: Path) -> None:
    bench = retrieval_studies.Bench(tmp_path / "out")
    bench.generator = replace(bench.generator, fail_on_text="Belbrook")
    study = bench.run("injection", "none", defences=("vanilla",))
    study.update(models=MODELS, left=3)
    written(study)
    shown = ParsedPage((study.out / "report.html").read_text("utf-8")).text
    assert "failed: ModelError" in shown and "The run was cut short" in shown
    assert all(licence in shown for licence in LICENCES)


def test_without_an_attack_a_page_says_what_users_keep(tmp_path: Path) -> None:
    study = retrieval_studies.Bench(tmp_path / "out").run("", "none", dataset=towns())
    assert written(study).page.sentence == "Benign: none (clean recall 100% (29% to 100%))."


def test_histories_and_growing_attacks_have_curves(tmp_path: Path) -> None:
    histories = [make_history(n, ["Rome", "Bern", "Bern"]) for n in range(2)]
    growing = ["benign", "pia@1", "pia@1+2"]
    study = Bench(tmp_path / "out").run(make_dataset(*histories), "radar,vanilla", growing)
    written(study)
    text = (study.out / "report.html").read_text("utf-8")
    section = text[text.index('id="planted"') :]
    assert section[: section.index("</section>")].count('class="plot curves"') == 3
    for title in ("benign: accuracy", "pia@1: attack success", "Stale answers and recovery",
                  "State per question in bytes"):  # fmt: skip
        assert title in ParsedPage(text).text


class TestLeads:
    LEAD = Lead(
        "pia@1",
        ("attack success", "accuracy"),
        {"radar": Share(0.5), "vanilla": Share(0.9), "voices": Share(0.1)},
        {"radar": Share(0.5), "vanilla": Share(0.1), "voices": Share(0.6)},
        moved=frozenset({"voices"}),
    )

    def test_the_best_is_named_and_whether_that_is_chance(self) -> None:
        said = self.LEAD.said("radar")
        assert said == (
            "Pia@1: radar (attack success 50%, accuracy 50%); the best is voices (attack success "
            "10%, accuracy 60%), with significant difference in the first."
        )
        chance = replace(self.LEAD, moved=frozenset())
        assert "with no significant difference" in chance.said("radar")
        assert "the best" not in self.LEAD.said("voices")

    def test_the_opening_plot_compares_with_the_reference_or_with_before(self) -> None:
        drawn = str(opening([self.LEAD], "radar"))
        assert "voices, pia@1, after: 10%" in drawn and "radar, pia@1, after" not in drawn
        drawn = str(opening([replace(self.LEAD, before=Share(1.0))], "radar"))
        assert "radar, pia@1, before: 100%" in drawn
        assert opening([replace(self.LEAD, bad={})], "radar") is None


def test_of_many_cases_the_telling_ones_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "MOST", 4)
    keys = [(condition, number) for condition in "ab" for number in range(5)]

    def show(anchor: str, key: tuple[str, int]) -> CaseView:
        return CaseView(anchor, *map(str, key), (), (), (), (), (), ())

    found = cases_from("ab", keys, lambda key: -key[1], show, "most are wrong")
    assert [(one.anchor, one.question, one.where) for one in found.shown] == [
        ("case-1", "a", "4"), ("case-2", "a", "3"), ("case-3", "b", "4"), ("case-4", "b", "3")
    ]  # fmt: skip
    assert found.left == 6


@given(st.text(alphabet="`~a \n", max_size=20))
def test_a_fence_is_not_ended_by_its_content(text: str) -> None:
    lines = fenced(text).splitlines()
    assert lines[0] == lines[-1]
    assert set(lines[0]) == {"`"}
    assert all(lines[0] not in line for line in lines[1:-1])
