"""Relations between atomic answers: distinct answers are scored once, the matrices are whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.pipelines.round.deciding import AROUND, excerpt_of
from radarstream.pipelines.signals.evidence import answer_documents, relate_answers
from radarstream.pipelines.signals.ports import RelationScorer
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray
from radarstream.schemas.prompt import AnswerPair, Prompt
from radarstream.schemas.snapshot import Query
from tests.builders import OBSERVED_AT, make_documents, make_snapshot
from tests.scripted_models import FixedRows, nan_rows

Items = list[tuple[str, list[AtomicAnswer]]]  # questions, and what documents answer
ABSTAINED = AtomicAnswer("I don't know", True)


@dataclass
class Hashing:
    """Probabilities that depend on every part of the pair and on its direction."""

    model_id: str = "hashing"
    log: list[tuple[AnswerPair, ...]] = field(default_factory=list)

    def probabilities(self, pairs: list[AnswerPair]) -> FloatArray:
        self.log.append(tuple(pairs))
        return np.array([row(pair) for pair in pairs]).reshape(len(pairs), 3)


def row(pair: AnswerPair) -> FloatArray:
    parts = repr((pair.question, pair.premise, pair.hypothesis)).encode()
    weights = np.frombuffer(sha256(parts).digest()[:3], np.uint8) + 1.0
    return weights / weights.sum()


answers = st.one_of(
    st.just(ABSTAINED), st.sampled_from(["Rome", "rome", "Oslo", "", "25%"]).map(AtomicAnswer)
)
batches = st.lists(st.tuples(st.sampled_from(["Who?", "Where?"]), st.lists(answers, max_size=7)))


def related_by(
    scorer: RelationScorer, items: Items, before: Sequence[Evidence | None] | None = None
) -> list[Evidence]:
    """Evidence of these answers, related in one batch."""
    evidences = [evidence_of(*item) for item in items]
    found = relate_answers(scorer, evidences, before or [None] * len(items))
    return [replace(one, relations=made) for one, made in zip(evidences, found, strict=True)]


def evidence_of(question: str, said: Sequence[AtomicAnswer]) -> Evidence:
    documents = make_documents([""] * len(said))
    return Evidence(Query("q", question), OBSERVED_AT, documents, tuple(said))


@given(batches, st.integers(0, 7))
def test_expansion_equals_scoring_every_pair(items: Items, known: int) -> None:
    """What is related already, here of the first answers, is not asked again."""
    scorer = Hashing()
    earlier = related_by(Hashing(), [(question, said[:known]) for question, said in items])
    results = related_by(scorer, items, earlier)
    assert len(results) == len(items)
    for (question, given_answers), evidence in zip(items, results, strict=True):
        texts = [answer.text for answer in given_answers if not answer.abstained]
        full = np.array([[row(AnswerPair(question, a, b)) for b in texts] for a in texts])
        full = full.reshape(len(texts), len(texts), 3)
        np.testing.assert_array_equal(evidence.relations.entailment, full[:, :, 0])
        np.testing.assert_array_equal(evidence.relations.contradiction, full[:, :, 2])
    asked = sum(distinct(said) ** 2 - distinct(said[:known]) ** 2 for _, said in items)
    assert [len(batch) for batch in scorer.log] == ([asked] if asked else [])


def distinct(said: Sequence[AtomicAnswer]) -> int:
    return len({answer.text for answer in said if not answer.abstained})


@pytest.mark.parametrize("rows", [nan_rows(4, 3), np.full((4, 2), 0.5), np.full((3, 3), 0.3)])
def test_a_malformed_response_is_a_model_error(rows: FloatArray) -> None:
    with pytest.raises(ModelError):
        related_by(FixedRows(rows), [("Who?", [AtomicAnswer("Rome"), AtomicAnswer("Oslo")])])


def test_an_answer_is_what_its_passage_says_and_the_nearest_sentence_is_asked_alone() -> None:
    said, invented = "The zoo of Bern is open.", "The zoo moved in May."
    sentence = "Ann Lee, head of the zoo, spoke."
    replies = {said: "Bern", invented: "1876", sentence: "Ann Lee"}

    def reply(prompt: Prompt) -> str:
        ends = (text for end, text in replies.items() if prompt.passages[0].endswith(end))
        return next(ends, "I don't know")

    speaking = ScriptedGenerator(script=reply)
    texts = (said, invented, f"They met. {sentence} It rained.")
    snapshot = make_snapshot(texts, question="Who is head of the zoo?")
    ((first, second, third),) = answer_documents(speaking, [snapshot])
    passages = [document.passage for document in snapshot.documents]
    assert (first.text, passages[0][slice(*first.quote or ())]) == ("Bern", said)
    assert second.abstained and second.not_in_text
    assert (third.text, passages[2][slice(*third.quote or ())]) == ("Ann Lee", sentence)
    assert [len(batch) for batch in speaking.log] == [3, 2]


@pytest.mark.parametrize("space", [" ", "\u3000"])
def test_the_words_beside_a_quote_are_whole_and_few(space: str) -> None:
    """Where no blanks part words the window is cut between characters."""
    around = space.join(["abcdefg"] * 60)
    passage = f"{around} It is Bern. {around}"
    start = passage.index("It is")
    window = excerpt_of(passage, (start, start + len("It is Bern.")))
    assert window.match == "It is Bern."
    assert window.before + window.match + window.after in passage
    assert 0 < len(window.before) <= AROUND and 0 < len(window.after) <= AROUND
    if space == " ":
        assert set(window.before.split() + window.after.split()) == {"abcdefg"}
