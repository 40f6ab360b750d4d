"""The experiment's report: every text inert, every number the scoreboard's, no claim too many."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.ranking import rank
from radarstream.lab.defences.records import Contender
from radarstream.lab.pages import cases
from radarstream.lab.pages.charts import LABEL_GAP, spread
from radarstream.lab.pages.defences import headline, qualified
from radarstream.lab.pages.studies import cautions, fenced
from radarstream.pipelines.pages.safe_text import HIDDEN
from radarstream.schemas.verdict import Verdict
from tests.lab.pages.defences_run import (
    CONDITIONS,
    IN_TIME,
    STATIC,
    hostile_experiment,
    make_experiment,
    make_record,
    written,
)
from tests.lab.study_rows import scored
from tests.pipelines.pages.page_checks import ParsedPage, check_inert
from tests.pipelines.pages.report_run import LICENCES

FEW = (STATIC[0], STATIC[4], STATIC[6])


def write(out: Path, experiment) -> str:
    return written(out, experiment).read_text("utf-8")


def outcomes_in(rows, record):
    """What every answer turned out to be, by contender, condition, question and step."""
    columns = ("contender", "condition", "query_id", "step", "outcome")
    return {row[:4]: row[4] for row in study_frame(rows, record).select(columns).rows()}


def ranked(rows, record):
    return rank(scored(rows, record)[1], record)


@pytest.fixture(scope="module")
def experiment():
    return make_experiment(questions=6, contenders=FEW)


@pytest.fixture(scope="module")
def page(experiment, tmp_path_factory) -> str:
    return write(tmp_path_factory.mktemp("static"), experiment)


@pytest.fixture(scope="module")
def in_time(tmp_path_factory) -> str:
    experiment = make_experiment(
        questions=4, steps=5, conditions=CONDITIONS[:2], contenders=IN_TIME
    )
    return write(tmp_path_factory.mktemp("time"), experiment)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> tuple[str, str]:
    out = tmp_path_factory.mktemp("hostile")
    return write(out, hostile_experiment()), (out / "tables.md").read_text("utf-8")


def test_hostile_text_is_shown_and_nothing_else(page, in_time, hostile):
    text, tables = hostile
    assert "canary-3f9a" not in page
    assert "(redacted)" in page
    check_inert(page)
    check_inert(in_time)
    parsed = check_inert(text)
    assert '<img src=x onerror="window.pwned=1">' in parsed.text
    assert len(text) < 400_000  # the long texts are cut
    assert not HIDDEN.search(tables)
    assert not re.search(r"(?<!\\)<(script|img|b)\b", tables.split("```")[0])


def test_a_case_shows_answers_documents_and_what_became_of_them(page, experiment):
    record, rows, evidence = experiment
    parsed = ParsedPage(page)
    assert parsed.text.count("Answers contender answer outcome memory") == len(evidence) == 30
    attacked = [row for row in rows if row.labels.attack]
    outcomes = outcomes_in(rows, record)
    fooled = sum(outcomes[row.key] in ("fooled", "both") for row in attacked)
    tags = re.findall(r'class="tag[^"]*">fooled (\d+) of 3<', page)
    assert sum(map(int, tags)) == fooled > 0
    assert len(tags) == 24
    assert parsed.text.count(" planted ") >= 24
    assert "contradicted by document" in parsed.text


def test_of_many_cases_the_telling_ones_are_shown(experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "MOST", 10)
    record, rows, _ = experiment
    outcomes = outcomes_in(rows, record)
    text = write(tmp_path, experiment)
    assert "10 of 30 cases" in text
    shown = re.findall(r'class="tag[^"]*">fooled (\d+) of 3<', text)
    for number, condition in enumerate(record.conditions[1:]):
        counts = Counter(
            row.query_id
            for row in rows
            if row.condition == condition.name and outcomes[row.key] in ("fooled", "both")
        )
        most = sorted((counts[f"q{n:03d}"] for n in range(6)), reverse=True)[:2]
        assert [int(n) for n in shown[2 * number : 2 * number + 2]] == most


def test_histories_have_curves(in_time, page):
    for title in ("benign: accuracy", "pia@1: attack success", "Stale answers and recovery",
                  "State per question in bytes"):  # fmt: skip
        assert title in ParsedPage(in_time).text
    assert "over-time" not in ParsedPage(page).values("id")


def words_of(rates: dict[str, tuple[int, int]], questions: int = 40) -> str:
    """The headline for contenders that are right in so many answers and fooled in so many."""
    contenders = tuple(Contender(name, name) for name in rates)
    record, rows, _ = make_experiment(
        questions=questions, documents=2, conditions=CONDITIONS[1:2], contenders=STATIC[:1]
    )
    record = replace(
        make_record(questions, 1, 2, CONDITIONS[1:2], contenders), reference=contenders[0].name
    )
    made = []
    for name, (right, fooled) in rates.items():
        for number, row in enumerate(rows):
            labels = row.labels
            text = labels.answers[0] if number < right else "something else"
            if number >= questions - fooled:
                text = labels.target
            made.append(replace(row, contender=name, verdict=Verdict(text, ()), error=None))
    board, _ = scored(made, record)
    ranking = ranked(made, record)
    return " ".join((headline(ranking), *qualified(record, board, ranking), *cautions(record)))


def test_headline_recommends_a_clear_winner_only():
    assert words_of({"good": (36, 2), "vanilla": (10, 28)}).startswith("Run good: it has the best")
    close = words_of({"one": (30, 4), "two": (29, 4), "vanilla": (10, 28)})
    assert close.startswith("one has the best trade-off")
    assert "its lead over two is not significant." in close
    assert "Run one" not in close
    rivals = {f"r{n}": (30, 4) for n in range(6)}
    level = words_of({"one": (31, 3), **rivals, "vanilla": (29, 4)})
    assert "its lead over vanilla, r0, r1, r2, r3 and 2 others is not significant" in level
    assert "Without a defence (vanilla) the system is right in 72 %" in level


def test_headline_weighs_attacks_that_succeed():
    assert words_of({"safe": (20, 0), "gullible": (20, 19)}).startswith("Run safe:")


def test_headline_is_modest_about_few_questions_and_lone_contenders():
    assert "a trial, not a measurement" in words_of({"a": (9, 0), "b": (1, 8)}, questions=10)
    assert "nothing to compare a with" in words_of({"a": (20, 3)})
    for few in (1, 2, 5):  # also where all of them agree, so that the answers show no spread
        words = words_of({"a": (few, 0), "b": (0, few)}, questions=few)
        assert "by more than chance" not in words
        assert "its lead over b is not significant" in words


def test_contenders_with_many_errors_or_noise_are_not_recommended():
    record, rows, _ = make_experiment(
        questions=10, conditions=CONDITIONS[1:2], contenders=(STATIC[0], STATIC[6])
    )
    broken = [
        replace(row, verdict=None, error="ModelError: down")
        if row.contender == "radar" and row.query_id > "q002"
        else row
        for row in rows
    ]
    assert ranked(broken, record).best.contender == "vanilla"
    board, _ = scored(broken, record)
    ranking = ranked(broken, record)
    words = list(qualified(record, board, ranking))
    assert any(said.startswith("Not comparable: radar,") for said in words)
    assert any(said.startswith("7 of 20 answers failed") for said in words)
    assert headline(ranking) == "There is nothing to compare vanilla with."


def only(rows, kept: dict[str, set[str]]):
    """The rows of each contender under the conditions it took part in."""
    return [row for row in rows if row.condition in kept.get(row.contender, {row.condition})]


def test_contenders_that_share_no_attacked_answer_are_not_compared():
    record, rows, _ = make_experiment(
        questions=40, conditions=CONDITIONS[:3], contenders=(STATIC[0], STATIC[6])
    )
    rows = only(rows, {"radar": {"benign", "pia@1"}, "vanilla": {"benign", "pia@10"}})
    ranking = ranked(rows, record)
    assert all(0.4 < one.scored <= 0.5 for one in ranking.contenders)
    assert ranking.best is None
    assert headline(ranking) == "No contender can be recommended."


def test_a_contender_of_few_conditions_is_neither_beaten_nor_best():
    record, rows, _ = make_experiment(
        questions=40, conditions=CONDITIONS, contenders=(STATIC[0], STATIC[4], STATIC[6])
    )
    rows = only(rows, {"reliability_rag": {"benign", "pia@10"}})
    ranking = ranked(rows, record)
    board, _ = scored(rows, record)
    said = headline(ranking)
    assert said.startswith("Run radar")
    assert said.endswith("ahead of vanilla by more than chance.")
    words = qualified(record, board, ranking)
    assert any(said.startswith("Not comparable: reliability_rag,") for said in words)


def test_nothing_scored_is_said(tmp_path):
    record, rows, evidence = make_experiment(
        questions=2, conditions=CONDITIONS[:1], contenders=FEW[:1]
    )
    rows = [replace(row, verdict=None, error="ModelError: down") for row in rows]
    text = write(tmp_path, (record, rows, evidence))
    assert "No contender can be recommended." in text
    assert ParsedPage(text).stack == []
    assert write(tmp_path, (record, [], [])).count("No contender can be recommended.") == 1


def test_runs_without_attacks_speak_of_accuracy(tmp_path):
    text = write(tmp_path, make_experiment(questions=3, conditions=CONDITIONS[:1], contenders=FEW))
    assert "trade-off" not in re.search(r'class="verdict">(.*?)</p>', text, re.S).group(1)
    assert 'id="trade-off"' not in text


def test_tables_for_papers(experiment, tmp_path):
    record, *_ = experiment
    write(tmp_path, experiment)
    tables = (tmp_path / "tables.md").read_text("utf-8")
    for words in ("Accuracy / attack success", "Δ: percentage points against vanilla",
                  "Cost of an answer",
                  "### Data", "### Definitions", "revision 4be1c09d77aa",
                  *LICENCES):  # fmt: skip
        assert words in tables
    page = (tmp_path / "report.html").read_text("utf-8")
    assert all(licence in page for licence in LICENCES)
    assert record.command in tables
    for block in re.findall(r"(?:^\|.*\n)+", tables, re.M):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1
    assert "canary" not in tables


@given(st.text(alphabet="`~a \n", max_size=20))
def test_a_fence_is_not_ended_by_its_content(text):
    lines = fenced(text).splitlines()
    assert lines[0] == lines[-1]
    assert set(lines[0]) == {"`"}
    assert all(lines[0] not in line for line in lines[1:-1])


@given(st.lists(st.floats(0, 190), max_size=13))
def test_labels_keep_their_distance_and_order(wanted):
    placed = spread(wanted, 0.0, 200.0)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    heights = [placed[index] for index in order]
    assert all(b - a >= LABEL_GAP - 1e-6 for a, b in zip(heights, heights[1:], strict=False))
    assert all(-1e-6 <= y <= 200.0 + 1e-6 for y in heights)


def test_planted_pages_have_curves_and_a_table(tmp_path):
    growing = (Condition(), *(Condition("pia", tuple(range(1, n))) for n in (2, 3, 4)))
    page = write(tmp_path, make_experiment(conditions=growing, contenders=FEW))
    section = page[page.index('id="planted"') :]
    section = section[: section.index("</section>")]
    assert section.count('class="plot curves"') == 3
    assert re.findall(r"<bdi>(\d+)</bdi></th>", page)[:4] == ["0", "1", "2", "3"]
    alone = write(tmp_path, make_experiment(conditions=growing[:2], contenders=FEW))
    assert 'id="planted"' not in alone
