"""What every white-box attack must do, whatever it optimises."""

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.defenses.protocol import Reordering, Signal, ask
from radarstream.defenses.retrieval.pools import reranked
from radarstream.lab.attacks.corpus import corpus_of, inject
from radarstream.lab.attacks.protocol import aim_of
from radarstream.lab.attacks.registry import ATTACKS, WHITE_BOX, attack_named, white_box
from radarstream.lab.attacks.whitebox import on_question
from radarstream.lab.attacks.whitebox.crafting import craft
from radarstream.lab.attacks.whitebox.encoder import Tools
from radarstream.lab.insights import Insights, ProbeQuery
from radarstream.lab.models.scripted_words import ScriptedWords
from radarstream.lab.study.scoring import is_correct
from radarstream.schemas.answer_text import contains
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from tests.builders import make_snapshot

TOWNS = ("Belbrook", "Arden", "Kelford")
SMALL: dict[str, dict[str, Any]] = {
    "liar": {"cycles": 2, "retriever_steps": 4, "samples": 2},
    "joint-gcg": {"steps": 6},
    "badrag": {"steps": 12},
    "phantom": {"steps": 12},
    "corpus-kmeans": {"steps": 12},
    "agent-poison": {"steps": 8},
    "evasive": {"steps": 10, "weight": 0.001},
}


def snapshot_of(town: str) -> SearchSnapshot:
    return make_snapshot(
        [f"{town} has {rank} bridges and a mayor." for rank in range(1, 4)],
        question=f"Who is the mayor of {town}?",
        query_id=f"q-{town}",
        labels=Labels(
            answers=(f"Ada North of {town}",),
            target="Ben South",
            false_passages=(f"Ben South is the mayor of {town}.", "The council names Ben South."),
        ),
    )


SNAPSHOTS = [snapshot_of(town) for town in TOWNS]
AIMS = [aim_of(snapshot) for snapshot in SNAPSHOTS]


class Steadiness:
    """A reranker that turns the pool round; its penalty is what its gradients tell first."""

    needs: frozenset[Signal] = frozenset()

    def __init__(self, runs: int) -> None:
        self.runs = runs

    def rerank(self, pool: CandidatePool) -> Reordering:
        queries = tuple(
            ProbeQuery(pool.query.text, document.passage, self.runs) for document in pool.documents
        )
        grams = np.array((yield from ask(Insights(queries))))
        return reranked("steady", pool, range(len(queries))[::-1], penalties=grams[:, 0, 0])


class Lengths:
    """Gradients whose inner products are the number of letters of a passage."""

    model_id = "lengths"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def probe(self, queries: list[ProbeQuery]) -> Any:
        self.asked += [query.passage for query in queries]
        return np.stack([np.full((q.runs, q.runs), float(len(q.passage))) for q in queries])

    def saliences(self, queries: Any) -> Any:
        raise ModelError("not asked here")


@pytest.fixture(autouse=True)
def _reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        on_question, "build_reranker", lambda _, options: Steadiness(options["runs"])
    )


def tools() -> Tools:
    return Tools(ScriptedWords(), ScriptedTokens(), Lengths())


def small(name: str) -> Any:
    return white_box(name, **SMALL.get(name, {"steps": 6}))


every_attack = pytest.mark.parametrize("name", sorted(WHITE_BOX))


@every_attack
def test_texts_carry_the_target_never_the_truth_and_end_higher_than_they_began(name: str) -> None:
    made = tools()
    crafted = craft(small(name), AIMS, made, count=3)
    assert crafted.attack.name == name
    assert crafted.skipped == {}
    for aim, snapshot in zip(AIMS, SNAPSHOTS, strict=True):
        texts = crafted.attack.texts(aim, 3)
        assert len(texts) == 3
        for text in texts:
            assert contains(text, crafted.attack.target(aim))
            assert snapshot.labels is not None
            assert not is_correct(text, snapshot.labels)
    for result in crafted.written:
        assert result is not None
        assert sum(result.after) > sum(result.before)
        read = made.encoder.tokens(result.texts)  # as it was optimised
        assert made.encoder.tokens([made.encoder.text(each) for each in read]) == read


@every_attack
def test_equal_seeds_give_equal_texts_and_planting_leaves_all_else_as_it_is(name: str) -> None:
    crafted = craft(small(name), AIMS, tools(), count=2)
    assert craft(small(name), AIMS, tools(), count=2).written == crafted.written
    assert craft(small(name), AIMS, tools(), count=2, seed=1).written != crafted.written
    corpus = corpus_of(document for snapshot in SNAPSHOTS for document in snapshot.documents)
    before = pickle.dumps(corpus)
    attacked = inject(corpus, crafted.attack, SNAPSHOTS[0], count=2, aim=AIMS[0])
    assert pickle.dumps(corpus) == before
    assert attacked.entries[: len(corpus.entries)] == corpus.entries
    assert len(attacked.entries) == len(corpus.entries) + 2
    assert len(attacked.poison_of(SNAPSHOTS[0].query.id)) == 2
    (first, *_) = crafted.written
    assert first is not None
    asked = crafted.attack.asked("Who?")
    assert asked == (f"Who? {first.trigger}" if first.trigger else "Who?")
    assert bool(first.trigger) == (name in {"badrag", "phantom", "agent-poison"})


@every_attack
def test_without_questions_or_preparation_there_are_no_texts(name: str) -> None:
    assert craft(small(name), [], tools()).written == ()
    assert name not in ATTACKS
    with pytest.raises(ConfigurationError, match="texts that are written beforehand"):
        attack_named(name)


def test_an_evasive_attacker_needs_gradients() -> None:
    with pytest.raises(ConfigurationError, match="needs gradients"):
        craft(small("evasive"), AIMS, replace(tools(), gradients=None))
