"""All roads on the same snapshots: a notebook, Beam, the job, studies and attribution agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

import radarstream
from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.connectors.state_table.sources import SourceVerdict, judge
from radarstream.defenses.protocol import Defending
from radarstream.defenses.registry import DEFENSES
from radarstream.defenses.vanilla import Vanilla, undefended_answer
from radarstream.lab.defences.contenders import PRODUCTION, parse_contenders
from radarstream.lab.models.scripted_networks import ScriptedGradients
from radarstream.pipelines import build
from radarstream.pipelines.asking.building import build_answerer
from radarstream.pipelines.asking.values import Origin, Reply, UserQuestion
from radarstream.pipelines.beam.graph import MicroBatch, run_replay
from radarstream.pipelines.beam.holding import hold_back
from radarstream.pipelines.build import build_defense_pipeline, shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import Failure, drive
from radarstream.pipelines.signals.investigation import Inquiry, was_given
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.codec import decode_answer, decode_dead_letter, decoding, encode
from radarstream.schemas.errors import ConfigurationError, EvidenceError, ModelError, ReasonClass
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.evidence import Evidence, FloatArray
from radarstream.schemas.prompt import AnswerPair, Prompt, Task
from radarstream.schemas.records import LogPosition, RawRecord
from radarstream.schemas.snapshot import LONG_FORM, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import MemoryDecision, Reason
from tests.builders import GIVE_ALL, OBSERVED_AT, make_snapshot, scripted_settings
from tests.lab.defence_studies import Bench, cell_rows, make_dataset, read_evidence, stored_record
from tests.pipelines.job.attributing_rig import hold, worker_on
from tests.reranking import wary as wary  # noqa: PLC0414 a fixture
from tests.scripted_models import last_words

Key = tuple[str, int]  # query id, place in its history
Histories = Sequence[Sequence[SearchSnapshot]]
UNREAD, UNWRITTEN, UNRELATED = "Unread", "Unwritten", "Unrelated"  # what models fail on
CITIES = ("Rome", "Rome", "Rome", "Oslo", "Bern")
STEPS = 5
EASY = "voices:withstand=0"  # GIVE_ALL in a study


@dataclass
class Relations(ScriptedRelations):
    """Fails on answers that say `UNRELATED`."""

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        if any(UNRELATED in pair.premise + pair.hypothesis for pair in pairs):
            raise ModelError("the relation scorer failed")
        return super().probabilities(pairs)


def written(prompt: Prompt) -> str:
    """The claim of most passages; shown to be long where a description is asked for.

    It fails on documents that say `UNREAD`, and on any later prompt with `UNWRITTEN`.
    """
    early = prompt.task in (Task.ATOMIC_ANSWER, Task.DESCRIBE_FROM_PASSAGE)
    if any((UNREAD if early else UNWRITTEN) in passage for passage in prompt.passages):
        raise ModelError("the generator failed")
    word = last_words(prompt).removeprefix("At length ")
    at_length = prompt.task.value.startswith(("describe", "synthesise_descriptions"))
    return f"At length {word}" if at_length and word != "I don't know" else word


def histories_of(seed: int, *, faults: bool) -> list[tuple[SearchSnapshot, ...]]:
    """Histories of equal length: claims that turn, pages that say nothing, empty snapshots."""
    random = Random(seed)
    odd = ("I don't know", "I don't know", UNREAD, UNWRITTEN, UNRELATED)
    found = []
    for number in range(6):
        history = []
        for step in range(STEPS):
            claims = random.choices(CITIES, k=random.randint(0, 4))
            if faults and random.random() < 0.4:
                claims.append(random.choice(odd))
            snapshot = make_snapshot(
                [f"Page {page} of {step}: {claim}." for page, claim in enumerate(claims)],
                question=f"Who won cup {number}?",
                query_id=f"cup-{number}",
                observed_at=OBSERVED_AT + timedelta(days=step),
            )
            tags = (LONG_FORM,) if number == 0 else ()
            pages = tuple(replace(d, url=f"https://e{d.rank}.org") for d in snapshot.documents)
            query = replace(snapshot.query, tags=tags)
            history.append(replace(snapshot, query=query, documents=pages))
        found.append(tuple(history))
    return found


def long_histories(seed: int) -> list[tuple[SearchSnapshot, ...]]:
    """The histories with each claim far from the start of a long page."""
    filler = "".join(f"On day {day} the weather stayed as it was.\n" for day in range(60))

    def longer(snapshot: SearchSnapshot) -> SearchSnapshot:
        cup = snapshot.query.text.removeprefix("Who won ").removesuffix("?")
        pages = (
            replace(d, text=f"{filler}Won {cup}, page {d.text.removeprefix('Page ')}")
            for d in snapshot.documents
        )
        return replace(snapshot, documents=tuple(pages))

    return [tuple(map(longer, history)) for history in histories_of(seed, faults=False)[1:]]


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Guards and engines are kept per process; each test starts with its own."""
    monkeypatch.setattr(build, "build_generator", lambda _: ScriptedGenerator(script=written))
    monkeypatch.setattr(build, "build_relations", lambda *_: Relations())
    yield
    build._pipeline.cache_clear()
    build._engine.cache_clear()


