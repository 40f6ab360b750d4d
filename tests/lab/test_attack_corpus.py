"""Attacks on a corpus: retrieval decides what becomes of the planted texts."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest

from radarstream.connectors.models.scripted import ScriptedEmbedder
from radarstream.lab.attacks.conditions import attacked, parse_condition, product
from radarstream.lab.attacks.corpus import RememberingEmbedder, corpus_of, inject, ranked, searched
from radarstream.lab.attacks.protocol import Condition, aim_of
from radarstream.lab.attacks.registry import attack_named
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.snapshot import Document, Labels
from tests.builders import make_snapshot


class WordEmbedder:
    """Unit vectors of word counts over a fixed vocabulary: similarity is shared words."""

    model_id = "words"
    vocabulary = ("mayor", "belbrook", "river", "capital", "tusk", "other")

    def __init__(self):
        self.asked = []

    def embed(self, texts):
        self.asked.extend(texts)
        rows = np.zeros((len(texts), len(self.vocabulary) + 1))
        rows[:, -1] = 1e-3
        for row, text in zip(rows, texts, strict=True):
            words = re.findall(r"\w+", text.casefold())
            for column, word in enumerate(self.vocabulary):
                row[column] = words.count(word)
            row /= np.linalg.norm(row)
        return rows


def snapshot(number, question, texts, answer="Ada North", target="Ben South", year=2020):
    passages = (f"The mayor is {target}.", f"{target} rules.")
    return make_snapshot(
        texts,
        question=question,
        query_id=f"q-{number}",
        observed_at=datetime(year, 12, 31, tzinfo=UTC),
        labels=Labels((answer,), target=target, false_passages=passages),
    )


MAYOR = snapshot(
    1,
    "Who is the mayor of Belbrook?",
    ["The mayor of Belbrook is Ada North.", "Belbrook has a mayor.", "Belbrook, a river town."],
)
CAPITAL = snapshot(
    2, "What is the capital of Tusk?", ["The capital is Oro.", "Tusk is far."], "Oro", "Pim"
)
HISTORIES = ((MAYOR,), (CAPITAL,))


def test_a_corpus_holds_each_document_once():
    twice = corpus_of([*MAYOR.documents, *CAPITAL.documents, *MAYOR.documents])
    assert [e.document for e in twice.entries] == [*MAYOR.documents, *CAPITAL.documents]
    moved = replace(MAYOR.documents[0], rank=9)
    assert len(corpus_of([*MAYOR.documents, moved]).entries) == 3


def test_retrieval_is_by_cosine_and_ties_keep_the_order():
    corpus = corpus_of([*CAPITAL.documents, *MAYOR.documents])
    found = [e.document.text for e in ranked(corpus, MAYOR.query.text, 3, WordEmbedder())]
    assert found == [d.text for d in MAYOR.documents]
    same = corpus_of([Document(rank, f"{rank} river", url=f"u{rank}") for rank in (1, 2, 3)])
    found = [t.document for t in ranked(same, "river", 9, WordEmbedder())]
    assert [d.text for d in found] == ["1 river", "2 river", "3 river"]
    assert [d.rank for d in found] == [1, 2, 3]
    assert ranked(corpus_of([]), "river", 3, WordEmbedder()) == ()


def injected(corpus, name, snapshot, count):
    return inject(corpus, attack_named(name), snapshot, count=count, aim=aim_of(snapshot))


def test_planted_texts_are_labelled_at_the_ranks_where_they_were_found():
    corpus = corpus_of([*MAYOR.documents, *CAPITAL.documents])
    poisoned = injected(corpus, "poisonedrag", MAYOR, 2)
    found = searched(MAYOR, poisoned, 4, WordEmbedder())
    planted = [d.rank for d in found.documents if d.text.startswith(MAYOR.query.text)]
    assert found.labels.poisoned_ranks == tuple(planted) != ()
    assert poisoned.injections[0].added == ("poisonedrag/q-1/1", "poisonedrag/q-1/2")
    assert searched(CAPITAL, poisoned, 2, WordEmbedder()).labels == CAPITAL.labels


def test_a_falsehood_without_the_question_may_never_be_found():
    stranger = replace(MAYOR, labels=replace(MAYOR.labels, false_passages=("Ben South rules.",)))
    corpus = injected(corpus_of(MAYOR.documents), "poison", stranger, 5)
    found = searched(stranger, corpus, 3, WordEmbedder())
    assert found.labels.poisoned_ranks == ()
    assert (found.labels.attack, found.labels.target) == ("poison", "Ben South")


def test_several_attackers_share_a_corpus():
    corpus = corpus_of([*MAYOR.documents, *CAPITAL.documents])
    for name, target in (("injection", MAYOR), ("hijack", CAPITAL), ("hijack", MAYOR)):
        corpus = injected(corpus, name, target, 2)
    assert len(corpus.poison_of("q-1")) == 4
    assert len(corpus.poison_of("q-2")) == 2
    found = searched(MAYOR, corpus, 9, WordEmbedder())
    assert len(found.labels.poisoned_ranks) == 4
    with pytest.raises(ConfigurationError, match="already holds"):
        injected(corpus, "hijack", MAYOR, 1)


def test_text_removal_deletes_whole_words_of_the_answer_only():
    near = Document(9, "Ada Northcote is a river.", url="u")
    corpus = corpus_of([*MAYOR.documents, near, *CAPITAL.documents])
    cleaned = injected(corpus, "poisonedrag-removal", MAYOR, 1)
    gone = {e.document for e in corpus.entries} - {e.document for e in cleaned.entries}
    assert gone == {MAYOR.documents[0]}


def test_a_run_on_a_corpus_compares_with_retrieval_from_the_clean_one():
    clean, *_ = product(["poisonedrag"], [])
    outcome = attacked(clean, HISTORIES, k=2, embedder=WordEmbedder())
    ((mayor,), (capital,)) = outcome.histories
    assert [d.text for d in mayor.documents] == [d.text for d in MAYOR.documents[:2]]
    assert [d.rank for d in capital.documents] == [1, 2]
    assert (mayor.labels, capital.labels) == (MAYOR.labels, CAPITAL.labels)
    assert not outcome.skipped


def test_each_question_is_attacked_alone_and_what_was_found_is_told():
    outcome = attacked(parse_condition("poisonedrag@m3"), HISTORIES, k=4, embedder=WordEmbedder())
    labels = [snapshot_.labels for (snapshot_,) in outcome.histories]
    assert [(one.target, len(one.poisoned_ranks)) for one in labels] == [
        ("Ben South", 2),
        ("Pim", 3),
    ]
    for (snapshot_,) in outcome.histories:
        others = {h[0].query.text for h in HISTORIES} - {snapshot_.query.text}
        assert not any(d.text.startswith(tuple(others)) for d in snapshot_.documents)


def test_a_schedule_of_nothing_is_the_clean_run_on_a_corpus_too():
    spared = attacked(parse_condition("pia@m5:early-0"), HISTORIES, k=3, embedder=WordEmbedder())
    assert spared == attacked(Condition(place="corpus"), HISTORIES, k=3, embedder=WordEmbedder())


def test_in_time_a_step_searches_what_every_question_was_given_at_that_step():
    later = snapshot(1, MAYOR.query.text, ["The mayor of Belbrook: Cy."], "Cy", year=2021)
    outcome = attacked(
        parse_condition("injection@m2:late-1"),
        ((MAYOR, later), (CAPITAL,)),
        k=9,
        embedder=WordEmbedder(),
    )
    first, second = outcome.histories[0]
    assert {d.text for d in first.documents} == {
        d.text for d in (*MAYOR.documents, *CAPITAL.documents)
    }
    texts = {d.text for d in second.documents}
    assert {d.text for d in (*later.documents, *CAPITAL.documents)} < texts
    assert len(second.documents) == 5
    assert [s.labels.attack for s in (first, second)] == [None, "injection"]


def test_a_paraphrase_searches_for_other_words_than_the_attacker_wrote():
    condition = parse_condition("injection-paraphrased@m2")
    ((mayor,), _) = attacked(condition, HISTORIES, k=9, embedder=WordEmbedder()).histories
    assert mayor.query.id == MAYOR.query.id
    assert mayor.query.text == "Tell me, what is the name of the mayor of Belbrook?"
    planted = [d for d in mayor.documents if d.rank in mayor.labels.poisoned_ranks]
    assert all(d.text.startswith(MAYOR.query.text) for d in planted)


def test_unattackable_questions_are_left_out():
    blank = replace(CAPITAL, labels=replace(CAPITAL.labels, false_passages=()))
    outcome = attacked(
        parse_condition("poisonedrag@m1"), ((MAYOR,), (blank,)), k=3, embedder=WordEmbedder()
    )
    assert list(outcome.skipped) == ["q-2"]
    assert len(outcome.histories) == 1


def test_a_corpus_needs_an_embedder_whose_failure_is_no_result():
    with pytest.raises(ConfigurationError, match="embedder"):
        attacked(parse_condition("pia@m5"), HISTORIES, k=3)
    failing = ScriptedEmbedder(fail_on_calls=frozenset({1}))
    with pytest.raises(ModelError):
        attacked(parse_condition("pia@m5"), HISTORIES, k=3, embedder=failing)


def test_every_text_is_embedded_once_even_over_conditions():
    counting = WordEmbedder()
    remembering = RememberingEmbedder(counting)
    for text in ("pia@m5", "poisonedrag@m2", "pia@m5"):
        attacked(parse_condition(text), HISTORIES, k=3, embedder=remembering)
    assert len(counting.asked) == len(set(counting.asked))
    assert remembering.model_id == "words"
    rows = remembering.embed(["river", "tusk", "river"])
    assert np.array_equal(rows, WordEmbedder().embed(["river", "tusk", "river"]))
