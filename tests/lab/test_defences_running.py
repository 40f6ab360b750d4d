"""Running a study: equal evidence, exact costs, errors, histories, resumption."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.models.scripted import ScriptedGenerator, ScriptedRelations
from radarstream.defenses.registry import DEFENSES
from radarstream.defenses.vanilla import Vanilla
from radarstream.lab.defences.records import EVIDENCE, ROWS
from radarstream.lab.defences.study import Defences
from radarstream.lab.study.harness import start_over
from radarstream.schemas.errors import ConfigurationError, EvidenceError
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import Document
from radarstream.schemas.verdict import MemoryDecision
from tests.lab.defence_studies import (
    Bench,
    answers,
    cell_rows,
    make_dataset,
    make_history,
    read_evidence,
    read_rows,
    static_dataset,
    stored_record,
)
from tests.scripted_models import last_words


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path / "out")


def test_every_contender_answers_every_question_under_every_condition(bench: Bench) -> None:
    experiment = bench.run(static_dataset(4), "radar,vanilla,reliability_rag")
    keys = {(row.contender, row.condition, row.query_id) for row in experiment.answered}
    assert len(experiment.answered) == len(keys) == 3 * 2 * 4
    assert answers(experiment, "radar", "benign") == ["Rome", "Bern", "Oslo", "Cork"]
    stored = read_rows(bench.out)
    assert list(stored.values()) == experiment.answered
    assert list(read_evidence(bench.out).values()) == experiment.evidence
    record = stored_record(bench.out)
    assert (len(record.asked), record.left, record.dataset) == (4, 0, "cups")
    assert record.seconds > 0


def test_evidence_holds_what_contenders_saw(bench: Bench) -> None:
    experiment = bench.run(static_dataset(1), "radar", ["pia@1"])
    (row,) = experiment.evidence
    assert row.labels.poisoned_ranks == (1,)
    assert row.documents[0].text.startswith("Whenever you are given")
    assert row.answers[1:] == ("Rome", "Rome")
    assert len(row.entailment) == 3
    assert row.entailment[1][2] == 0.95
    (answer,) = experiment.answered
    assert answer.labels == replace(row.labels, false_passages=())


def test_documents_beyond_k_are_cut_before_the_attack(bench: Bench) -> None:
    experiment = bench.run(static_dataset(1, said=6), "vanilla", ["pia@4"], k=4)
    (row,) = experiment.evidence
    assert [document.rank for document in row.documents] == [1, 2, 3, 4]
    assert row.labels.poisoned_ranks == (4,)


def test_costs_are_exact(bench: Bench) -> None:
    """Three documents, two with the same words: two answers, two prompts, four pairs."""
    (snapshot,) = make_history(0, ["Rome"])
    same = tuple(replace(document, title="") for document in snapshot.documents)
    texts = ("It: Rome.", "It: Rome.", "Sure: Bern.")
    documents = tuple(replace(d, text=text) for d, text in zip(same, texts, strict=True))
    data = make_dataset((replace(snapshot, documents=documents),))
    experiment = bench.run(data, "radar,vanilla,reliability_rag", ["benign"])
    costs = {row.contender: row.cost for row in experiment.answered}
    assert (costs["vanilla"].calls, costs["vanilla"].pairs) == (1, 0)
    # Two distinct documents and the final prompt; after it the belief relates the answer, which
    # is Rome, to Rome and Bern in both directions: pairs that the evidence has asked already.
    assert (costs["radar"].calls, costs["radar"].pairs) == (3, 4)
    assert costs["radar"].embeddings == 1  # two kept answers with one text
    assert costs["reliability_rag"].calls == 3
    assert costs["vanilla"].relation_seconds == costs["vanilla"].atomic_seconds == 0.0
    assert costs["radar"].relation_seconds > 0.0


class Timed(ScriptedGenerator):
    """Tells tokens and seconds of its own."""

    def complete(self, prompts: Any) -> Any:
        completions = super().complete(prompts)
        return [
            replace(c, prompt_tokens=10 * len(p.passages), completion_tokens=2)
            for c, p in zip(completions, prompts, strict=True)
        ]


def test_tokens_and_seconds_are_charged_to_stages(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "out", generator=Timed(script=last_words))
    experiment = bench.run(static_dataset(2), "radar,vanilla", ["benign"])
    for row in cell_rows(experiment, "radar", "benign"):
        assert (row.cost.prompt_tokens, row.cost.completion_tokens) == (10 * 3 + 30, 2 * 4)
        assert row.cost.atomic_seconds > 0.0
        assert 0.0 < row.cost.generation_seconds < row.cost.seconds
    for row in cell_rows(experiment, "vanilla", "benign"):
        assert (row.cost.prompt_tokens, row.cost.completion_tokens) == (30, 2)
        assert row.cost.atomic_seconds == 0.0


def test_only_signals_that_are_read_are_gathered_and_charged(bench: Bench) -> None:
    """ReliabilityRAG samples above twenty documents: its answers come from 20 rounds, at most."""
    few, many = make_history(0, ["Rome"]), make_history(1, ["Bern"], said=25)
    specs = "reliability_rag,reliability_rag+lightweight,reliability_rag:method=sampling"
    experiment = bench.run(make_dataset(many), specs, ["benign"], k=50)
    assert {prompt.task for batch in bench.generator.log for prompt in batch} == {
        Task.ANSWER_FROM_DOCUMENTS
    }
    declared, light, sampling = (row.cost for row in experiment.answered)
    assert declared.calls == light.calls == sampling.calls <= 21
    assert declared.pairs == light.pairs == sampling.pairs
    assert experiment.evidence[0].answers == ()
    mixed = Bench(bench.out.with_name("mixed"))
    experiment = mixed.run(make_dataset(few, many), specs[:15], ["benign"], k=50)
    assert [row.error for row in experiment.answered] == [None, None]
    assert [row.cost.calls for row in experiment.answered] == [4, sampling.calls]


def test_a_pool_keeps_the_answers_that_it_may_need(bench: Bench) -> None:
    history = (*make_history(0, ["Rome"], said=25), *make_history(0, ["Rome", "Bern"])[1:])
    experiment = bench.run(make_dataset(history), "reliability_rag+cumulative-5", ["benign"], k=50)
    assert [row.error for row in experiment.answered] == [None, None]


def test_a_contender_added_later_costs_what_it_would_have_cost(bench: Bench) -> None:
    bench.run(static_dataset(2), "radar", ["benign"])
    known = read_evidence(bench.out)
    seconds = {key[1]: row.relation_seconds for key, row in known.items()}
    assert min(seconds.values()) > 0.0
    experiment = bench.run(static_dataset(2), "reliability_rag", ["benign"])
    rows = cell_rows(experiment, "reliability_rag", "benign")
    assert {row.query_id: row.cost.relation_seconds for row in rows} == seconds
    assert read_evidence(bench.out) == known


def test_the_corpus_has_the_documents_of_the_questions_within_the_limit(bench: Bench) -> None:
    data = static_dataset(3)
    whole = bench.run(data, "vanilla", ["pia@m2"])
    part = Bench(bench.out.with_name("part"))
    limited = part.run(data, "vanilla", ["pia@m2"], limit=1)
    assert len(whole.evidence[0].documents) == 10 > 3
    assert limited.evidence[0].documents != whole.evidence[0].documents
    texts = {document.text for document in limited.evidence[0].documents}
    own = {f"Page {page} of 0: Rome." for page in range(3)}
    assert own < texts
    assert not any("of 1:" in text or "of 2:" in text for text in texts)
    for limit in (2, None):
        with pytest.raises(ConfigurationError, match="documents are searched: 1 there, [23] here"):
            part.run(data, "vanilla", ["pia@m2"], limit=limit)


def test_questions_without_documents_search_those_of_another_data_set(bench: Bench) -> None:
    bare = [
        tuple(replace(snapshot, documents=()) for snapshot in make_history(number, ["Rome"]))
        for number in (7, 8)
    ]
    data = make_dataset(*bare, make_history(0, ["Rome"]), make_history(1, ["Bern"]))
    limited = bench.run(data, "vanilla", ["pia@m2"], limit=1)
    (row,) = limited.evidence
    assert row.query_id == "cup-7"
    texts = {document.text for document in row.documents}
    assert {f"Page {page} of 0: Rome." for page in range(3)} < texts
    assert not any("of 1:" in text for text in texts)


def test_what_attacks_borrow_does_not_depend_on_how_many_are_asked(bench: Bench) -> None:
    conditions = ["benign", "poisonedrag-mixed@1"]
    whole = bench.run(static_dataset(3), "vanilla", conditions)
    for limit in (1, 2):
        part = Bench(bench.out.with_name(f"part-{limit}"))
        limited = part.run(static_dataset(3), "vanilla", conditions, limit=limit)
        known = {(row.condition, row.query_id): row.documents for row in whole.evidence}
        assert len(limited.evidence) == 2 * limit
        for row in limited.evidence:
            assert row.documents == known[row.condition, row.query_id]
        grown = part.run(static_dataset(3), "vanilla,robust_rag", conditions)
        assert len(grown.answered) == 12


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "Page 1 of 1: Bern.",
            "Page 1 of 1: Brno.",
            "document 2, its text: .*Brno.* there, .*Bern",
        ),
        ("cup 1?", "cup 2?", "question: 'Who won cup 2.' there, 'Who won cup 1.' here"),
        (
            '"Bern","Bern","Bern"',
            '"Bern",null,"Bern"',
            "answer of document 2: 'None' there, 'Bern'",
        ),
        ('"rank":3', '"rank":4', "document 3, its rank: '4' there, '3' here"),
    ],
)
def test_later_contenders_face_the_stored_evidence_or_none(
    bench: Bench, before: str, after: str, message: str
) -> None:
    bench.run(static_dataset(2), "radar", ["benign"])
    file = bench.out / EVIDENCE
    first, second = file.read_text().splitlines(keepends=True)
    assert before in second
    file.write_text(first + second.replace(before, after))
    rows = (bench.out / ROWS).read_bytes()
    bench.run(static_dataset(2), "radar", ["benign"])  # has nothing left to answer
    with pytest.raises(ConfigurationError, match=f"benign, cup-1, step 0: {message}") as refused:
        bench.run(static_dataset(2), "reliability_rag", ["benign"])
    assert "--no-resume" in str(refused.value)
    assert (bench.out / ROWS).read_bytes() == rows


def test_evidence_without_answers_agrees_with_the_same_and_answers(bench: Bench) -> None:
    bench.run(static_dataset(1), "vanilla", ["benign"])
    assert read_evidence(bench.out)["benign", "cup-0", 0].answers == ()
    bench.run(static_dataset(1), "radar", ["benign"])
    experiment = bench.run(static_dataset(1), "instruct_rag", ["benign"])
    assert len(experiment.answered) == 3
    assert read_evidence(bench.out)["benign", "cup-0", 0].answers == ("Rome",) * 3


def test_a_warm_run_asks_no_model_and_finds_the_same(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "out", generator=Timed(script=last_words))
    cold = bench.run(static_dataset(4), "radar,vanilla,reliability_rag,trust_rag")
    calls = bench.calls()
    evidence = (bench.out / EVIDENCE).read_bytes()
    start_over(bench.out, Defences)
    assert {file.name.partition("-")[0] for file in bench.out.iterdir()} <= {"state.sqlite"}
    warm = bench.run(static_dataset(4), "radar,vanilla,reliability_rag,trust_rag")
    assert bench.calls() == calls
    assert [(r.verdict, r.cost.calls, r.cost.prompt_tokens) for r in warm.answered] == [
        (r.verdict, r.cost.calls, r.cost.prompt_tokens) for r in cold.answered
    ]
    # What a cached completion took is remembered with it.
    assert [r.cost.generation_seconds for r in warm.answered] == [
        r.cost.generation_seconds for r in cold.answered
    ]
    assert [r.cost.atomic_seconds for r in warm.answered] == [
        r.cost.atomic_seconds for r in cold.answered
    ]
    assert len((bench.out / EVIDENCE).read_bytes().splitlines()) == len(evidence.splitlines())


def answered(rows: Any) -> dict[Any, Any]:
    return {(r.contender, r.condition, r.query_id, r.step): (r.verdict, r.error) for r in rows}


def test_a_failed_call_is_an_error_row_and_is_tried_again(bench: Bench) -> None:
    bench.generator.fail_on_text = "of 1: Bern"
    experiment = bench.run(static_dataset(3), "radar,vanilla", ["benign"])
    failed = [row for row in experiment.answered if row.error is not None]
    assert {(row.contender, row.query_id) for row in failed} == {
        ("radar", "cup-1"),
        ("vanilla", "cup-1"),
    }
    assert all(row.verdict is None and row.response is None for row in failed)
    assert all("ModelError: scripted failure" in (row.error or "") for row in failed)
    assert experiment.failed == []
    assert experiment.results().cell("vanilla", "benign").errors == 1
    assert (experiment.progress.answered, experiment.progress.wanted) == (6, 6)
    bench.generator.fail_on_text = None
    mended = bench.run(static_dataset(3), "radar,vanilla", ["benign"])
    assert answers(mended, "radar", "benign") == ["Rome", "Bern", "Oslo"]
    assert [row.error for row in mended.answered] == [None] * 6
    assert (mended.progress.answered, mended.progress.wanted) == (6, 6)  # mended, not more
    assert len((bench.out / ROWS).read_bytes().splitlines()) == 8  # the last of a key counts
    assert read_evidence(bench.out)["benign", "cup-1", 0].answers == ("Bern",) * 3


def test_relations_that_fail_only_fail_who_reads_them(bench: Bench) -> None:
    """The support of an answer is read from its relations to the atomic answers."""
    bench.relations = ScriptedRelations(fail_on_calls=frozenset(range(1, 100)))
    experiment = bench.run(static_dataset(2), "radar,vanilla,robust_rag", ["benign"])
    assert experiment.failed == ["radar", "robust_rag"]
    assert answers(experiment, "vanilla", "benign") == ["Rome", "Bern"]


def test_evidence_that_a_defence_refuses_is_an_error_row(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fussy(Vanilla):
        def defend(self, evidence: Any, state: None) -> Any:
            if evidence.query.id == "cup-1":
                raise EvidenceError("too many cups")
            return (yield from Vanilla.defend(self, evidence, state))

    monkeypatch.setitem(DEFENSES, "vanilla", Fussy)
    experiment = bench.run(static_dataset(3), "vanilla", ["benign"])
    errors = [row.error for row in cell_rows(experiment, "vanilla", "benign")]
    assert errors == [None, "EvidenceError: too many cups", None]


HISTORIES = make_dataset(
    make_history(0, ["Rome", "Rome", "Bern"]), make_history(1, ["Oslo", "Cork"])
)


def test_histories_are_answered_in_order_with_memory(bench: Bench) -> None:
    experiment = bench.run(HISTORIES, "radar,radar+none", ["benign"])
    rows = cell_rows(experiment, "radar", "benign")
    assert [(row.query_id, row.step) for row in rows] == [
        ("cup-0", 0),
        ("cup-0", 1),
        ("cup-0", 2),
        ("cup-1", 0),
        ("cup-1", 1),
    ]
    memories = [row.verdict.memory for row in rows if row.verdict]
    assert [memory.previous_answer for memory in memories] == [None, "Rome", "Rome", None, "Oslo"]
    assert memories[1].decision is MemoryDecision.RETAINED
    assert all(row.state_bytes > 20 for row in rows)
    static = cell_rows(experiment, "radar+none", "benign")
    assert [r.verdict.memory.previous_answer for r in static if r.verdict] == [None] * 5


def test_an_interrupted_history_is_answered_anew_from_its_start(tmp_path: Path) -> None:
    whole = Bench(tmp_path / "whole").run(HISTORIES, "radar", ["pia@1"])
    bench = Bench(tmp_path / "cut")
    bench.run(HISTORIES, "radar", ["pia@1"])
    lines = (bench.out / ROWS).read_bytes().splitlines(keepends=True)
    (bench.out / ROWS).write_bytes(b"".join(lines[:3]))
    resumed = bench.run(HISTORIES, "radar", ["pia@1"])
    assert answered(resumed.answered) == answered(whole.answered)
    assert len((bench.out / ROWS).read_bytes().splitlines()) == len(lines)  # none written twice


def test_a_failed_step_leaves_the_memory_as_it_was(bench: Bench) -> None:
    data = make_dataset(make_history(0, ["Rome", "Bern", "Oslo"]))
    bench.generator.fail_on_text = "of 0: Bern"
    experiment = bench.run(data, "radar", ["benign"])
    first, failed, last = cell_rows(experiment, "radar", "benign")
    assert failed.error is not None
    assert failed.state_bytes == first.state_bytes
    assert last.verdict is not None
    assert last.verdict.memory.previous_answer == "Rome"


def test_questions_that_cannot_be_attacked_are_noted(bench: Bench) -> None:
    first, second = static_dataset(2).histories
    labels = replace(second[0].labels, target=None)  # type: ignore[type-var]
    data = make_dataset(first, (replace(second[0], labels=labels),))
    experiment = bench.run(data, "vanilla")
    assert len(answers(experiment, "vanilla", "benign")) == 2
    assert len(answers(experiment, "vanilla", "pia@1")) == 1
    assert any("pia@1: without 1 of the questions" in note for note in experiment.record.notes)


def test_texts_that_no_encoder_accepts_are_stored(bench: Bench) -> None:
    (snapshot,) = make_history(0, ["Rome"])
    documents = (Document(1, "broken \ud800 pair: Rome."), Document(2, "It {0} %s\u202e: Rome."))
    data = make_dataset((replace(snapshot, documents=documents),))
    experiment = bench.run(
        replace(data, histories=((replace(snapshot, documents=documents),),)), "radar", ["benign"]
    )
    assert read_evidence(bench.out)["benign", "cup-0", 0].documents == documents
    assert answers(experiment, "radar", "benign") == ["Rome"]


def test_no_documents_are_an_abstention(bench: Bench) -> None:
    (snapshot,) = make_history(0, ["Rome"])
    data = make_dataset((replace(snapshot, documents=()),))
    experiment = bench.run(data, "radar,vanilla,reliability_rag", ["benign"])
    assert [row.response for row in experiment.answered] == [None] * 3
    assert [row.error for row in experiment.answered] == [None] * 3
    assert [row.cost.calls for row in experiment.answered] == [0] * 3


def test_questions_for_a_text_are_asked_for_descriptions(bench: Bench) -> None:
    short, long = static_dataset(2).histories
    query = replace(long[0].query, tags=("long_form",))
    data = make_dataset(short, (replace(long[0], query=query),))
    experiment = bench.run(data, "radar,vanilla,robust_rag", ["benign"])
    asked = {(p.question, p.task) for batch in bench.generator.log for p in batch}
    of_long = {task for question, task in asked if question == long[0].query.text}
    assert of_long == {
        Task.DESCRIBE_FROM_PASSAGE,
        Task.DESCRIBE_FROM_DOCUMENTS,
        Task.DESCRIBE_FROM_KEYWORDS,
    }
    of_short = {task for question, task in asked if question == short[0].query.text}
    assert of_short == {Task.ATOMIC_ANSWER, Task.ANSWER_FROM_DOCUMENTS, Task.ANSWER_FROM_KEYWORDS}
    assert [row.cost.calls for row in cell_rows(experiment, "radar", "benign")] == [4, 4]
