"""The experiment's report: every text inert, every number the scoreboard's, no claim too many."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.cli.report import report
from radarstream.pipelines.evaluation.attacks.protocol import Condition
from radarstream.pipelines.evaluation.defences.answers import study_frame
from radarstream.pipelines.evaluation.defences.ranking import rank
from radarstream.pipelines.evaluation.defences.records import (
    EVIDENCE,
    FILES,
    ROWS,
    Adaptation,
    Contender,
)
from radarstream.pipelines.evaluation.study.harness import REPORT
from radarstream.pipelines.evaluation.study.record import write_record
from radarstream.pipelines.evaluation.study.row_files import RowFile, RowStore
from radarstream.pipelines.pages.charts import LABEL_GAP, spread
from radarstream.pipelines.pages.defences import cases
from radarstream.pipelines.pages.defences.commands import cell_command
from radarstream.pipelines.pages.defences.headline import headline
from radarstream.pipelines.pages.defences.page import DEFENCES
from radarstream.pipelines.pages.defences.plots import groups_of, series_of
from radarstream.pipelines.pages.defences.sensitivity import sweeps
from radarstream.pipelines.pages.island import island, tree
from radarstream.pipelines.pages.outcomes import OUTCOMES
from radarstream.pipelines.pages.safe_text import HIDDEN, visible
from radarstream.pipelines.pages.studies import fenced
from radarstream.pipelines.pages.svg import element
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import Abstention, Verdict
from tests.pipelines.pages.defences_run import (
    CONDITIONS,
    IN_TIME,
    STATIC,
    SWEEP,
    hostile_experiment,
    make_experiment,
    make_record,
)
from tests.pipelines.pages.page_checks import Page, check_inert
from tests.pipelines.pages.report_run import LICENCES
from tests.study_rows import scored

FEW = (STATIC[0], STATIC[4], STATIC[6])


def write(out: Path, experiment) -> str:
    record, rows, evidence = experiment
    store = RowStore(out, FILES)
    with store.appending() as append:
        append([*rows, *evidence])
    DEFENCES.report(out, record, store)
    return (out / REPORT).read_text("utf-8")


def outcomes_in(rows, record):
    """What every answer turned out to be, by contender, condition, question and step."""
    columns = ("contender", "condition", "query_id", "step", "outcome")
    return {row[:4]: row[4] for row in study_frame(rows, record).select(columns).rows()}


def ranked(rows, record):
    board, frame = scored(rows, record)
    return rank(frame, record, board)


def islands(page: str) -> dict[str, object]:
    """The data of a page by the id of its element."""
    found = re.findall(r'<script type="application/json" id="([^"]+)">(.*?)</script>', page, re.S)
    return {name: json.loads(text) for name, text in found}


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


def test_hostile_text_is_shown_and_nothing_else(hostile):
    text, tables = hostile
    parsed = check_inert(text)
    assert '<img src=x onerror="window.pwned=1">' in parsed.text
    assert len(text) < 400_000  # the long texts are cut
    data = islands(text)
    links = [d[2] for name, held in data.items() if name[:9] == "question-" for d in held["docs"]]
    assert {link for link in links if link} <= {
        link for link in links if link and link.startswith(("http://", "https://"))
    }
    assert any(link is None for link in links)
    assert not HIDDEN.search(tables)
    assert not re.search(r"(?<!\\)<(script|img|b)\b", tables.split("```")[0])


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner), max_leaves=5))
def test_an_island_holds_what_was_put_in_and_no_markup(value):
    text = island(value)
    assert not set("<>&'") & set(text)
    assert json.loads(text) == value


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_drawing_as_lists_keeps_its_texts(words, title):
    drawing = element("g", element("title", title), element("text", words, x=1.5))
    shapes = {}
    _, _, (_, _, *said), (shape, values, *told) = tree(drawing, shapes)
    assert (list(shapes)[shape], values) == (("text", "x"), ["1.5"])
    assert ["".join(said), "".join(told)] == [
        visible(text).replace("\r\n", "\n").replace("\r", "\n") for text in (title, words)
    ]


def test_table_shows_the_scoreboard(page, experiment):
    record, rows, _ = experiment
    board, _ = scored(rows, record)
    table = re.search(r'<table class="board">(.*?)</table>', page, re.S).group(1)
    for number, contender in enumerate(record.contenders, start=1):
        for place, condition in enumerate(record.conditions, start=1):
            cell = board.cell(contender.name, condition.name)
            shown = re.findall(rf'#cell-{number}-{place}"><b>(\d+)<', table)
            estimates = (cell.accuracy, cell.attack_success)
            assert [int(value) for value in shown] == [
                float(f"{100 * e.value:.0f}") for e in estimates
            ]


def test_every_case_is_listed_with_its_outcome(page, experiment):
    record, rows, _ = experiment
    outcomes = outcomes_in(rows, record)
    index = islands(page)["case-index"]
    assert len(index["cases"]) == 6 * len(CONDITIONS)
    letters = {look.letter: name for name, look in OUTCOMES.items()}
    for question, place, condition, step, _, attacked, held, _ in index["cases"]:
        query_id = index["questions"][question][1]
        name = record.conditions[condition].name
        assert [letters[letter] for letter in held] == [
            outcomes[contender.name, name, query_id, step] for contender in record.contenders
        ]
        assert bool(attacked) == (condition > 0)
        details = islands(page)[f"question-{question}"]["cases"][place]
        assert (details["c"], details["s"], details["f"]) == (condition, step, held)
        assert len(details["v"]) == len(record.contenders)


def test_a_case_has_documents_answers_relations_and_verdicts(page, experiment):
    _, rows, evidence = experiment
    held = islands(page)["question-0"]
    case = next(c for c in held["cases"] if c["c"] == 1)
    seen = next(e for e in evidence if e.query_id == "q000" and e.condition == "pia@1")
    assert case["p"] == [1]
    assert [said for _, _, said, _ in case["docs"]] == list(seen.answers)
    first = held["docs"][case["docs"][0][0]]
    assert first[4] == " ".join(seen.documents[0].text.split())
    n = len(seen.entailment)
    assert len(case["e"]) == len(case["n"]) == 2 * n * n
    assert case["n"][2:4] == f"{round(100 * seen.contradiction[0][1]):02d}"
    radar = next(
        r for r in rows if (r.contender, r.condition, r.query_id) == ("radar", "pia@1", "q000")
    )
    words = islands(page)["case-index"]["words"]
    shown = case["v"][2]
    kept = {rank for state, _, ranks in shown["d"] for rank in ranks if state == 1}
    assert kept == set(radar.verdict.kept_ranks)
    assert sorted(rank for _, _, ranks in shown["d"] for rank in ranks) == list(range(1, 11))
    (why,) = (reason for _, reason, ranks in shown["d"] if 1 in ranks)
    assert words[why].startswith("contradicted by document")
    first = radar.verdict.documents[0]
    evidence = (first.keep_evidence, first.reject_evidence, first.margin)
    assert shown["s"][0] == [1, *(round(value, 3) for value in evidence)]
    assert islands(page)["case-index"]["shapes"][shown["g"][0]][0] == "svg"
    assert shown["n"] == round(radar.verdict.energy, 4)


def test_texts_are_written_once_per_question(page):
    held = islands(page)["question-1"]
    documents = [tuple(document) for document in held["docs"]]
    assert len(documents) == len(set(documents)) < sum(len(c["docs"]) for c in held["cases"]) / 3


def test_a_large_run_lists_the_telling_cases_and_says_so(experiment, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "MAX_CHARACTERS", 40_000)
    text = write(tmp_path, experiment)
    index = islands(text)["case-index"]
    assert 0 < len(index["cases"]) < 30
    assert f"{len(index['cases'])} of 30 cases are listed" in text
    assert len(text) < 400_000
    record, rows, _ = experiment
    outcomes = outcomes_in(rows, record)
    fooled = {
        (row.condition, row.query_id)
        for row in rows
        if row.labels.attack and outcomes[row.key] in ("fooled", "both")
    }
    listed = {
        (record.conditions[c].name, index["questions"][q][1]) for q, _, c, *_ in index["cases"]
    }
    assert listed <= fooled


def test_size_of_the_usual_run(tmp_path):
    text = write(tmp_path, make_experiment(questions=15))
    assert len(text.encode()) * 50 / 15 < 15_000_000
    assert len(islands(text)["case-index"]["cases"]) == 75


def test_histories_have_timelines_beliefs_and_storage(in_time):
    parsed = Page(in_time)
    assert parsed.stack == []
    for words in ("What the answers turned out to be", "Accuracy", "Stale answers",
                  "Belief in staying", "Stale answers and recovery",
                  "State per question in bytes"):  # fmt: skip
        assert words in parsed.text
    timeline = re.search(
        r"<svg[^>]*><title>What the answers turned.*?</svg>", in_time, re.S
    ).group()
    assert re.findall(r">(\d{4})<", timeline) == ["2018", "2019", "2020", "2021", "2022"]
    counts = re.findall(r"<title>2018: (\d+) of 4 ", timeline)
    assert sum(map(int, counts)) == 4 * len(IN_TIME)


def test_a_condition_without_answers_has_no_timeline(tmp_path):
    record, rows, evidence = make_experiment(
        questions=2, steps=3, conditions=CONDITIONS[:2], contenders=IN_TIME[:2]
    )
    benign = [row for row in rows if row.condition == "benign"]
    text = write(tmp_path, (record, benign, evidence))
    assert re.findall(r'<details class="condition-fold"[^>]*>.*?<bdi>(\S+)</bdi>', text) == [
        "benign"
    ]
    assert "Nothing was answered yet under pia@1" in Page(text).text


def test_a_static_run_has_no_timeline(page):
    assert "over-time" not in Page(page).values("id")
    assert "<title>What the answers turned" not in page


def test_sweeps_become_curves(tmp_path):
    text = write(
        tmp_path,
        make_experiment(
            questions=4, conditions=CONDITIONS[:2], contenders=(STATIC[0], STATIC[6], *SWEEP)
        ),
    )
    assert "radar: accuracy by pair_scale" in text
    assert "radar: attack success by pair_scale" in text


def test_sweeps_order_values_and_know_the_default():
    found = sweeps((STATIC[6], *SWEEP[::-1]))
    assert [(s.option, s.values) for s in found] == [("pair_scale", ("0.1", "0.3", "1", "3"))]
    noisy = Contender("radar[noise=0.3]", "radar", relations="noise=0.3")
    other = Contender("radar[cross_encoder:x]", "radar", relations="cross_encoder:x")
    found = sweeps((STATIC[6], noisy, other))
    assert [(s.option, s.values) for s in found] == [
        ("share of noisy relations", ("0", "0.3")),
        ("relation scorer", ("as is", "cross_encoder:x")),
    ]
    assert sweeps(STATIC) == []


def test_unique_ids_and_inside_links(page, in_time, hostile):
    for text in (page, in_time, hostile[0]):
        parsed = Page(text)
        ids = parsed.values("id")
        assert len(ids) == len(set(ids))
        inside = {href[1:] for href in parsed.values("href") if href.startswith("#")}
        assert {name for name in inside if not name.startswith("cell-")} <= set(ids)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Ann", "correct"), ("Ann or Bob", "both"), ("Bob", "fooled"), ("Old", "stale"),
     ("Zoe", "other"), (None, "abstained"), ("!", "error"), ("?", "unlabelled")],
)  # fmt: skip
def test_outcomes(text, expected):
    record, rows, _ = make_experiment(
        questions=1, steps=2, conditions=CONDITIONS[:1], contenders=FEW[:1]
    )
    then, now = Labels(answers=("Old",)), Labels(answers=("Ann",), target="Bob")
    if text == "?":
        now = Labels()
    gone = Abstention.MODEL_ABSTAINED if text is None else None
    error = "ModelError: down" if text == "!" else None
    verdict = None if error else Verdict(text or "I don't know", (), abstention=gone)
    history = [
        replace(rows[0], labels=then, verdict=Verdict("Old", ()), error=None),
        replace(rows[1], labels=now, verdict=verdict, error=error),
    ]
    found = outcomes_in(history, record)
    assert [found[r.contender, r.condition, r.query_id, r.step] for r in history] == [
        "correct",
        expected,
    ]


def words_of(rates: dict[str, tuple[int, int]], questions: int = 40, **calls: int) -> str:
    """The headline for contenders that are right in so many answers and fooled in so many.

    `calls` are what an answer of a contender costs, where that matters.
    """
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
            cost = replace(row.cost, calls=calls.get(name, 1))
            verdict = Verdict(text, ())
            made.append(replace(row, contender=name, verdict=verdict, error=None, cost=cost))
    board, _ = scored(made, record)
    found = headline(record, board, ranked(made, record))
    return " ".join((found.verdict, *found.sentences))


def test_headline_recommends_a_clear_winner_only():
    assert words_of({"good": (36, 2), "vanilla": (10, 28)}).startswith("Run good: it has the best")
    close = words_of({"one": (30, 4), "two": (29, 4), "vanilla": (10, 28)})
    assert close.startswith("one has the best trade-off")
    assert "its lead over two is not significant." in close
    assert "Run one" not in close
    level = words_of({"one": (30, 4), "two": (29, 4)})
    assert "its lead over the others is not significant" in level


def test_headline_weighs_attacks_that_succeed():
    assert words_of({"safe": (20, 0), "gullible": (20, 19)}).startswith("Run safe:")


def test_headline_is_modest_about_few_questions_and_lone_contenders():
    assert "a trial, not a measurement" in words_of({"a": (9, 0), "b": (1, 8)}, questions=10)
    assert "nothing to compare it with" in words_of({"a": (20, 3)})


@pytest.mark.parametrize("questions", [1, 2, 5])
def test_so_few_questions_tell_nobody_apart(questions):
    """Also where all of them agree, so that the answers show no spread."""
    words = words_of({"a": (questions, 0), "b": (0, questions)}, questions=questions)
    assert "by more than chance" not in words
    assert "its lead over the others is not significant" in words


def test_headline_praises_nobody_that_is_not_better_than_no_defence():
    calls = {"strong": 12, "cheap": 3, "weak": 2}
    rates = {"strong": (28, 0), "cheap": (28, 1), "weak": (28, 3), "bad": (10, 28)}
    said = words_of(rates | {"vanilla": (22, 12)}, **calls)
    assert "its lead over cheap and weak is not significant" in said
    assert "Of these, cheap costs least: 3.0 model calls an answer against 12.0." in said
    close = words_of(rates | {"vanilla": (28, 3)}, **calls)
    assert "lead over vanilla, cheap and weak, no defence (vanilla) among them, is not" in close
    assert "costs least" not in close
    del rates["bad"]
    level = words_of(rates | {"vanilla": (28, 3)}, **calls)
    assert "over the others, no defence (vanilla) among them, is not significant" in level


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
    words = headline(record, board, ranked(broken, record))
    assert any(said.startswith("Not comparable: radar,") for said in words.sentences)
    assert words.verdict == "No other contender can be compared with vanilla."
    noisy = replace(record, contenders=(STATIC[0], replace(STATIC[6], relations="noise=0.5")))
    assert ranked(rows, noisy).best.contender == "vanilla"


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
    words = headline(record, scored(rows, record)[0], ranking)
    assert words.verdict == "No contender can be recommended."


def test_a_contender_of_few_conditions_is_neither_beaten_nor_best(tmp_path):
    record, rows, evidence = make_experiment(
        questions=40, conditions=CONDITIONS, contenders=(STATIC[0], STATIC[4], STATIC[6])
    )
    rows = only(rows, {"reliability_rag": {"benign", "pia@10"}})
    ranking = ranked(rows, record)
    board, _ = scored(rows, record)
    words = headline(record, board, ranking)
    assert not ranking.of("reliability_rag").eligible
    assert words.verdict.startswith("Run radar")
    assert words.verdict.endswith("ahead of vanilla by more than chance.")
    assert any(said.startswith("Not comparable: reliability_rag,") for said in words.sentences)
    page = write(tmp_path, (record, rows, evidence))
    assert "answered too little of them: <bdi>reliability_rag</bdi>" in page


def test_a_cell_of_few_answers_says_so_and_is_best_of_nothing(tmp_path):
    record, rows, evidence = make_experiment(
        questions=10, conditions=CONDITIONS[:1], contenders=(STATIC[0], STATIC[1], STATIC[6])
    )
    rows = [
        replace(row, error=None, verdict=Verdict(said, ()))
        for row in rows
        if row.contender != "astute_rag" or row.query_id < "q003"
        for said in [
            row.labels.answers[0] if (row.contender, row.query_id) < ("radar", "q005") else "none"
        ]
    ]
    page = write(tmp_path, (record, rows, evidence))
    table = re.search(r'<table class="board">(.*?)</table>', page, re.S).group(1)
    few = next(line for line in table.split("<tr") if "astute" in line)
    assert "n=3<" in few
    assert "best-mark" not in few
    assert table.count("best-mark") == 1


def test_nothing_scored_is_said(tmp_path):
    record, rows, evidence = make_experiment(
        questions=2, conditions=CONDITIONS[:1], contenders=FEW[:1]
    )
    rows = [replace(row, verdict=None, error="ModelError: down") for row in rows]
    text = write(tmp_path, (record, rows, evidence))
    assert "No contender can be recommended." in text
    assert Page(text).stack == []
    assert write(tmp_path, (record, [], [])).count("No contender can be recommended.") == 1


def test_runs_without_attacks_speak_of_accuracy(tmp_path):
    text = write(tmp_path, make_experiment(questions=3, conditions=CONDITIONS[:1], contenders=FEW))
    assert "trade-off" not in re.search(r'class="verdict">(.*?)</p>', text, re.S).group(1)
    assert 'id="trade-off"' not in text


def test_last_row_of_an_answer_counts_and_strangers_do_not(tmp_path):
    record, rows, evidence = make_experiment(
        questions=2, steps=3, conditions=CONDITIONS[:2], contenders=IN_TIME[:2]
    )
    failed = replace(rows[0], verdict=None, error="ModelError: once")
    stranger = replace(rows[0], contender="stranger")
    assert write(tmp_path, (record, [failed, stranger, *rows], evidence)) == write(
        tmp_path, (record, rows, evidence)
    )


def test_the_report_command_renders_an_experiment_again(experiment, tmp_path, capsys):
    record, rows, evidence = experiment
    write_record(tmp_path, record)
    for name, lines in ((ROWS, rows), (EVIDENCE, evidence)):
        with RowFile(tmp_path / name) as file:
            file.append(lines)
    report(tmp_path)
    assert "report.html" in capsys.readouterr().out
    page = (tmp_path / "report.html").read_text("utf-8")
    assert len(islands(page)["case-index"]["cases"]) == 30
    assert (tmp_path / "tables.md").exists()


def test_tables_for_papers(experiment, tmp_path):
    record, *_ = experiment
    write(tmp_path, experiment)
    tables = (tmp_path / "tables.md").read_text("utf-8")
    for words in ("Accuracy / attack success", "Difference to vanilla", "Cost of an answer",
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


def test_secrets_are_not_in_the_page(page):
    assert "canary-3f9a" not in page
    assert "(redacted)" in page


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


def test_many_contenders_are_drawn_by_adaptation():
    contenders = [
        Contender(f"{name}+{a}" if a else name, name, adaptation=Adaptation(a or "none"))
        for name in ("vanilla", "astute_rag", "trust_rag", "robust_rag")
        for a in ("", "cumulative", "lightweight")
    ]
    record = make_record(3, 2, 4, CONDITIONS[:1], contenders)
    groups = groups_of(record, series_of(record))
    assert [group.title for group in groups] == ["alone", "cumulative", "lightweight"]
    assert [one.shown for one in groups[1].series] == [
        "vanilla", "vanilla", "astute_rag", "trust_rag", "robust_rag",
    ]  # fmt: skip
    colours = {one.colour for group in groups for one in group.series if "trust" in one.name}
    assert len(colours) == 1


@pytest.mark.parametrize(
    ("contender", "condition", "expected"),
    [
        (Contender("radar", "radar"), Condition("pia", (1,)),
         "radarstream evaluate --dataset 'a b.json' -k 10 --seed=3 --defenses radar "
         "--condition pia@1 --out build/cell"),
        (Contender("radar:pair_scale=0.3[noise=0.1]", "radar", (("pair_scale", 0.3),),
                   relations="noise=0.1"), Condition(),
         "radarstream evaluate --dataset 'a b.json' -k 10 --seed=3 "
         "--defenses radar:pair_scale=0.3 --nli-noise 0.1 --attacks '' --out build/cell"),
        (Contender("vanilla", "vanilla", adaptation=Adaptation.NONE),
         Condition("pia", (1,), "late-3"),
         "radarstream evaluate --dataset 'a b.json' -k 10 --seed=3 --defenses vanilla "
         "--adaptations none --condition pia@1:late-3 --out build/cell"),
    ],
)  # fmt: skip
def test_command_of_a_cell(contender, condition, expected):
    command = (
        "radarstream evaluate --dataset 'a b.json' --defenses all --attacks=pia,poison "
        "--positions 1,10 -k 10 --seed=3 --json --out x"
    )
    record = replace(make_record(1, 1, 1, (), FEW), command=command)
    assert cell_command(record, contender, condition) == expected


def test_a_cell_of_breaking_points_is_asked_for_by_its_condition():
    command = (
        "radarstream evaluate --breaking-point --dry-run --amounts 4,5 --placement top --out x"
    )
    record = replace(make_record(1, 1, 1, (), FEW), command=command)
    told = cell_command(record, FEW[0], Condition("pia", (1, 2, 3, 4), one_site=True))
    assert told == (
        f"radarstream evaluate --breaking-point --dry-run --defenses {FEW[0].name} "
        "--condition pia@1..4/one-site --out build/cell"
    )


def test_breaking_points_have_curves_a_table_and_sentences(tmp_path):
    growing = (Condition(), *(Condition("pia", tuple(range(1, n))) for n in (2, 3, 4)))
    page = write(tmp_path, make_experiment(conditions=growing, contenders=FEW))
    section = page[page.index('id="breaking-point"') :]
    section = section[: section.index("</section>")]
    assert section.count('class="plot curves"') == 2
    assert "attacker&#39;s answer in more than half of the cases" in section
    assert re.findall(r"<bdi>(\d+)</bdi></th>", section) == ["0", "1", "2", "3"]
    alone = write(tmp_path, make_experiment(conditions=growing[:2], contenders=FEW))
    assert 'id="breaking-point"' not in alone


@pytest.mark.parametrize(("many", "unfolded"), [(False, 2), (True, 1)])
def test_many_contenders_fold_all_conditions_but_the_first_attack(tmp_path, many, unfolded):
    contenders = (*IN_TIME, *STATIC[1:4], *SWEEP) if many else IN_TIME
    page = write(
        tmp_path,
        make_experiment(questions=1, steps=2, conditions=CONDITIONS[:2], contenders=contenders),
    )
    folds = re.findall(r'<details class="condition-fold"( open)?>.*?<bdi>(\S+)</bdi>', page)
    assert [name for _, name in folds] == ["benign", "pia@1"]
    assert [name for is_open, name in folds if is_open] == ["benign", "pia@1"][-unfolded:]
