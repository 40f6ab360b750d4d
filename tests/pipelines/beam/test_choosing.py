"""A reranker chooses what a defence sees: 50 results in, 10 judged, 40 dropped and named."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.connectors.state_table.corpus.listing import newest
from radarstream.connectors.state_table.incidents.kept_answers import kept_answers
from radarstream.defenses.radar import Radar
from radarstream.defenses.recheck import rechecked
from radarstream.defenses.recheck.checks import Outcome
from radarstream.defenses.registry import DEFENSES, RERANKERS, build_defense, build_reranker
from radarstream.defenses.vanilla import Vanilla
from radarstream.lab.insights import ProbeQuery
from radarstream.lab.methods.by_similarity import BySimilarity
from radarstream.lab.models import building
from radarstream.lab.models.leave_one_out import AblatedAttention
from radarstream.lab.models.scripted_networks import (
    ScriptedAttention,
    ScriptedGradients,
    ScriptedMasked,
)
from radarstream.pipelines import build
from radarstream.pipelines.beam.graph import MicroBatch
from radarstream.pipelines.build import shared_engine, shared_pipeline
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import CANDIDATE_CHARACTERS, Reranked, rerank
from radarstream.schemas.codec import decode_answer, encode
from radarstream.schemas.errors import ModelError, ModelOutageError, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.memory import Memory
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention, Reason
from tests.builders import GIVE_ALL, OBSERVED_AT, logged, make_snapshot, scripted_settings
from tests.pipelines.job.attributing_rig import hold
from tests.reranking import PLANTED, WARY, Wary, crowd
from tests.reranking import wary as wary  # noqa: PLC0414 a fixture
from tests.scripted_models import scripted_models

ALL_AT_ONCE = {"block": 50}
pytestmark = pytest.mark.usefixtures("wary")


@dataclass
class Gradients(ScriptedGradients):
    """Fails while `down`, and on passages that say UNREADABLE."""

    down: bool = False

    def probe(self, queries: Sequence[ProbeQuery]) -> Any:
        if self.down:
            raise ModelOutageError("the encoder is down")
        if any("UNREADABLE" in query.passage for query in queries):
            raise ModelError("the encoder failed")
        return super().probe(queries)


@pytest.fixture
def gradients(monkeypatch: pytest.MonkeyPatch) -> Gradients:
    """The models of a process, made anew for each test."""
    encoder = Gradients()
    monkeypatch.setattr(building, "build_network", lambda *_: encoder)
    monkeypatch.setattr(build, "build_generator", lambda _: scripted_models().generator)
    return encoder


GIVEN: dict[str, Any] = {"retrieval": WARY, "defense": GIVE_ALL, "reading": ALL_AT_ONCE}
settings_in = partial(scripted_settings, **GIVEN)


def led_to(settings: Settings, *snapshots: SearchSnapshot) -> list[AnswerEvent | DeadLetter]:
    return list(MicroBatch(settings)([logged(s, n) for n, s in enumerate(snapshots)]))


def answered(settings: Settings, *snapshots: SearchSnapshot) -> AnswerEvent:
    (event,) = led_to(settings, *snapshots)
    assert isinstance(event, AnswerEvent)
    return event


def asked_for(settings: Settings) -> set[str]:
    """The passages that the generator read, in one line each."""
    log: Any = shared_pipeline(settings).models.generator._model.log  # type: ignore[attr-defined]
    passages = {p for batch in log for prompt in batch for p in prompt.passages}
    return {" ".join(passage.split()) for passage in passages}


@pytest.mark.usefixtures("gradients")
def test_fifty_results_become_the_ten_that_are_judged(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    snapshot = crowd(50, planted=(1, 2))
    event = answered(settings, snapshot)
    assert [d.rank for d in event.verdict.documents] == list(range(1, 51))
    assert [d.rank for d in event.seen] == list(range(1, 11))
    why = {d.rank: d.reason for d in event.verdict.documents}
    assert [why[rank] for rank in range(11, 51)] == [Reason.OUTRANKED] * 38 + [Reason.SUSPECT] * 2
    assert event.reranking is not None
    assert {event.reranking.found_rank(rank) for rank in (49, 50)} == {1, 2}
    found = {document.rank: document for document in snapshot.documents}
    for source in event.sources:
        assert source.url == found[event.reranking.found_rank(source.rank)].url
    kept = {" ".join(found[c.found_rank].passage.split()) for c in event.reranking.kept}
    assert len(kept) == 10
    assert {passage for passage in asked_for(settings) if passage.startswith("Title")} == kept
    assert event.undefended_answer is not None  # made of the same ten


@pytest.mark.usefixtures("gradients")
def test_the_reranker_comes_after_quarantine_and_before_reading(tmp_path: Path) -> None:
    reading = ALL_AT_ONCE | {"windows": 1, "window_characters": 60, "whole_characters": 80}
    settings = settings_in(
        tmp_path, attribution={"enabled": True}, corpus={"archive": True}, reading=reading
    )
    filler = "".join(f" On day {day} the weather stayed as it was.\n" for day in range(30))
    snapshot = crowd(13)
    pages = tuple(replace(d, text=f"{filler} Page {d.rank}: Rome.") for d in snapshot.documents)
    snapshot = replace(snapshot, documents=pages)
    engine = shared_engine(settings)
    hold(engine, pages[4])
    event = answered(settings, snapshot)
    why = {d.rank: d.reason for d in event.verdict.documents}
    assert why[5] is Reason.QUARANTINED  # at the rank where it was found
    assert [rank for rank in why if why[rank] is Reason.OUTRANKED] == [12, 13]
    assert event.reranking is not None
    assert 5 not in {c.rank for c in event.reranking.candidates}
    assert len(event.reranking.candidates) == 12
    stages_run = list(shared_pipeline(settings).meter.stages)
    assert stages_run.index("reranking") < stages_run.index("reading")
    assert shared_pipeline(settings).meter.stages["reading"].records == 1
    (case,) = kept_answers(engine, "cup")  # what the answer was made of
    assert {d.rank for d in case.snapshot.documents} == set(why) - {5, 12, 13}
    archived = {text.id for text in newest(engine, 100)}  # dropped ones too, what is held not
    assert archived == {d.content_id for d in pages if d.rank != 5}


def test_a_reranker_whose_model_is_down_parks_the_snapshot(tmp_path, gradients) -> None:
    settings = settings_in(tmp_path / "faulty")
    snapshots = [replace(crowd(12), observed_at=OBSERVED_AT + timedelta(days=d)) for d in (0, 1)]
    gradients.down = True
    letters = led_to(settings, *snapshots)
    for letter in letters:
        assert isinstance(letter, DeadLetter)
        assert letter.reason is ReasonClass.MODEL_UNAVAILABLE
        assert "the encoder is down" in letter.detail
    gradients.down = False
    replayed = MicroBatch(settings)([logged(s, n) for n, s in enumerate(snapshots, start=2)])
    assert list(replayed) == led_to(settings_in(tmp_path / "whole"), *snapshots)


@pytest.mark.usefixtures("gradients")
def test_without_a_document_left_there_is_no_answer(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    bad = crowd(6, planted=range(1, 7))
    days = [OBSERVED_AT + timedelta(days=d) for d in range(3)]
    given = zip((bad, crowd(6), bad), days, strict=True)
    first, _, last = led_to(settings, *(replace(one, observed_at=day) for one, day in given))
    assert isinstance(first, AnswerEvent) and isinstance(last, AnswerEvent)
    assert (first.abstention, first.status) == (Abstention.NO_DOCUMENTS, AnswerStatus.ABSTAINED)
    assert {d.reason for d in first.verdict.documents} == {Reason.SUSPECT}
    assert first.undefended_answer in (None, "", "I don't know")
    assert last.status is AnswerStatus.REMEMBERED  # as without search results


def test_rerankers_read_the_beginning_of_a_long_page() -> None:
    class Reading(ScriptedGradients):
        def probe(self, queries: Sequence[ProbeQuery]) -> Any:
            lengths.extend(len(query.passage) for query in queries)
            return super().probe(queries)

    lengths: list[int] = []
    models = replace(scripted_models(), plugins={"gradients": Reading()})
    page = "y" * 1_000_000
    (found,) = rerank(Wary(), 1, [make_snapshot([page])], models, Costs())
    assert isinstance(found, Reranked)
    assert (found.snapshot.documents[0].text, max(lengths)) == (page, CANDIDATE_CHARACTERS)


@given(
    st.lists(st.sampled_from(["Page: Rome.", "Page: Oslo.", PLANTED, ""]), max_size=9),
    st.integers(1, 6),
    st.integers(0, 3),
)
@hypothesis_settings(max_examples=30, deadline=None)
def test_kept_and_dropped_are_what_was_found(texts: list[str], keep: int, gap: int) -> None:
    snapshot = make_snapshot(texts)
    spread = tuple(replace(d, rank=d.rank * (gap + 1)) for d in snapshot.documents)
    poisoned = tuple(d.rank for d in spread if d.text == PLANTED)
    snapshot = replace(snapshot, documents=spread, labels=Labels(poisoned_ranks=poisoned))
    models = replace(scripted_models(), plugins={"gradients": ScriptedGradients()})
    (found,) = rerank(Wary(), keep, [snapshot], models, Costs())
    assert isinstance(found, Reranked)
    everything = (*found.snapshot.documents, *found.dropped)
    assert sorted(d.content_id for d in everything) == sorted(d.content_id for d in spread)
    assert sorted(d.rank for d in everything) == sorted(d.rank for d in spread)
    assert len(found.snapshot.documents) == min(keep, len(texts) - texts.count(PLANTED))
    last = max([d.rank for d in found.snapshot.documents], default=0)
    assert all(d.rank > last for d in found.dropped)
    labels = found.snapshot.labels
    assert labels is not None  # they follow the documents that they are about
    assert set(labels.poisoned_ranks) == {d.rank for d in everything if d.text == PLANTED}


def judged(snapshot: SearchSnapshot, reranker: Any = None) -> AnswerEvent:
    models = replace(scripted_models(), plugins={"gradients": ScriptedGradients()})
    guard = DefensePipeline("radar", Radar(), models, baseline=Vanilla(), reranker=reranker, keep=7)
    event, memory = guard.answer(snapshot, guard.initial_memory())
    assert isinstance(memory, Memory)
    return event


@pytest.mark.parametrize("reranker", [Wary(), BySimilarity()])
def test_dropped_documents_count_neither_for_nor_against_an_answer(reranker: Any) -> None:
    """Support and checks are those of the documents that were kept, alone."""
    found = crowd(20, claims=("Rome", "Rome", "Rome", "Oslo"), planted=(4, 8))
    event = judged(found, reranker)
    assert event.reranking is not None
    kept = event.reranking.without_dropped(event.reranking.renumbered(found))
    assert len(kept.documents) == 7
    alone = judged(kept)
    assert event.support == alone.support and event.support is not None
    assert len(event.support.stances_for + event.support.stances_against) <= 7
    assert (event.seen, len(event.verdict.documents)) == (alone.verdict.documents, 20)
    assert event.undefended_answer == alone.undefended_answer
    assert {check.outcome for check in rechecked(event)} == {Outcome.RIGHT}
    assert {check.outcome for check in rechecked(decode_answer(encode(event)))} == {Outcome.RIGHT}
    many = replace(event.support, sites_for=8)
    forged = rechecked(replace(event, support=many))  # more than the seven can be
    assert Outcome.WRONG in {check.outcome for check in forged}


# --- every reranker before every defence, on scripted models


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