settings_in = partial(scripted_settings, batch={"snapshots": 3, "queries": 4})


def places(histories: Histories) -> dict[str, Key]:
    """Where a snapshot stands, by its id."""
    return {
        snapshot.id: (snapshot.query.id, place)
        for history in histories
        for place, snapshot in enumerate(history)
    }


def by_hand(
    histories: Histories, settings: Settings
) -> dict[Key, AnswerEvent | ModelError | EvidenceError]:
    """What a notebook gets: one snapshot after the other, an error leaving the memory alone."""
    guard, found = build_defense_pipeline(settings, shared_engine(settings)), {}
    for history in histories:
        memory = guard.initial_memory()
        for place, snapshot in enumerate(history):
            outcome: AnswerEvent | ModelError | EvidenceError
            try:
                outcome, memory = guard.answer(snapshot, memory)
            except (ModelError, EvidenceError) as error:
                outcome = error
            found[snapshot.query.id, place] = outcome
    return found


def records(histories: Histories, *, logged: bool) -> list[RawRecord]:
    """The snapshots as they come in: waves of all queries, or each history after the other."""
    snapshots = [s for wave in zip(*histories, strict=True) for s in wave]
    return [
        RawRecord("e/t/3", n, encode(s), log=LogPosition("e", 3, n) if logged else None)
        for n, s in enumerate(snapshots)
    ]


def in_log(
    outcomes: Sequence[AnswerEvent | DeadLetter], histories: Histories
) -> dict[Key, AnswerEvent | DeadLetter]:
    """Outcomes of `records` by where their snapshots stand."""
    keys = [
        (s.query.id, step) for step, wave in enumerate(zip(*histories, strict=True)) for s in wave
    ]
    place = places(histories)
    return {
        keys[o.position] if isinstance(o, DeadLetter) else place[o.snapshot_id]: o for o in outcomes
    }


def by_replay(histories: Histories, settings: Settings) -> dict[Key, Any]:
    """What the graph writes into the outbox."""
    lines = records(histories, logged=False)
    run_replay(settings, lambda: lines, "the input")
    queued = [record for _, record in pending(shared_engine(settings), 10_000)]
    answers = [decode_answer(r.data) for r in queued if r.topic == "answers.defended"]
    dead = [decode_dead_letter(r.data) for r in queued if r.topic == "snapshots.deadletter"]
    return in_log([*answers, *dead], histories)


def by_job(histories: Histories, settings: Settings) -> dict[Key, Any]:
    """What the continuous job's micro-batches lead to, in two parts that cut through histories."""
    batch, lines = MicroBatch(settings), records(histories, logged=True)
    half = len(lines) // 2 + 1
    return in_log([*batch(lines[:half]), *batch(lines[half:])], histories)


def by_program(histories: Histories, settings: Settings) -> dict[Key, Any]:
    """What the guard for programs gives, wave by wave; its questions have no tags."""
    found: dict[Key, Any] = {}
    with radarstream.Guard(settings=settings, memory=settings.database) as guard:
        for step, wave in enumerate(zip(*histories, strict=True)):
            asked = [s for s in wave if not s.query.long_form]
            told = [(s.query.text, s.documents, s.observed_at, s.query.id) for s in asked]
            given = guard.try_many([radarstream.Question(*one) for one in told])
            for snapshot, outcome in zip(asked, given, strict=True):
                key = snapshot.query.id, step
                found[key] = outcome
                if isinstance(outcome, radarstream.Answer):
                    assert [d.document for d in outcome.documents] == list(snapshot.documents)
                    found[key] = replace(outcome.event, provenance=snapshot.provenance)
    return found


