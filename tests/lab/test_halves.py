"""Halves of data sets by the question, and questions that the relation scorer was fitted on."""

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.lab.defences.records import Row
from radarstream.lab.defences.tables import rate_notes
from radarstream.lab.study.halves import (
    Half,
    Split,
    in_half,
    question_digest,
)
from radarstream.pipelines.cli.app import app
from tests.lab.defence_studies import Bench, make_dataset, make_history, static_dataset


@pytest.mark.parametrize(
    "question", ["Who is the mayor of Exampleton?", "What is the capital of Peru?", "Ärger?", ""]
)
def test_the_last_bit_of_the_digest_decides(question):
    last = sha256(question.casefold().encode()).digest()[-1] & 1
    assert Half.TEST.holds(question) == bool(last)


@given(st.text(), st.sampled_from([" ", "\n", "\t ", "\u3000"]))
def test_case_and_spacing_change_nothing(text, space):
    plain = " ".join(text.split())
    respaced = space + plain.replace(" ", space) + space
    assert question_digest(respaced) == question_digest(text)
    assert question_digest(plain.casefold()) == question_digest(plain)


@given(st.text())
def test_every_question_is_in_exactly_one_half(text):
    assert Half.ALL.holds(text)
    assert Half.TEST.holds(text) is not Half.DEVELOPMENT.holds(text)


def test_halves_of_many_questions_are_about_as_large():
    asked = [f"What is the number of place {number}?" for number in range(400)]
    assert 160 < sum(map(Half.TEST.holds, asked)) < 240


def test_a_fifth_of_the_questions_is_for_tuning_in_both_halves():
    questions = [f"Who won cup {number}?" for number in range(2_000)]
    tuning = [q for q in questions if Split.TUNING.holds(q)]
    assert 0.17 < len(tuning) / len(questions) < 0.23
    assert [q for q in questions if not Split.TEST.holds(q)] == tuning
    assert all(Split.ALL.holds(q) for q in questions)
    in_test_half = sum(map(Half.TEST.holds, tuning))
    assert 0.4 < in_test_half / len(tuning) < 0.6


def test_the_split_of_a_question_never_changes():
    asked = ("Who won cup 0?", " who  WON cup 0? ", "Who won cup 1?", "Who is the mayor?")
    assert list(map(Split.TUNING.holds, asked)) == [True, True, False, False]
    assert int(sha256(b"who won cup 0?").hexdigest(), 16) % 5 == 0


def test_the_histories_of_a_half_keep_their_order():
    histories = tuple(make_history(number, ["Rome"]) for number in range(20))
    halves = [in_half(histories, half) for half in (Half.DEVELOPMENT, Half.TEST)]
    assert sorted(map(len, halves))[0] > 0
    assert {*halves[0], *halves[1]} == {*histories}
    assert in_half(histories, Half.ALL) == histories
    assert [h for h in histories if h in halves[1]] == [*halves[1]]


@pytest.mark.parametrize("surface", ["list", "corpus"])
def test_a_study_asks_one_half_and_keeps_the_answers_of_the_other(tmp_path, surface):
    data, bench = static_dataset(12), Bench(tmp_path)
    condition = "pia@1" if surface == "list" else "pia@m2"
    asked = {h[0].query.id for h in in_half(data.histories, Half.TEST)}
    whole = bench.run(data, "radar", [condition])
    half = bench.run(data, "radar", [condition], half=Half.TEST)
    assert half.record.half is Half.TEST
    assert {row.query_id for row in half.answered} == {*half.record.asked} == asked
    assert half.uncounted == 12 - len(asked) > 0
    board = half.results()
    assert f"Asked: test half, {len(asked)} questions." in rate_notes(board)
    before = {row.key: row.verdict for row in whole.store.of(Row).values()}
    assert all(before[row.key] == row.verdict for row in half.answered)


def test_attribution_asks_one_half_of_the_questions_of_the_whole_corpus():
    snapshots = [make_history(number, ["Rome"]) for number in range(12)]
    whole, half = (Questions.of(make_dataset(*snapshots), None, h) for h in (Half.ALL, Half.TEST))
    assert {s.query.text for s in half.asked} == {
        s.query.text for s in whole.asked if Half.TEST.holds(s.query.text)
    }
    assert half.everybody == whole.everybody
    assert len(half.corpus.entries) == len(whole.corpus.entries)


def test_rows_say_how_sure_an_answer_is(tmp_path):
    study = Bench(tmp_path).run(static_dataset(3), "radar,vanilla", ["benign", "pia@1"])
    by_key = {(row.contender, row.condition): row for row in study.answered}
    assert by_key["vanilla", "benign"].confidence is not None  # pages that name its answer
    benign, attacked = (by_key["radar", name].confidence for name in ("benign", "pia@1"))
    assert 0.0 < attacked < benign <= 1.0


def test_a_half_without_a_question_is_refused(tmp_path):
    question = "What is the capital of Peru?"
    path = tmp_path / "questions.json"
    documents = [{"title": "Peru", "text": "Lima.", "link": "https://a.example/"}]
    entry = {"question": question, "context": documents, "correct answer": ["Lima"]}
    path.write_text(json.dumps([entry | {"incorrect answer": "Cusco", "incorrect_context": []}]))
    assert Half.TEST.holds(question)
    typed = ["evaluate", "--dataset", str(path), "--dry-run", "--half", "development"]
    found = CliRunner().invoke(app, [*typed, "--out", str(tmp_path / "out")])
    assert found.exit_code != 0
    assert "no question in the development half" in str(found.exception)
    assert not (tmp_path / "out").exists()
