"""Every retrieval defence before every defence, on scripted models."""

from dataclasses import replace

import numpy as np
import pytest

from radarstream.connectors.models.scripted_tokens import ScriptedTokens
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.defenses.retrieval.registry import RERANKERS, build_reranker
from radarstream.pipelines import stages
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from tests.builders import make_snapshot
from tests.pools import gradients, saliences
from tests.scripted_models import scripted_models


class Insights:
    """A scripted network."""

    model_id = "insights"

    def probe(self, queries):
        rows = [gradients(query) for query in queries]
        return np.array([row @ row.T for row in rows])

    def saliences(self, queries):
        return [saliences(query) for query in queries]

    def masked(self, queries):
        return [np.full(len(query.spans), 0.6) for query in queries]


def models() -> Models:
    seen = Insights()
    return replace(
        scripted_models(), tokens=ScriptedTokens(), gradients=seen, surrogate=seen, masked=seen
    )


@pytest.mark.parametrize("name", sorted(RERANKERS))
@pytest.mark.parametrize("defense", sorted(DEFENSES))
def test_any_defence_judges_what_it_keeps(name: str, defense: str):
    reranker, asked, costs = build_reranker(name), models(), Costs()
    check_needs(reranker, asked)
    claims = ["Rome", "Oslo", "Rome", "Oslo", "Oslo", "Rome", "Oslo", "Oslo"]
    snapshot = make_snapshot([f"Paper {i}, the winner: {c}." for i, c in enumerate(claims)])
    (found,) = stages.rerank(reranker, 5, [snapshot], asked, costs)
    assert isinstance(found, stages.Reranked)
    texts = {document.text for document in (*found.snapshot.documents, *found.dropped)}
    assert texts == {document.text for document in snapshot.documents}
    guard = Guard(defense, build_defense(defense), asked)
    event, _ = guard.answer(found.snapshot, guard.initial_memory())
    judged = {document.rank for document in event.verdict.documents}
    assert judged == {document.rank for document in found.snapshot.documents}


def test_a_long_answer_is_asked_at_length():
    """RAGuard compares the answers that are going to be given."""
    asked = models()
    short = make_snapshot([f"Paper {i}, the winner: Oslo." for i in range(4)])
    long = replace(short, query=replace(short.query, id="long", tags=("long_form",)))
    stages.rerank(build_reranker("raguard"), 4, [short, long], asked, Costs())
    tasks = {prompt.task for batch in asked.generator.log for prompt in batch}
    assert tasks == {"answer_from_documents", "describe_from_documents"}
