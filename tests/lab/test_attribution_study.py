"""Studies of attributors: from attacks on a corpus to scores, interrupted and gone on with."""

from dataclasses import replace

import numpy as np
import pytest

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.defenses import registry
from radarstream.lab.attacks.corpus_kind import Questions
from radarstream.lab.attribution import scenarios as staging
from radarstream.lab.attribution.events import won
from radarstream.lab.attribution.records import AttributionRow, CaseState, EventRow, Role
from radarstream.lab.attribution.scenarios import parse_scenario
from radarstream.lab.attribution.scoring import acted
from radarstream.lab.attribution.tables import tables_of
from radarstream.lab.files.robust_rag import LONG_FORM
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import AtomicAnswer
from tests.lab.attribution_studies import (
    EVERYBODY,
    METHODS,
    NOBODY,
    TARGETS,
    Bench,
    cell,
    obedient,
    oracle,
    results,
    towns,
)
from tests.scripted_models import FixedRows


@pytest.fixture(autouse=True)
def made_up_methods(monkeypatch):
    for name, method in METHODS.items():
        monkeypatch.setitem(registry.ATTRIBUTORS, name, method)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path / "out")


def events_of(study, scenario):
    return {e.query_id: e for e in study.store.of(EventRow).values() if e.condition == scenario}


def rows_of(study):
    return study.store.of(AttributionRow)


def test_an_attack_that_misleads_is_an_event_with_its_texts_by_similarity(bench):
    study = bench.run("injection", NOBODY)
    for number, event in enumerate(events_of(study, "injection").values()):
        assert event.outcome is CaseState.EVENT and event.answer == TARGETS[number]
        assert event.clean_answer == event.labels.answers[0] and event.reproduced is True
        assert (event.retrieved, len(event.planted)) == (2, 5)
        assert [text.document.rank for text in event.texts] == list(range(1, 21))
        assert [t.similarity for t in event.texts] == sorted(
            (t.similarity for t in event.texts), reverse=True
        )
        assert {t.id for t in event.texts if t.role is Role.POISON} == set(event.planted)
        assert event.case().answer == TARGETS[number]


def test_removing_what_was_planted_ends_the_attack_and_removing_nothing_does_not(bench):
    study = bench.run("injection", f"{oracle('injection')},{NOBODY},{EVERYBODY}")
    best, idle, eager = (
        {name: rate.value for name, rate in cell(study, who, "injection").rates.items()}
        for who in (oracle("injection"), NOBODY, EVERYBODY)
    )
    assert (best["attacked_after"], best["correct_after"]) == (0.0, 1.0)
    assert best["dacc"] == best["exact"] == 1.0
    assert (idle["attacked_after"], idle["fnr"]) == (1.0, 1.0)
    assert (eager["fpr"], eager["fnr"], eager["intrinsic"]) == (1.0, 0.0, 0.0)
    assert cell(study, NOBODY, "all plain").rows == 3
    # What outlives the removal is nobody's doing.
    persists = {(r.contender, r.after.persists) for r in rows_of(study).values()}
    assert persists == {(oracle("injection"), False), (NOBODY, True), (EVERYBODY, False)}
    event, row = (
        events_of(study, "injection")["q-0"],
        rows_of(study)[oracle("injection"), "injection", "q-0", 0],
    )
    assert acted(event, row)
    lasting = replace(row, after=replace(row.after, persists=True))
    close = replace(row, attribution=replace(row.attribution, gap=0.9))
    unlikely = replace(row, attribution=replace(row.attribution, generation_gap=0.0))
    untold = replace(row, attribution=replace(row.attribution, generation_gap=None))
    assert not any(acted(event, other) for other in (lasting, close, unlikely, untold))
    assert not acted(replace(event, reproduced=False), row)


def test_a_text_is_embedded_once_however_often_the_corpus_is_searched(bench):
    bench.run("injection,hijack,clean", f"{EVERYBODY},{NOBODY}")
    assert len(bench.embedder.asked) == len(set(bench.embedder.asked)) > 18


def test_rag_origin_finds_injections_and_all_are_judged_on_its_scope(bench):
    study = bench.run("injection", f"rag_origin,{EVERYBODY}")
    rows = {(row.contender, row.query_id): row for row in rows_of(study).values()}
    for query_id in ("q-0", "q-1", "q-2"):
        own, given = rows["rag_origin", query_id], rows[EVERYBODY, query_id]
        assert own.scope == given.scope == len(given.attribution.texts) > 2
        assert own.cost.calls > 0 and own.cost.forwards == 2 * own.scope
    rates = cell(study, "rag_origin", "injection").rates
    assert rates["attacked_after"].value == rates["fnr"].value == 0.0


def test_questions_without_an_event_say_why(bench):
    data = towns()
    (first,) = data.histories[0]
    bare = replace(first, labels=replace(first.labels, target=None))
    data = replace(data, histories=((bare,), *data.histories[1:]))
    found = events_of(bench.run("poisonedrag", NOBODY, dataset=data), "poisonedrag")
    assert found["q-0"].outcome is CaseState.UNATTACKABLE and "no target" in found["q-0"].detail


