"""All roads on the same snapshots: a notebook, Beam, the job, studies and attribution agree."""

from collections.abc import Callable, Iterator, Sequence
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
from radarstream.defenses.vanilla import Vanilla
from radarstream.lab.attribution.events import answered
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
UNREAD, UNWRITTEN, UNRELATED = "Unread", "Unwritten", "Unrelated"  # what models fail on
CITIES = ("Rome", "Rome", "Rome", "Oslo", "Bern")
STEPS = 5
EASY = "voices:withstand=0"  # GIVE_ALL in a study


@dataclass
class Generator(ScriptedGenerator):
    """Fails on documents that say `UNREAD`, and on any later prompt with `UNWRITTEN`."""

    def complete(self, prompts: Sequence[Prompt]) -> Any:
        for prompt in prompts:
            early = prompt.task in (Task.ATOMIC_ANSWER, Task.DESCRIBE_FROM_PASSAGE)
            if any((UNREAD if early else UNWRITTEN) in passage for passage in prompt.passages):
                raise ModelError("the generator failed")
        return super().complete(prompts)


@dataclass
class Relations(ScriptedRelations):
    """Fails on answers that say `UNRELATED`."""

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        if any(UNRELATED in pair.premise + pair.hypothesis for pair in pairs):
            raise ModelError("the relation scorer failed")
        return super().probabilities(pairs)


def written(prompt: Prompt) -> str:
    """The claim of most passages; shown to be long where a description is asked for."""
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


@pytest.fixture(autouse=True)
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Guards and engines are kept per process; each test starts with its own."""
    monkeypatch.setattr(build, "build_generator", lambda _: Generator(script=written))
    monkeypatch.setattr(build, "build_relations", lambda *_: Relations())
    yield
    build._pipeline.cache_clear()
    build._engine.cache_clear()


settings_in = partial(scripted_settings, batch={"snapshots": 3, "queries": 4})


def places(histories: Sequence[Sequence[SearchSnapshot]]) -> dict[str, Key]:
    """Where a snapshot stands, by its id."""
    return {
        snapshot.id: (snapshot.query.id, place)
        for history in histories
        for place, snapshot in enumerate(history)
    }


def by_hand(
    histories: Sequence[Sequence[SearchSnapshot]], settings: Settings
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


def records(histories: Sequence[Sequence[SearchSnapshot]], *, logged: bool) -> list[RawRecord]:
    """The snapshots as they come in: waves of all queries, or each history after the other."""
    snapshots = [s for wave in zip(*histories, strict=True) for s in wave]
    return [
        RawRecord("e/t/3", n, encode(s), log=LogPosition("e", 3, n) if logged else None)
        for n, s in enumerate(snapshots)
    ]


def by_replay(
    histories: Sequence[Sequence[SearchSnapshot]], settings: Settings
) -> list[AnswerEvent | DeadLetter]:
    """What the graph writes into the outbox."""
    lines = records(histories, logged=False)
    run_replay(settings, lambda: lines, "the input")
    queued = [record for _, record in pending(shared_engine(settings), 10_000)]
    answers = [decode_answer(r.data) for r in queued if r.topic == "answers.defended"]
    dead = [decode_dead_letter(r.data) for r in queued if r.topic == "snapshots.deadletter"]
    return [*answers, *dead]


def by_job(
    histories: Sequence[Sequence[SearchSnapshot]], settings: Settings
) -> list[AnswerEvent | DeadLetter]:
    """What the continuous job's micro-batches lead to, in two parts that cut through histories."""
    batch, lines = MicroBatch(settings), records(histories, logged=True)
    half = len(lines) // 2 + 1
    return [*batch(lines[:half]), *batch(lines[half:])]


Road = Callable[[Sequence[Sequence[SearchSnapshot]], Settings], list[AnswerEvent | DeadLetter]]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("road", [by_replay, by_job])
def test_beam_gives_the_events_of_a_notebook(tmp_path: Path, seed: int, road: Road) -> None:
    histories = histories_of(seed, faults=True)
    expected = by_hand(histories, settings_in(tmp_path / "hand"))
    outcomes = road(histories, settings_in(tmp_path / "beam"))
    place, events = places(histories), answers_in(outcomes, histories)
    assert events == {key: o for key, o in expected.items() if isinstance(o, AnswerEvent)}
    letters = [o for o in outcomes if isinstance(o, DeadLetter)]
    assert {letter.reason for letter in letters} == {ReasonClass.MODEL_UNAVAILABLE}
    wanted = [line.position for line in records(histories, logged=True)]
    by_position = dict(zip(wanted, sorted_by_wave(place), strict=True))
    failed = {key for key, o in expected.items() if isinstance(o, ModelError)}
    assert {by_position[letter.position] for letter in letters} == failed


def sorted_by_wave(place: dict[str, Key]) -> list[Key]:
    """All places in the order in which records come in."""
    return sorted(place.values(), key=lambda key: (key[1], key[0]))


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
    return Bench(directory, generator=Generator(script=written), relations=Relations())


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


def answers_in(
    outcomes: Sequence[AnswerEvent | DeadLetter], histories: Sequence[Sequence[SearchSnapshot]]
) -> dict[Key, AnswerEvent]:
    """The answers among outcomes, by where their snapshots stand."""
    place = places(histories)
    return {place[o.snapshot_id]: o for o in outcomes if isinstance(o, AnswerEvent)}