def keep_apart(settings: Settings, histories: Histories) -> None:
    """A page is held in quarantine and a source is blocked, where that is asked for."""
    held = next(d for history in histories for s in history for d in s.documents)
    with shared_engine(settings).begin() as connection:
        judge(connection, "e2.org", SourceVerdict.BLOCKED, None, 0)
    hold(shared_engine(settings), held, query_id=histories[0][0].query.id, everywhere=True)


LONG = {"cup-0"}  # is answered at length
READING = {"reading": {"windows": 1, "window_characters": 60}, "defense": GIVE_ALL}
WARY_OF_TWO = {"name": "wary", "keep": 2}
RERANKED: dict[str, Any] = {"retrieval": WARY_OF_TWO, "defense": GIVE_ALL}
APART = {"attribution": {"enabled": True}, "defense": GIVE_ALL}
CONDITIONS: dict[str, tuple[Histories, dict[str, Any]]] = {
    "faults": (histories_of(0, faults=True), {}),
    "other faults": (histories_of(1, faults=True), {}),
    "long pages": (long_histories(3), READING),
    "a reranker": (histories_of(4, faults=True), RERANKED),
    "pages left out": (histories_of(4, faults=False)[1:], APART),
}


@pytest.mark.usefixtures("wary")
@pytest.mark.parametrize("road", [by_replay, by_job, by_program])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_road_gives_the_events_of_a_notebook(tmp_path, condition, road) -> None:
    histories, options = CONDITIONS[condition]
    hand, other = (settings_in(tmp_path / side, **options) for side in ("hand", "other"))
    if options is APART:
        for settings in (hand, other):
            keep_apart(settings, histories)
    expected, found = by_hand(histories, hand), road(histories, other)
    tagged = {key for key in expected if road is by_program and key[0] in LONG}
    assert found.keys() == expected.keys() - tagged
    for key, outcome in found.items():
        if isinstance(outcome, DeadLetter):
            assert outcome.reason is ReasonClass.MODEL_UNAVAILABLE
            assert isinstance(expected[key], ModelError)
        elif isinstance(outcome, Failure):
            assert type(outcome) is type(expected[key])
        else:
            assert outcome == expected[key]
    events = [outcome for outcome in expected.values() if isinstance(outcome, AnswerEvent)]
    assert (len(events) < len(expected)) is (condition in ("faults", "other faults", "a reranker"))
    assert any(city in event.answer for city in CITIES for event in events)
    reasons = {d.reason for event in events for d in event.verdict.documents}
    assert ({Reason.BLOCKED, Reason.QUARANTINED} <= reasons) is (options is APART)
    assert (max(len(event.seen) for event in events) == 2) is (options is RERANKED)


def test_the_histories_show_what_they_should(tmp_path: Path) -> None:
    """Every outcome that the other tests are to compare occurs in them."""
    found: list[Any] = []
    for seed in range(3):
        settings = settings_in(tmp_path / str(seed), defense={"withstand": seed % 2})
        found += by_hand(histories_of(seed, faults=True), settings).items()
    events = [event for _, event in found if isinstance(event, AnswerEvent)]
    failures = {str(event) for _, event in found if isinstance(event, ModelError)}
    assert failures == {"the generator failed", "the relation scorer failed"}
    assert {event.changed for event in events} == {None, False, True}
    assert any(event.abstention for event in events)
    assert {event.status for event in events} == set(AnswerStatus)
    assert any(not event.sources for event in events)
    assert any(event.undefended_answer is None for event in events)
    assert any(event.undefended_answer not in (None, event.answer) for event in events)
    assert {event.verdict.memory.decision for event in events} == set(MemoryDecision)
    long = [e.answer for e in events if e.tags and not e.abstention]
    assert long and all(answer.startswith("At length") for answer in long)
    short = [e.answer for e in events if not e.tags and not e.abstention]
    assert short and not any(answer.startswith("At length") for answer in short)


def bench_in(directory: Path) -> Bench:
    return Bench(directory, generator=ScriptedGenerator(script=written), relations=Relations())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("contender", "defense"),
    [
        ("radar", {"name": "radar"}),
        ("voices", {}),
        (PRODUCTION, {}),
        (PRODUCTION, {"withstand": 2, "options": {"memory_days": 3}}),
    ],
    ids=["published", "production by its name", "production", "production, set"],
)
def test_a_study_scores_the_verdicts_of_a_notebook(tmp_path, seed, contender, defense) -> None:
    histories = histories_of(seed, faults=True)
    settings = settings_in(tmp_path / "hand", defense=defense)
    expected = by_hand(histories, settings)
    listed = parse_contenders(contender, settings.defense)
    study = bench_in(tmp_path / "study").run(make_dataset(*histories), listed, ["benign"])
    rows = {(r.query_id, r.step): r for r in cell_rows(study, contender, "benign")}
    assert rows.keys() == expected.keys()
    for key, outcome in expected.items():
        row = rows[key]
        if isinstance(outcome, AnswerEvent):
            assert (row.verdict, row.changed, row.error) == (outcome.verdict, outcome.changed, None)
        else:
            assert (row.verdict, row.changed) == (None, None)
            assert row.error == f"ModelError: {outcome}"


