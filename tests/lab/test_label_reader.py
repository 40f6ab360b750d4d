"""A reader by labels: what each page says to it, its faults, and what a study of it is called."""

from dataclasses import replace

import pytest

from radarstream.lab.defences.label_reader import LabelReader, invented
from radarstream.lab.pages.defences import DEFENCES
from radarstream.pipelines.signals.evidence import answer_documents
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from tests.builders import make_snapshot
from tests.lab.defence_studies import Bench, make_dataset, static_dataset

QUESTION = "What share of couples sleep apart?"
LABELS = Labels(("15%", "Fifteen percent"), target="32%", false_passages=("It is 32%.",))
PAGES = {
    "A survey finds that 15% of couples sleep apart.": "15%",
    "Fifteen percent of couples sleep apart.": "15%",
    "Some say 32% of couples do.": "32%",
    "Some say 15%, some say 32%.": None,
    "Of 115% nobody speaks.": None,
}


def snapshot(*pages: str, planted: tuple[int, ...] = ()) -> SearchSnapshot:
    labels = replace(LABELS, attack="poison" if planted else None, poisoned_ranks=planted)
    return make_snapshot(pages, question=QUESTION, labels=labels)


def read(reader: LabelReader, found: SearchSnapshot) -> list[str | None]:
    reader.learn([(found,)])
    (answers,) = answer_documents(reader, [found])
    return [None if answer.abstained else answer.text for answer in answers]


def test_a_page_says_the_one_answer_that_it_names_and_a_planted_one_the_target() -> None:
    assert read(LabelReader(), snapshot(*PAGES)) == list(PAGES.values())
    both = "Not 15%: 32% of couples do."
    assert read(LabelReader(), snapshot(both)) == [None]
    assert read(LabelReader(), snapshot(both, planted=(1,))) == ["32%"]


def test_spellings_mean_the_same_and_all_else_contradicts() -> None:
    reader = LabelReader()
    reader.learn([(snapshot(*PAGES),)])
    texts = ("15%", "Fifteen percent", "32%", "couples")
    pairs = [AnswerPair(QUESTION, one, other) for one in texts for other in texts]
    same = reader.probabilities(pairs)[:, 0].reshape(4, 4) > 0.5
    assert same.tolist() == [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]


def test_faults_are_shares_of_the_pages_and_spare_planted_ones() -> None:
    pages = [f"Survey number {n} finds that 15% of couples sleep apart." for n in range(399)]
    found = snapshot("It is 32%, not 15%.", *pages, planted=(1,))
    erring = LabelReader(misses=0.2, invents=0.1, seed=1)
    answers = read(erring, found)
    assert answers == read(replace(erring, _said={}, _spelt={}), found)
    assert answers[0] == "32%"
    made_up = [a for a in answers[1:] if a not in (None, "15%")]
    assert made_up and set(made_up) <= {"survey", "number", "finds", "that", "title"}
    assert answers.count(None) == pytest.approx(0.9 * 0.2 * 399, abs=35)
    assert len(made_up) == pytest.approx(0.1 * 399, abs=25)
    assert erring.model_id == "labels, misses 20 %, invents 10 %, seed 1"
    assert invented("Who won?", ["who", "won"], 0.9) == "I don't know"


def test_several_pages_or_answers_say_what_most_say_and_other_tasks_have_no_reply() -> None:
    reader, found = LabelReader(), snapshot(*PAGES)
    reader.learn([(found,)])

    def reply(task: Task, *passages: str) -> str:
        (completion,) = reader.complete([Prompt(task, "", (), QUESTION, passages, 9)])
        return completion.text

    assert reply(Task.ANSWER_FROM_DOCUMENTS, *(d.passage for d in found.documents)) == "15%"
    assert reply(Task.ANSWER_FROM_DOCUMENTS, "A page that nobody knows: 15%.") == "I don't know"
    assert reply(Task.SYNTHESISE_ANSWERS, "15%", "32%", "32%") == "32%"
    with pytest.raises(ModelError, match="no reply to"):
        reply(Task.RECALL_PASSAGE)


def test_in_a_history_a_page_may_say_what_was_true_before() -> None:
    steps = [make_snapshot([f"{who} won cup 1."], question="Who won?") for who in ("Rome", "Bern")]
    history = tuple(
        replace(step, labels=Labels((who,), target="Faro"))
        for step, who in zip(steps, ("Cork", "Rome"), strict=True)
    )
    reader = LabelReader()
    reader.learn([history])
    answers = answer_documents(reader, history)
    assert [answer.abstained for (answer,) in answers] == [False, True]
    assert answers[0][0].text == "Rome"


@pytest.mark.parametrize("text", ["label", "labels:errs=1", "labels:misses=2", "labels:seed=1"])
def test_what_is_no_reader_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        LabelReader.of(text, seed=0)


def test_a_study_by_labels_is_called_that_in_every_table(tmp_path) -> None:
    data = make_dataset(*static_dataset(2).histories)
    conditions = ["benign", "claim-varied@1", "claim-varied@1..2"]
    reader = LabelReader.of("labels:misses=0.0", seed=0)
    study = Bench(tmp_path).run(data, "radar,majority", conditions, k=3, reader=reader)
    report = DEFENCES.report(tmp_path, study.record, study.store)
    assert all(table.title.endswith("; reader: labels") for table in report.tables)
    assert study.record.models == dict.fromkeys(("generator", "relations", "embedder"), "labels")
    assert "Rules stand in the place" not in (tmp_path / "tables.md").read_text()
    rates = [
        (cell.rates["correct"].value, cell.rates["fooled"].value)
        for cell in report.results.cells
        if cell.contender == "majority" and cell.condition in study.record.conditions
    ]
    assert rates == [(1.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