def scripted_models() -> Models:
    return Models(Generator(script=written), Relations(), ScriptedEmbedder())


def test_attribution_reproduces_the_undefended_answers(tmp_path: Path) -> None:
    """In studies and in the job, from the same documents."""
    histories = histories_of(1, faults=True)
    expected = by_hand(histories, settings_in(tmp_path / "hand"))
    short = [s for history in histories for s in history if not s.query.long_form]
    asked = [(snapshot.query.text, snapshot.documents) for snapshot in short]
    again = answered(asked, scripted_models())
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
    events = answers_in(outcomes, histories)
    assert events == {key: o for key, o in expected.items() if isinstance(o, AnswerEvent)}
    assert {query for query, _ in expected.keys() - events.keys()} == {"cup-1"}
    letters = [(o.reason, o.detail) for o in outcomes if isinstance(o, DeadLetter)]
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


def test_every_road_reads_the_same_of_a_long_page(tmp_path: Path) -> None:
    histories = long_histories(3)
    reading = {"windows": 1, "window_characters": 60}
    settings = settings_in(tmp_path / "hand", reading=reading, defense=GIVE_ALL)
    expected = by_hand(histories, settings)
    answers = [e.answer for e in expected.values() if isinstance(e, AnswerEvent)]
    assert any(city in answer for city in CITIES for answer in answers)
    for name, road in (("replay", by_replay), ("job", by_job)):
        outcomes = road(histories, settings_in(tmp_path / name, reading=reading, defense=GIVE_ALL))
        assert answers_in(outcomes, histories) == expected
    study = bench_in(tmp_path / "study")
    study.reading = reading
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


WARY_OF_TWO = {"name": "wary", "keep": 2}


@pytest.mark.usefixtures("wary")
@pytest.mark.parametrize("options", [{}, {"retrieval": WARY_OF_TWO, "defense": GIVE_ALL}])
def test_the_guard_for_programs_gives_the_events_of_a_notebook(tmp_path, options) -> None:
    histories = histories_of(4, faults=True)[1:]  # a question in a program has no tags
    settings = settings_in(tmp_path / "hand", **options)
    expected = by_hand(histories, settings)
    failures = [key for key, outcome in expected.items() if isinstance(outcome, Failure)]
    assert 0 < len(failures) < len(expected)
    with radarstream.Guard(settings=settings, memory=tmp_path / "memory.db") as guard:
        for step, wave in enumerate(zip(*histories, strict=True)):
            told = [(s.query.text, s.documents, s.observed_at, s.query.id) for s in wave]
            asked = [radarstream.Question(*one) for one in told]
            for snapshot, outcome in zip(wave, guard.try_many(asked), strict=True):
                known = expected[snapshot.query.id, step]
                if isinstance(known, Failure):
                    assert type(outcome) is type(known)
                    continue
                assert isinstance(outcome, radarstream.Answer)
                assert replace(outcome.event, provenance=known.provenance) == known
                assert [d.rank for d in outcome.documents] == [d.rank for d in snapshot.documents]
                assert [d.document for d in outcome.documents] == list(snapshot.documents)


@pytest.mark.usefixtures("wary")
def test_every_road_judges_the_documents_that_a_reranker_kept(tmp_path: Path) -> None:
    """Notebook, replay, job, programs and studies choose the same ones, and tell the same of it."""
    histories = histories_of(4, faults=True)[1:]
    options: dict[str, Any] = {"retrieval": WARY_OF_TWO, "defense": GIVE_ALL}
    expected = by_hand(histories, settings_in(tmp_path / "hand", **options))
    events = {key: o for key, o in expected.items() if isinstance(o, AnswerEvent)}
    assert any(e.reranking and e.reranking.dropped for e in events.values())
    assert max(len(e.seen) for e in events.values()) == 2
    for name, road in (("replay", by_replay), ("job", by_job)):
        outcomes = road(histories, settings_in(tmp_path / name, **options))
        assert (answers_in(outcomes, histories), len(outcomes)) == (events, len(expected))


@pytest.mark.usefixtures("wary")
def test_a_study_judges_the_documents_that_a_reranker_kept(tmp_path: Path) -> None:
    histories = histories_of(4, faults=True)[1:]
    options: dict[str, Any] = {"retrieval": WARY_OF_TWO, "defense": GIVE_ALL}
    expected = by_hand(histories, settings_in(tmp_path / "hand", **options))
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


def test_every_road_leaves_out_the_same_documents(tmp_path: Path) -> None:
    """A page in quarantine and one of a blocked source, whatever road they come by."""
    histories = histories_of(4, faults=False)[1:]
    held = next(d for history in histories for s in history for d in s.documents)
    found: dict[str, dict[Key, Any]] = {}
    for name, road in (("hand", None), ("replay", by_replay), ("job", by_job)):
        settings = settings_in(tmp_path / name, attribution={"enabled": True}, defense=GIVE_ALL)
        with shared_engine(settings).begin() as connection:
            judge(connection, "e2.org", SourceVerdict.BLOCKED, None, 0)
        hold(shared_engine(settings), held, query_id=histories[0][0].query.id, everywhere=True)
        asked = (histories, settings)
        found[name] = answers_in(road(*asked), histories) if road else by_hand(*asked)
    assert found["replay"] == found["job"] == found["hand"]
    reasons = {d.reason for event in found["hand"].values() for d in event.verdict.documents}
    assert {Reason.BLOCKED, Reason.QUARANTINED} <= reasons
