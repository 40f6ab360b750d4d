"""Every retrieval defence before every defence, on scripted models."""

from dataclasses import replace

import pytest

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.defenses.registry import DEFENSES, RERANKERS, build_defense, build_reranker
from radarstream.lab.models.leave_one_out import AblatedAttention
from radarstream.lab.models.scripted_networks import (
    ScriptedAttention,
    ScriptedGradients,
    ScriptedMasked,
)
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import Reranked, rerank
from tests.builders import make_snapshot
from tests.scripted_models import scripted_models

NETWORKS = {
    "gradients": ScriptedGradients(),
    "masked": ScriptedMasked(),
    "attention": ScriptedAttention(),
}


def models() -> Models:
    return replace(scripted_models(), tokens=ScriptedTokens(), plugins=NETWORKS)


@pytest.mark.parametrize("name", sorted(RERANKERS))
@pytest.mark.parametrize("defense", sorted(DEFENSES))
def test_any_defence_judges_what_it_keeps(name: str, defense: str):
    reranker, asked, costs = build_reranker(name), models(), Costs()
    check_needs(reranker, asked)
    claims = ["Rome", "Oslo", "Rome", "Oslo", "Oslo", "Rome", "Oslo", "Oslo"]
    snapshot = make_snapshot([f"Paper {i}, the winner: {c}." for i, c in enumerate(claims)])
    (found,) = rerank(reranker, 5, [snapshot], asked, costs)
    assert isinstance(found, Reranked)
    texts = {document.text for document in (*found.snapshot.documents, *found.dropped)}
    assert texts == {document.text for document in snapshot.documents}
    guard = DefensePipeline(defense, build_defense(defense), asked)
    event, _ = guard.answer(found.snapshot, guard.initial_memory())
    judged = {document.rank for document in event.verdict.documents}
    assert judged == {document.rank for document in found.snapshot.documents}


@pytest.mark.parametrize("name", ["raguard", "attention_variance"])
def test_a_long_answer_is_asked_at_length(name: str):
    """RAGuard compares the answers that are going to be given; attention is that of them."""
    attends = ScriptedAttention()
    asked = replace(models(), plugins={"attention": attends})
    short = make_snapshot([f"Paper {i}, the winner: Oslo." for i in range(4)])
    long = replace(short, query=replace(short.query, id="long", tags=("long_form",)))
    rerank(build_reranker(name), 4, [short, long], asked, Costs())
    prompts = [prompt for batch in asked.generator.log for prompt in batch]
    prompts += [query.prompt for batch in attends.log for query in batch]
    assert {p.task for p in prompts} == {"answer_from_documents", "describe_from_documents"}


@pytest.mark.parametrize("name", sorted(RERANKERS))
def test_the_models_that_only_a_reranker_asks_are_named(name: str):
    """So that an event says where a substitute stood in."""
    substitutes = {
        "attention": AblatedAttention(ScriptedTokens()),
        "masked": ScriptedMasked(model_id="a substitute"),
    }
    asked = replace(models(), plugins=NETWORKS | substitutes)
    snapshot = make_snapshot([f"Paper {i}, the winner: Oslo." for i in range(4)])
    (found,) = rerank(build_reranker(name), 4, [snapshot], asked, Costs())
    expected = {
        "prog_rank": (ScriptedGradients().model_id,),
        "gmtp": (ScriptedGradients().model_id, "a substitute"),
        "attention_variance": (f"leave-one-out-substitute-1/{ScriptedTokens().model_id}",),
    }
    assert found.reranking.models == expected.get(name)
