"""Ordered pairs a second for one snapshot of 50 documents (2,450 pairs)."""

from itertools import permutations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from connectors.models.answer_agreement import AnswerAgreement, scorer
from connectors.models.sentence_embedder import SentenceEmbedder
from schemas.prompt import AnswerPair
from tests.benchmarks.figures import Figures

QUESTION = "Which mineral is the archive known for?"
DOCUMENTS = 50
KINDS = ("quartz", "Oslo, Norway", "62% of voters", "7 July 2023", "Rufus Firefly")

pytestmark = pytest.mark.bench


def pairs(distinct: int) -> list[AnswerPair]:
    """All ordered pairs of 50 answers of which `distinct` differ."""
    answers = [f"{KINDS[i % distinct % 5]} No. {i % distinct}" for i in range(DOCUMENTS)]
    return [AnswerPair(QUESTION, a, b) for a, b in permutations(answers, 2)]


@pytest.mark.parametrize("distinct", [10, 50])
@pytest.mark.parametrize(
    "embedded", [False, pytest.param(True, marks=pytest.mark.models)], ids=["lexical", "minilm"]
)
def test_relations_of_one_snapshot(
    benchmark: BenchmarkFixture, figures: Figures, distinct: int, embedded: bool
) -> None:
    relations = AnswerAgreement(SentenceEmbedder() if embedded else None)
    figures.uses(relations.model_id)
    asked = pairs(distinct)
    relations.probabilities(asked[:1])

    def forget() -> None:
        scorer._reading.cache_clear()

    rows = benchmark.pedantic(relations.probabilities, (asked,), setup=forget, rounds=5)
    assert rows.shape == (DOCUMENTS * (DOCUMENTS - 1), 3)
    name = (
        f"relations, {'MiniLM' if embedded else 'no embedder'}, {distinct} distinct answers of 50"
    )
    figures.add(name, len(asked) / benchmark.stats.stats.median, "pairs per second")