def test_what_the_clean_corpus_answers_is_not_the_attackers_doing(bench):
    data = towns(wrong=[0])
    (first,) = data.histories[0]
    own = replace(first, labels=replace(first.labels, target="Ada North"))
    data = replace(data, histories=((own,), *data.histories[1:]))
    study = bench.run("injection", NOBODY, dataset=data)
    assert events_of(study, "injection")["q-0"].outcome is CaseState.OWN_ERROR
    (summary,) = results(study).scenarios
    assert summary.events == 2 and summary.attacked.value == 1.0


def test_refusals_count_as_what_jamming_wants(bench):
    found = events_of(bench.run("jamming", oracle("jamming")), "jamming")
    assert {event.outcome for event in found.values()} == {CaseState.EVENT}
    assert "false or misleading" in found["q-0"].reported


def test_reports_of_answers_that_nobody_attacked(bench):
    data = towns(wrong=[1])
    study = bench.run("clean", "marked:first=6", dataset=data)
    found = {s.scenario: s.events for s in results(study).scenarios}
    assert found == {"benign-errors": 1, "false-reports": 2, "invented-reports": 3}
    assert all(e.reproduced for e in events_of(study, "false-reports").values() if e.texts)
    assert not any(e.reproduced for e in events_of(study, "invented-reports").values())
    rates = {c.condition: c.rates for c in results(study).cells}
    after = {r.query_id: r.after for r in rows_of(study).values() if r.condition == "false-reports"}
    assert {query: one.persists for query, one in after.items()} == {"q-0": False, "q-2": True}
    assert rates["false-reports"]["acted"].value == 0.5  # the other outlives the removal
    assert rates["invented-reports"]["acted"].value == 0.0


def test_noisy_reports_are_compared_with_the_answer(bench):
    found = events_of(bench.run("injection/noisy", NOBODY), "injection/noisy")
    assert all(
        e.reported != e.answer and e.answer.lower() in e.reported.lower() for e in found.values()
    )
    assert {e.reproduced for e in found.values()} <= {True, False}


def test_a_crowd_attacks_every_question_and_others_texts_do_not_count(bench):
    study = bench.run("injection/crowd", EVERYBODY)
    event = events_of(study, "injection/crowd")["q-0"]
    roles = [text.role for text in event.texts]
    assert roles.count(Role.POISON) == 5 and roles.count(Role.BYSTANDER) > 0
    assert cell(study, EVERYBODY, "injection/crowd").rates["fnr"].value == 0.0


def test_rivals_are_bystanders_and_the_clean_corpus_stays_as_it_was():
    questions = Questions.of(towns())
    before = questions.corpus
    for item in staging.staged(parse_scenario("injection-removal"), questions, 2):
        assert item.clean == before and len(item.corpus.entries) < len(before.entries) + 5
    first = next(iter(staging.staged(parse_scenario("injection-rivals"), questions, 2)))
    assert len(first.poison) == 3 and len(first.bystanders) == 2


def test_models_that_fail_are_asked_again(bench):
    bench.generator = ScriptedGenerator(script=obedient, fail_on_text="Belbrook")
    failing = bench.run("injection", "marked:asks=true,start=none")
    assert events_of(failing, "injection")["q-0"].outcome is CaseState.FAILED
    assert cell(failing, "marked:asks=true,start=none", "injection").rows == 2
    bench.generator = ScriptedGenerator(script=obedient)
    study = bench.run("injection", "marked:asks=true,start=none")
    assert events_of(study, "injection")["q-0"].outcome is CaseState.EVENT
    assert cell(study, "marked:asks=true,start=none", "injection").rows == 3


def test_an_attribution_that_fails_is_a_row_with_an_error_and_tried_again(bench):
    bench.run("injection", NOBODY, limit=1)
    bench.generator = ScriptedGenerator(
        script=lambda prompt: obedient(prompt), fail_on_calls=frozenset({1})
    )
    study = bench.study("injection", "marked:asks=true", limit=1)
    study.kind.scope_rule = one_text
    study.run()
    (row,) = (r for r in rows_of(study).values() if r.contender == "marked:asks=true")
    assert row.error and "scripted failure" in row.error and row.attribution is None
    failed = cell(study, "marked:asks=true", "injection")
    assert (failed.rows, failed.errors) == (0, 1)
    again = bench.run("injection", "marked:asks=true", limit=1)
    (row,) = (r for r in rows_of(again).values() if r.contender == "marked:asks=true")
    assert row.error is None


def one_text(_):
    return 1
    yield