def scripted_models() -> Models:
    return Models(ScriptedGenerator(script=written), Relations(), ScriptedEmbedder())


def test_attribution_reproduces_the_undefended_answers(tmp_path: Path) -> None:
    """In studies and in the job, from the same documents."""
    histories = histories_of(1, faults=True)
    expected = by_hand(histories, settings_in(tmp_path / "hand"))
    short = [s for history in histories for s in history if not s.query.long_form]
    asked = [undefended_answer(snapshot.query.text, snapshot.documents) for snapshot in short]
    again = drive(asked, scripted_models())
    place, compared = places(histories), 0
    for snapshot, answer in zip(short, again, strict=True):
        event = expected[place[snapshot.id]]
        if not isinstance(event, AnswerEvent):
            continue
        compared += 1
        if isinstance(answer, ModelError):
            assert event.undefended_answer is None
            continue
        assert event.undefended_answer == ("" if answer.abstained else answer.text)
        if event.undefended_answer:
            inquiry = Inquiry(snapshot, event.undefended_answer)
            assert drive([was_given(inquiry)], scripted_models()) == [True]
            assert drive([was_given(replace(inquiry, answer="Cork"))], scripted_models()) == [False]
    assert compared > 10


def test_the_job_investigates_long_answers_at_length(tmp_path: Path) -> None:
    """What it answers again is what it answered, for long answers too."""
    histories = histories_of(1, faults=False)
    settings = settings_in(tmp_path / "hand")
    expected = by_hand(histories, settings)
    worker = worker_on(shared_engine(settings), models=scripted_models())
    compared = 0
    for place, snapshot in enumerate(histories[0]):
        event = expected[snapshot.query.id, place]
        assert isinstance(event, AnswerEvent)
        said = event.undefended_answer
        if said:
            compared += 1
            assert said.startswith("At length")
            case = KeptAnswer.of(event, snapshot)
            for wrong in (said, said.removeprefix("At length ")):
                assert worker.driven(was_given(Inquiry(snapshot, wrong)), case) is (wrong == said)
    assert compared > 2


def test_a_snapshot_that_the_defence_refuses_costs_no_other(tmp_path, monkeypatch) -> None:
    class Fussy(Vanilla):
        def defend(self, evidence: Evidence, state: None) -> Defending[None]:
            if evidence.query.id == "cup-1":
                raise EvidenceError("too many cups")
            return (yield from Vanilla.defend(self, evidence, state))

    monkeypatch.setitem(DEFENSES, "vanilla", Fussy)
    fussy = {"name": "vanilla", "compare_with": ""}
    histories = histories_of(2, faults=False)
    expected = by_hand(histories, settings_in(tmp_path / "hand", defense=fussy))
    outcomes = by_job(histories, settings_in(tmp_path / "job", defense=fussy))
    events = {key: o for key, o in outcomes.items() if isinstance(o, AnswerEvent)}
    assert events == {key: o for key, o in expected.items() if isinstance(o, AnswerEvent)}
    assert {query for query, _ in expected.keys() - events.keys()} == {"cup-1"}
    letters = [(o.reason, o.detail) for o in outcomes.values() if isinstance(o, DeadLetter)]
    assert letters == [(ReasonClass.INTERNAL_ERROR, "EvidenceError: too many cups")] * STEPS


BROKEN = b'{"schema": "search.snapshot/1", '


def test_the_job_decodes_a_record_once(tmp_path: Path, monkeypatch) -> None:
    """It is ordered by its time, held back, and answered or refused, by one decoding."""
    decodings: list[bytes] = []
    decode = decoding.decode_snapshot
    monkeypatch.setattr(
        decoding,
        "decode_snapshot",
        lambda data, **how: decodings.append(data) or decode(data, **how),
    )
    settings = settings_in(tmp_path / "job", job={"allowed_lateness_s": 60.0})
    lines = records(histories_of(2, faults=False)[:2], logged=True)
    lines.append(RawRecord("e/t/3", 99, BROKEN, log=LogPosition("e", 3, 99)))
    holding = hold_back(settings)
    released = holding.take(lines, 0.0, {3: 0}) + holding.take([], 61.0, {3: 0})
    outcomes = MicroBatch(settings)(released)
    assert sorted(decodings) == sorted(line.payload for line in lines)
    assert sum(isinstance(outcome, AnswerEvent) for outcome in outcomes) == len(lines) - 1
    (letter,) = (outcome for outcome in outcomes if isinstance(outcome, DeadLetter))
    assert (letter.reason, letter.position) == (ReasonClass.MALFORMED_JSON, 99)


