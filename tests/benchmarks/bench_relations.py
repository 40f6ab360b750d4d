"""Ordered pairs a second for one snapshot of 50 documents (2,450 pairs)."""

from itertools import permutations

import pytest

from radarstream.connectors.models.answer_agreement import AnswerAgreement, scorer
from radarstream.schemas.prompt import AnswerPair

QUESTION = "Who or what is the archive known for?"
DOCUMENTS = 50
FIRST = ("Rufus", "Imogen", "Teodor", "Salma", "Corwin")
LAST = ("Tarn", "Vale", "Okafor", "Lindqvist", "Marsh", "Quill", "Hartwell", "Dray")
# Mostly names, and some quantities.
NAMES = [f"{first} {last}" for last in LAST for first in FIRST]
ANSWERS = [*NAMES[:4], "62%", *NAMES[4:], *(f"{n} letters" for n in range(200, 209))]

pytestmark = pytest.mark.bench


def pairs(distinct: int) -> list[AnswerPair]:
    """All ordered pairs of 50 answers of which `distinct` differ."""
    answers = [ANSWERS[i % distinct] for i in range(DOCUMENTS)]
    assert len(set(answers)) == distinct
    return [AnswerPair(QUESTION, a, b) for a, b in permutations(answers, 2)]


@pytest.mark.parametrize("distinct", [10, 50])
def test_relations_of_one_snapshot(benchmark, figures, distinct):
    relations = AnswerAgreement()
    figures.uses(relations.model_id)
    asked = pairs(distinct)
    relations.probabilities(asked[:1])

    def forget() -> None:
        scorer._reading.cache_clear()

    rows = benchmark.pedantic(relations.probabilities, (asked,), setup=forget, rounds=5)
    assert rows.shape == (DOCUMENTS * (DOCUMENTS - 1), 3)
    name = f"relations, {distinct} distinct answers of 50"
    figures.add(name, len(asked) / benchmark.stats.stats.median, "pairs per second")