def test_thresholds_come_from_benign_texts_and_are_kept(bench):
    study = bench.run("injection", "norm,perplexity")
    longest = max(len(e.document.passage) for e in study.kind.questions.corpus.entries)
    assert study.record.thresholds["norm"] == longest
    before = len(bench.embedder.asked)
    again = bench.run("injection", "norm,perplexity")
    assert again.record.thresholds == study.record.thresholds
    assert len(bench.embedder.asked) == before


def test_attributors_that_the_models_cannot_serve_are_left_out(bench, monkeypatch):
    poor = replace(bench.models, tokens=None)
    monkeypatch.setattr(Bench, "models", poor)
    study = bench.study("injection", "rag_origin,marked")
    assert study.record.names == ("marked",) and "rag_origin" in study.record.notes[0]
    with pytest.raises(ConfigurationError, match="token probabilities"):
        bench.study("injection", "rag_origin,marked", insisted="rag_origin,marked")


def test_tables_say_what_was_measured(bench):
    study = bench.run("injection,clean", f"{oracle('injection')},{NOBODY}")
    tables = {table.key: table for table in tables_of(results(study))}
    assert {"scenarios", "micro", "removal", "corpus", "clean", "cost"} == set(tables)
    whole, alone = tables["micro"].rows
    assert (whole.heading, alone.heading) == ("all plain", "injection")
    assert str(alone.cells[0]).startswith("100.0 / 0.0 / 0.0 (3) [")
    assert list(map(str, tables["removal"].rows[1].cells)) == [
        "0 / 100 [0-71] of 100", "100 / 0 [29-100] of 100"
    ]  # fmt: skip


def test_an_answer_that_means_the_target_is_the_attackers(bench):
    agreeing = replace(bench.models, relations=FixedRows(np.array([[0.9, 0.05, 0.05]] * 2)))
    differing = replace(bench.models, relations=FixedRows(np.array([[0.4, 0.3, 0.3]] * 2)))
    target, jammed = "Former Governor Jeb Bush", "I can not provide false or misleading information"
    answer = AtomicAnswer("Jeb Bush, who was a governor")
    silent = AtomicAnswer("I don't know", abstained=True)
    for models, wanted, said, is_won in (
        (agreeing, target, answer, True),
        (differing, target, answer, False),
        (agreeing, target, silent, False),
        (differing, jammed, silent, True),
        (agreeing, jammed, answer, False),
    ):
        assert drive([won("Who?", wanted, said)], models) == [is_won]


def test_the_family_several_is_not_its_scenario_of_that_name(bench):
    study = bench.run("several,injection-rivals", NOBODY)
    alone, whole = (cell(study, NOBODY, name) for name in ("several", "all several"))
    assert 0 < alone.rows < whole.rows


def test_a_limit_shrinks_the_corpus_with_the_questions(bench):
    study = bench.run("injection,injection/crowd", NOBODY, limit=1)
    assert (
        study.record.facts["texts of the corpus"] == len(study.kind.questions.corpus.entries) == 6
    )
    embedded = set(bench.embedder.asked)
    assert not any(town in text for text in embedded for town in ("Corvane", "Tethra"))
    assert {len(e.texts) for e in study.store.of(EventRow).values()} == {11}
    assert (
        Bench(bench.out.with_name("whole"))
        .study("injection", NOBODY)
        .kind.facts["texts of the corpus"]
        == 18
    )


def test_questions_that_all_ask_for_long_answers_are_refused(bench):
    histories = tuple(
        (replace(town, query=replace(town.query, tags=(LONG_FORM,))),)
        for (town,) in towns().histories
    )
    with pytest.raises(ConfigurationError, match="every question asks for a long answer"):
        bench.study("injection", NOBODY, dataset=replace(towns(), histories=histories))


def test_questions_without_documents_are_asked_of_as_many_that_have_some(bench):
    with_documents = towns().histories
    bare = replace(with_documents[2][0], documents=())
    dataset = replace(towns(), histories=((bare,), *with_documents[:2]))
    questions = Questions.of(dataset, 1)
    assert questions.asked == (bare,)
    assert {e.document.text[:8] for e in questions.corpus.entries} == {"Belbrook"}
    assert Questions.of(dataset, 2).corpus == Questions.of(dataset).corpus


def test_attributors_without_benign_texts_for_their_thresholds_are_left_out(bench):
    bare = tuple((replace(h[0], documents=()),) for h in towns().histories)
    asked = "marked,norm,perplexity,norm:threshold=3"
    options = {"dataset": replace(towns(), histories=bare), "insisted": "all,norm:threshold=3"}
    study = bench.study("injection", asked, **options)
    assert study.record.names == ("marked", "norm:threshold=3")
    assert [note.split()[0] for note in study.record.notes] == ["the", "norm", "perplexity"]
    with pytest.raises(ConfigurationError, match="norm takes its threshold from benign texts"):
        bench.study("injection", asked, **options | {"insisted": "norm"})
    notes = Bench(bench.out.with_name("whole")).study("injection", asked).record.notes
    assert notes == ("thresholds of norm, perplexity come from 18 benign texts, not from 1,000",)