def test_studies_and_attribution_read_the_same_of_a_long_page(tmp_path: Path) -> None:
    histories = long_histories(3)
    settings = settings_in(tmp_path / "hand", **READING)
    expected = by_hand(histories, settings)
    study = bench_in(tmp_path / "study")
    study.reading = READING["reading"]
    result = study.run(make_dataset(*histories), EASY, ["benign"])
    for row in cell_rows(result, EASY, "benign"):
        assert row.verdict == expected[row.query_id, row.step].verdict  # type: ignore[union-attr]
    worker = worker_on(shared_engine(settings), models=scripted_models())
    worker.reading = settings.reading
    for history in histories:
        for step, snapshot in enumerate(history):
            event = expected[snapshot.query.id, step]
            assert isinstance(event, AnswerEvent)
            if event.undefended_answer:
                kept = KeptAnswer.of(replace(event, answer=""), snapshot)
                asked = Inquiry(snapshot, event.undefended_answer, read=worker.read(kept, ()))
                assert worker.driven(was_given(asked), kept)


@pytest.mark.usefixtures("wary")
def test_a_study_judges_the_documents_that_a_reranker_kept(tmp_path: Path) -> None:
    histories = histories_of(4, faults=True)[1:]
    expected = by_hand(histories, settings_in(tmp_path / "hand", **RERANKED))
    bench = bench_in(tmp_path / "study")
    bench.retrieval, bench.gradients = WARY_OF_TWO, ScriptedGradients()
    study = bench.run(make_dataset(*histories), EASY, ["benign"])
    evidence = read_evidence(tmp_path / "study")
    for row in cell_rows(study, EASY, "benign"):
        event = expected[row.query_id, row.step]
        if isinstance(event, Failure):
            assert row.error is not None
            continue
        assert row.verdict == replace(event.verdict, documents=event.seen)
        assert evidence["benign", row.query_id, row.step].reranking == event.reranking
    record = stored_record(tmp_path / "study")
    assert '"name":"wary"' in record.facts["reranker"]
    assert any("the reranker wary chose at most 2 documents" in note for note in record.notes)
    bench.retrieval = WARY_OF_TWO | {"keep": 3}
    with pytest.raises(ConfigurationError, match="reranker"):
        bench.run(make_dataset(*histories), EASY, ["benign"])


def test_the_service_gives_the_events_of_a_program_with_the_same_memory(tmp_path: Path) -> None:
    """Each step is asked of the service first, which reads the memory and never writes it."""
    histories = histories_of(4, faults=True)[1:]
    options: dict[str, Any] = {"attribution": {"enabled": True}}
    settings = settings_in(tmp_path / "state", defense={"compare_with": "", **GIVE_ALL}, **options)
    engine = shared_engine(settings)
    with engine.begin() as connection:
        judge(connection, "e2.org", SourceVerdict.BLOCKED, None, 0)
    off = settings.orchestration.model_copy(update={"policy": "none", "always": ()})
    service = build_answerer(settings.model_copy(update={"orchestration": off}), engine=engine)
    compared, failed, blocked = 0, 0, 0
    with radarstream.Guard(settings=settings, memory=settings.database) as guard:
        for wave in zip(*histories, strict=True):
            given = [s for s in wave if s.documents]
            of_users = [
                (s.query.text, "", s.observed_at, Origin.DOCUMENTS, 10, s.documents) for s in given
            ]
            replies = service.answer_all([UserQuestion(*one) for one in of_users])
            asked = [radarstream.Question(s.query.text, s.documents, s.observed_at) for s in given]
            for reply, outcome in zip(replies, guard.try_many(asked), strict=True):
                if not isinstance(outcome, radarstream.Answer):
                    assert type(reply) is type(outcome)
                    failed += 1
                    continue
                assert isinstance(reply, Reply)
                assert reply.event == outcome.event
                compared += 1
                blocked += any(d.reason is Reason.BLOCKED for d in reply.event.verdict.documents)
    assert compared > 10 and failed and blocked
