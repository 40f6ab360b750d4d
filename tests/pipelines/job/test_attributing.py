"""From a complaint to its status: priority, budget, failures, idempotence, trust, quarantine."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import Engine
from structlog.testing import capture_logs

from radarstream.connectors.models.answer_agreement import AnswerAgreement
from radarstream.connectors.state_table.incidents import complaints, senders, store
from radarstream.connectors.state_table.incidents.complaints import next_open
from radarstream.connectors.state_table.incidents.kept_answers import find_answer
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine, withheld_keys
from radarstream.connectors.state_table.queries.lookup import ANYWHERE, queries_named
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.connectors.state_table.sources import (
    SourceVerdict,
    find_source,
    judge,
    list_sources,
)
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.job.incidents.attributing import EMBEDDED_AT_ONCE
from radarstream.pipelines.job.incidents.intake import RefusedComplaintError, take_in
from radarstream.pipelines.job.incidents.settling import LANE, decide, settle
from radarstream.pipelines.settings import AttributionSettings
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.codec import encode_state
from radarstream.schemas.incidents import (
    Complaint,
    ComplaintState,
    Decision,
    SenderRecord,
    Status,
    TaughtEvent,
    text_key,
)
from radarstream.schemas.memory import Belief
from radarstream.schemas.snapshot import Document
from tests.builders import QUESTION
from tests.pipelines.job.attributing_rig import (
    DEFAULT,
    LIED,
    NOW,
    Naming,
    complained,
    complaint,
    events_of,
    keep,
    release,
    run_out,
    trusted,
    worker_on,
)
from tests.scripted_models import scripted_models

NOW_MS = int(NOW.timestamp() * 1000)


def record_of(engine: Engine, sender: str) -> SenderRecord:
    with engine.connect() as connection:
        return senders.record_of(connection, sender)


def decided(engine: Engine, stored, decision: Decision, *, now_ms: int) -> TaughtEvent:
    """Decide about an answer that was attributed; the event of it."""
    event = decide(engine, stored, decision, DEFAULT, now_ms=now_ms)
    assert event is not None
    return event


def states(engine: Engine) -> dict[str, str]:
    return {row["sender"]: row["state"] for row in complaints.find_complaints(engine)}


def test_a_stranger_only_proposes(engine: Engine) -> None:
    snapshot = keep(engine)
    complaint(engine, "eve")
    (event,) = run_out(worker_on(engine))
    assert event.status is Status.PROPOSED
    assert {text.url for text in event.flagged} == {d.url for d in snapshot.documents[:3]}
    assert {text.search_rank for text in event.flagged} == {1, 2, 3}
    assert (event.answer_without, event.persists, event.reproduced) == ("Oslo", False, True)
    assert (event.senders, withheld_keys(engine, ["cup"])) == (1, {})
    assert len(list_quarantine(engine, active_only=False)) == 3
    assert states(engine) == {"eve": "judged"}


def test_two_trusted_senders_have_the_texts_quarantined(engine: Engine) -> None:
    trusted(engine, "ada", "bob")
    snapshot = keep(engine)
    worker = worker_on(engine)
    run_out(worker)
    worker.metrics.statuses.clear()
    complaint(engine, "ada")
    assert [e.status for e in run_out(worker)] == [Status.PROPOSED]
    asked = len(worker.models.generator.log)
    complaint(engine, "bob")
    last = run_out(worker)[-1]
    assert (last.status, last.revision, last.senders) == (Status.QUARANTINED, 1, 2)
    assert len(worker.models.generator.log) == asked, "no model is asked a second time"
    keys = {text_key(document) for document in snapshot.documents[:3]}
    assert withheld_keys(engine, ["cup", "other"]) == {"cup": frozenset(keys)}


def test_the_memory_unlearns_a_lie_once_its_texts_are_removed(engine: Engine) -> None:
    (stored,), row = complained(engine), remembering("cup", "Rome")
    commit_fold(engine, None, row)
    run_out(worker_on(engine))
    assert load(engine, ["cup"]) == {"cup": row}, "a proposal touches nothing"
    decide(engine, stored, Decision.APPROVED, Rules(), now_ms=NOW_MS + 1)
    assert load(engine, ["cup"])["cup"].state == encode_state(None)
    learned = replace(row, step=2)
    commit_fold(engine, load(engine, ["cup"])["cup"], learned)
    settle(engine, stored, Rules(), now_ms=NOW_MS + 2)
    assert load(engine, ["cup"]) == {"cup": learned}, "only when the removal begins"


def confirmed(engine: Engine, name: str, query_id: str, answer: str, step: int = 0) -> None:
    """A person confirms a complaint of a lie at a step of a query."""
    keep(engine, [answer, "Oslo", "Oslo"], answer=answer, query_id=query_id, step=step)
    stored = complaint(engine, name, query_id=query_id, step=step, now=NOW - timedelta(days=3))
    decide(engine, stored, Decision.APPROVED, DEFAULT, now_ms=stored.received_ms + 1)


def test_two_accomplices_need_three_confirmed_lies_each(engine: Engine) -> None:
    """One lie at three steps is one lie; other queries, or other lies, make a record."""
    for name in ("ada", "bob"):
        for step in range(3):
            confirmed(engine, name, f"bait-{name}", "Rome", step)
        confirmed(engine, name, f"bait-{name}", "Bern", 3)
    keep(engine)
    complaint(engine, "ada")
    complaint(engine, "bob")
    worker = worker_on(engine)
    assert record_of(engine, "ada") == SenderRecord(2, waiting=1)
    assert [e.status for e in run_out(worker) if e.query_id == "cup"] == [Status.PROPOSED]
    confirmed(engine, "ada", "more", "Rome")
    confirmed(engine, "bob", "more", "Rome")
    assert record_of(engine, "ada") == SenderRecord(3, waiting=1)
    keep(engine, step=1)
    for name in ("ada", "bob"):
        complaint(engine, name, step=1)
    assert [e.status for e in run_out(worker) if e.query_id == "cup"][-1] is Status.QUARANTINED


def test_what_is_kept_for_long_enough_goes_and_a_verdict_on_a_source_stays(engine: Engine) -> None:
    for name in ("a", "b"):
        (stored,) = complained(engine, name)
        run_out(worker_on(engine))
        decide(engine, stored, Decision.APPROVED, DEFAULT, now_ms=NOW_MS)
    with engine.begin() as connection:
        judge(connection, "site1.example", SourceVerdict.BLOCKED, None, NOW_MS)
    release(engine, "a")
    worker = worker_on(engine)
    worker.prune()
    assert len(complaints.find_complaints(engine)) == 2
    worker.clock.seconds = 400 * 86_400.0  # type: ignore[attr-defined]
    worker.prune()
    assert {row["query_id"] for row in list_quarantine(engine, active_only=False)} == {"b"}
    assert [event.query_id for event in events_of(engine)] == ["b"]
    with engine.connect() as connection:
        (source,) = (s for s in list_sources(connection) if s.domain == "site1.example")
    assert source.verdict is SourceVerdict.BLOCKED
    assert [blame.query_id for blame in source.blame] == ["b"]
    assert [row["query_id"] for row in complaints.find_complaints(engine)] == ["b"]


def test_a_decision_counts_and_can_be_taken_back(engine: Engine) -> None:
    (stored,) = complained(engine)
    run_out(worker_on(engine))
    event = decided(engine, stored, Decision.APPROVED, now_ms=NOW_MS + 1)
    assert (event.status, event.revision) == (Status.APPROVED, 1)
    assert len(withheld_keys(engine, ["cup"])["cup"]) == 3
    assert withheld_keys(engine, ["other"]) == {}
    assert record_of(engine, "eve") == SenderRecord(1, 0)
    event = decided(engine, stored, Decision.DISMISSED, now_ms=NOW_MS + 2)
    assert (event.status, event.revision) == (Status.DISMISSED, 2)
    assert withheld_keys(engine, ["cup"]) == {}
    assert record_of(engine, "eve") == SenderRecord(0, 1)
    decide(engine, stored, Decision.APPROVED, DEFAULT, now_ms=NOW_MS + 3, everywhere=True)
    everywhere = withheld_keys(engine, ["any", "other"])  # which only a decision reaches
    assert everywhere["any"] == everywhere["other"] and len(everywhere["any"]) == 3


def test_where_the_model_erred_nobody_is_blamed(engine: Engine) -> None:
    """A third verdict: the texts are let back in, the sender was right."""
    trusted(engine, "ada", "bob")
    worker = worker_on(engine)
    run_out(worker)
    commit_fold(engine, None, remembering("errs", "Rome"))
    stored, _ = complained(engine, "errs", by=("ada", "bob"))
    assert run_out(worker)[-1].status is Status.QUARANTINED
    event = decided(engine, stored, Decision.MODEL_ERRED, now_ms=NOW_MS + 1)
    assert (event.status, event.model_erred) == (Status.NOTHING_FLAGGED, True)
    assert withheld_keys(engine, ["errs"]) == {}
    assert load(engine, ["errs"])["errs"].state == encode_state(None), "it would repeat the answer"
    assert record_of(engine, "ada") == SenderRecord(4)
    again = settle(engine, stored, DEFAULT, now_ms=NOW_MS + 2)
    assert again == event, "said once, published once"
    complaint(engine, "zoe", query_id="errs")
    assert run_out(worker)[-1].model_erred, "who complains later changes nothing"
    event = decided(engine, stored, Decision.APPROVED, now_ms=NOW_MS + 3)
    assert (event.status, event.model_erred) == (Status.APPROVED, False)
    assert len(withheld_keys(engine, ["errs"])["errs"]) == 3


def remembering(query_id: str, answer: str) -> MemoryRow:
    return MemoryRow(query_id, "radar", 1, 0, "log", 0, 0, encode_state(Belief(answer, 0.9, 0.1)))


def test_that_the_model_erred_is_news_where_nothing_was_flagged(engine: Engine) -> None:
    (stored,) = complained(engine, winners=("Rome", "Rome", "Rome"))
    (found,) = run_out(worker_on(engine))
    assert (found.status, found.model_erred) == (Status.NOTHING_FLAGGED, False)
    assert record_of(engine, "eve") == SenderRecord(unconfirmed=1)
    event = decided(engine, stored, Decision.MODEL_ERRED, now_ms=NOW_MS)
    assert ((event.revision, event.model_erred), len(pending(engine))) == ((1, True), 2)
    assert record_of(engine, "eve") == SenderRecord(confirmed=1)


def test_the_model_erred_may_be_said_before_the_attribution(engine: Engine) -> None:
    commit_fold(engine, None, remembering("cup", "Rome"))
    (stored,) = complained(engine)
    assert decide(engine, stored, Decision.MODEL_ERRED, DEFAULT, now_ms=NOW_MS) is None
    assert load(engine, ["cup"])["cup"].state == encode_state(None)
    worker = worker_on(engine)
    complaint(engine, "bob")
    assert (run_out(worker), worker.models.generator.log) == ([], [])
    assert set(states(engine).values()) == {"judged"}
    assert record_of(engine, "eve") == SenderRecord(1)


def test_what_was_never_answered_is_unverified_and_costs_no_attribution(engine: Engine) -> None:
    keep(engine)
    stored = complaint(engine, "eve", "Bern")
    worker = worker_on(engine, attributor=None)
    (event,) = run_out(worker)
    assert (event.status, event.finding, event.reproduced) == (Status.UNVERIFIED, None, False)
    assert event.texts == ()
    # A person insists: now the texts are looked for.
    assert decide(engine, stored, Decision.APPROVED, Rules(), now_ms=NOW_MS) is None
    last = run_out(worker)[-1]
    assert (last.status, last.revision) == (Status.NOTHING_FLAGGED, 1)
    assert not worker.step()


class First(Naming):
    """Flags one of the texts that name the answer."""

    def attribute(self, incident):
        found = yield from super().attribute(incident)
        kept = [replace(text, flagged=text.id == found.flagged[0]) for text in found.texts]
        return replace(found, texts=tuple(kept))


def test_an_answer_that_persists_is_restored_whoever_complains(engine: Engine) -> None:
    trusted(engine, "ada", "bob")
    complained(engine, by=("ada", "bob"), winners=("Rome", "Rome", "Rome", "Oslo"))
    worker = worker_on(engine, attributor=First())
    assert {e.status for e in run_out(worker) if e.query_id == "cup"} == {Status.RESTORED}
    assert "cup" not in withheld_keys(engine, ["cup"])


@pytest.mark.parametrize("before", [False, True])
def test_a_person_knows_better_than_the_model_that_an_answer_persists(engine, before) -> None:
    """The decision holds, given before or after the finding, and no later complaint undoes it."""
    snapshot = keep(engine, ("Rome", "Rome", "Rome", "Oslo"), answer="Rome")
    commit_fold(engine, None, remembering("cup", "Rome"))
    stored = complaint(engine, "eve")
    worker = worker_on(engine, attributor=First())
    if not before:
        assert run_out(worker)[-1].status is Status.RESTORED
    decide(engine, stored, Decision.APPROVED, DEFAULT, now_ms=NOW_MS)
    if before:
        event = run_out(worker)[-1]
        assert (event.status, event.persists) == (Status.APPROVED, True)
    held = withheld_keys(engine, ["cup"])
    assert len(held["cup"] & {text_key(document) for document in snapshot.documents[:3]}) == 1
    assert load(engine, ["cup"])["cup"].state == encode_state(None)
    complaint(engine, "zoe")
    keep(engine, ("Rome", "Rome", "Oslo"), answer="Rome", step=1)
    complaint(engine, "zoe", step=1)
    run_out(worker)
    incident: Any = store.look(engine, stored.incident)
    assert incident.event.status is Status.APPROVED
    assert withheld_keys(engine, ["cup"]) == held


def test_a_list_that_loses_its_lie_does_not_persist(engine: Engine) -> None:
    """One answer that follows from the other is not yet the same answer."""
    complained(engine, winners=("Ann Lee and Bo Day", "Ann Lee", "Ann Lee", "Ann Lee"))
    models = replace(scripted_models(), relations=AnswerAgreement())
    event = run_out(worker_on(engine, models=models))[-1]
    assert (event.answer_without, event.persists) == ("Ann Lee", False)
    assert event.status is Status.PROPOSED


def test_nothing_is_removed_that_would_leave_no_answer(engine: Engine) -> None:
    trusted(engine, "ada", "bob")
    run_out(worker_on(engine))
    complained(engine, by=("ada", "bob"), winners=("Rome", "Rome", "I don't know"))
    last = run_out(worker_on(engine))[-1]
    assert (last.status, last.answer_without) == (Status.HUMAN_REVIEW, None)
    assert withheld_keys(engine, ["cup"]) == {}


def test_of_two_workers_the_first_ones_finding_stays(engine: Engine) -> None:
    (stored,) = complained(engine)
    slow, quick = worker_on(engine), worker_on(engine, attributor=Naming(gap=3.0))
    case = find_answer(engine, "cup")
    assert case is not None
    slow_found = slow.investigated(stored, case, insist=False)
    (event,) = run_out(quick)
    with engine.begin() as connection:
        complaints.reopen(connection, stored.incident)
    slow.investigated = lambda *_, **__: slow_found  # type: ignore[method-assign]
    slow.attribute(stored, insist=False)
    (late,) = slow.metrics.statuses
    assert (late, late.gap) == (event, 3.0)
    assert sum(record.lane == LANE for _, record in pending(engine)) == 1


def test_priority(engine: Engine) -> None:
    trusted(engine, "ada")
    run_out(worker_on(engine))
    for step in (0, 1):
        keep(engine, step=step)
    keep(engine, query_id="decision")
    complaint(engine, "eve", step=0, now=NOW - timedelta(hours=1))  # an older answer
    complaint(engine, "eve", step=1)
    complaint(engine, "ada", step=1, answer="Oslo", now=NOW)
    worded = complaint(engine, "zoe", query_id="decision")
    decide(engine, worded, Decision.APPROVED, Rules(), now_ms=NOW_MS)
    worker = worker_on(engine)
    done = [(e.query_id, e.step, e.answer) for e in run_out(worker)]
    assert done == [
        ("decision", 0, "Rome"),
        ("cup", 1, "Oslo"),
        ("cup", 1, "Rome"),
        ("cup", 0, "Rome"),
    ]


def test_the_budget_of_attributions(engine: Engine) -> None:
    complained(engine, "q0", "q1", "q2", "q3")
    worker = worker_on(engine, attributions_per_hour=4)
    done = run_out(worker)
    assert len(done) == 2, "strangers have half of it"
    with capture_logs() as logs:
        worker.budget.tell_waiting()
    assert [(line["complaints"], line["log_level"]) for line in logs] == [(2, "warning")]
    assert "trusted senders" in logs[0]["reason"]
    complaint(engine, "ada", query_id=done[0].query_id)  # about what was attributed: costs nothing
    assert len(run_out(worker)) == 3
    worker.clock.seconds += 61 * 60.0
    assert len(run_out(worker)) == 5
    with capture_logs() as logs:
        worker.budget.tell_waiting()
    assert (logs, set(states(engine).values())) == ([], {"judged"})


def test_the_budget_of_model_calls(engine: Engine) -> None:
    (stored,) = complained(engine)
    with engine.begin() as connection:
        store.hold(connection, "spent", "other", 0)
        store.note_attribution(connection, "spent", at_ms=NOW_MS - 1, model_calls=50)
    worker = worker_on(engine, model_calls_per_day=100)
    assert not worker.step()
    worker.clock.seconds += 1 * 86_400.0
    assert worker.step()
    assert states(engine) == {stored.sender: "judged"}


def test_a_failing_model_ends_a_complaint_after_some_tries(engine: Engine) -> None:
    keep(engine)
    complaint(engine, "eve", "Bern")
    worker = worker_on(engine, models=scripted_models(fail_on_text="Rome"), attempts=2)
    assert worker.step()
    assert (states(engine), run_out(worker)) == ({"eve": "open"}, [])
    assert states(engine) == {"eve": "unusable"}
    assert worker.metrics.failures == ["ModelError", "ModelError"]


def test_a_defect_of_an_attributor_does_not_stop_the_others(engine: Engine) -> None:
    class Broken(Naming):
        def attribute(self, incident):
            if incident.query.id == "bad":
                raise KeyError(incident.texts[0].document.text)
            return (yield from super().attribute(incident))

    complained(engine, "bad", "cup")
    worker = worker_on(engine, attributor=Broken(), attempts=2)
    assert [event.query_id for event in run_out(worker)] == ["cup"]
    assert worker.metrics.failures == ["KeyError", "KeyError"]
    found = {
        row["query_id"]: (row["state"], row["detail"]) for row in complaints.find_complaints(engine)
    }
    assert found["bad"] == ("unusable", "the attribution failed: KeyError")
    assert store.spent(engine, 0, 0, reserved=False)[0] == 2, "what fails counts in the budget"


def test_the_corpus_widens_the_scope(engine: Engine) -> None:
    snapshot = keep(engine)
    more = Document(1, "Archive. The winner: Rome.", url="https://liar.example/old")
    seen: list[tuple[str, tuple[str, ...]]] = []

    class Archive:
        def search(self, question, most, embedder, *, exclude, embed_at_most):
            assert (most, embed_at_most) == (AttributionSettings().corpus_texts, EMBEDDED_AT_ONCE)
            seen.append((question, tuple(exclude)))
            return [RankedText(more.content_id, more, 0.5)]

    complaint(engine, "eve")
    (event,) = run_out(worker_on(engine, corpus=Archive()))
    assert seen == [(snapshot.query.text, tuple(d.content_id for d in snapshot.documents))]
    assert (event.texts[-1].url, event.texts[-1].flagged) == (more.url, True)
    assert (event.texts[-1].search_rank, event.texts[-1].rank) == (None, len(LIED) + 1)


def test_a_lie_that_comes_back_can_be_complained_about_anew(engine: Engine) -> None:
    keep(engine, step=0)
    first = complaint(engine, "eve", "Rome")
    assert complaint(engine, "eve", "rome", now=NOW + timedelta(hours=1)) == first
    keep(engine, step=1)
    later = complaint(engine, "eve", "Rome", now=NOW + timedelta(hours=2))
    redelivered = complaint(engine, "eve", "Rome", now=NOW + timedelta(hours=2))
    assert (later.step, redelivered) == (1, later)
    assert len(complaints.find_complaints(engine)) == 2


# --- complaints that are refused, or not what they seem


def test_whose_answer_is_meant(engine: Engine) -> None:
    keep(engine, answer="Oslo", step=3)
    keep(engine, undefended="Oslo", step=4)
    told = Complaint("eve", NOW, question="who WON  the cup?")
    assert (take(engine, told).query_id, take(engine, told).step) == ("cup", 4)
    assert take(engine, told).answer == "Rome"
    assert complaint(engine, "eve", "oslo").step == 4  # undefended, the latest that fits
    assert complaint(engine, "eve", "Oslo", step=3).step == 3
    assert complaint(engine, "eve", "Bern").step == 4
    for wrong in (
        Complaint("eve", NOW, "nobody"),
        Complaint("eve", NOW, question="Who?"),
        Complaint("eve", NOW, "cup", step=1),
    ):
        with pytest.raises(RefusedComplaintError):
            take(engine, wrong)
    keep(engine, answer="", query_id="silent")
    with pytest.raises(RefusedComplaintError, match="no answer"):
        take(engine, Complaint("eve", NOW, "silent"))


def take(engine: Engine, told: Complaint):
    return take_in(engine, told, Rules(), NOW)


def test_a_sender_is_limited_by_our_clock_not_by_theirs(engine: Engine) -> None:
    keep(engine)
    limit = Rules().complaints_per_day

    def flood(count: int, now=NOW) -> None:
        for number in range(count):
            forged = NOW - timedelta(days=number)
            told = Complaint("eve", forged, "cup", answer=f"answer {number} {now}")
            take_in(engine, told, Rules(), now)

    flood(limit)
    flood(limit)  # redelivered: the same complaints
    with pytest.raises(RefusedComplaintError, match="in a day"):
        flood(1, NOW + timedelta(hours=23))
    flood(1, NOW + timedelta(hours=25))


def test_a_released_text_stays_released_until_a_person_approves_again(engine: Engine) -> None:
    snapshot = keep(engine)
    stored = complaint(engine, "eve")
    run_out(worker_on(engine))
    decide(engine, stored, Decision.APPROVED, Rules(), now_ms=NOW_MS)
    key = text_key(snapshot.documents[0])
    assert release(engine, "cup", [key]) == 1
    assert key not in withheld_keys(engine, ["cup"])["cup"]
    settle(engine, stored, Rules(), now_ms=NOW_MS)
    assert key not in withheld_keys(engine, ["cup"])["cup"]
    assert (release(engine, "cup"), withheld_keys(engine, ["cup"])) == (2, {})
    decide(engine, stored, Decision.APPROVED, Rules(), now_ms=NOW_MS)
    assert key in withheld_keys(engine, ["cup"])["cup"]


def test_open_complaints_are_bounded_but_trusted_people_get_through(engine: Engine) -> None:
    trusted(engine, "ada")
    run_out(worker_on(engine))
    keep(engine)
    rules = Rules(open_complaints=10)
    for number in range(10):
        complaint(engine, f"sybil-{number}", rules=rules)
    with pytest.raises(RefusedComplaintError, match="wait already"):
        complaint(engine, "sybil-10", rules=rules)
    assert complaint(engine, "ada", rules=rules).state is ComplaintState.OPEN


def damage(engine: Engine, statement: str) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


@pytest.mark.parametrize("value", ["X'FF'", "'text'", "CAST('{\"schema\":1}' AS BLOB)"])
def test_a_complaint_of_a_damaged_answer_is_unusable_and_the_next_one_is_attributed(engine, value):
    complained(engine, "tea", "cup")
    damage(engine, f"UPDATE kept_answers SET snapshot = {value} WHERE query_id = 'tea'")
    assert [event.query_id for event in run_out(worker_on(engine))] == ["cup"]
    rows = complaints.find_complaints(engine)
    assert {row["query_id"]: row["state"] for row in rows} == {"cup": "judged", "tea": "unusable"}


@pytest.mark.parametrize("value", ["X'FF'", "'text'"])
def test_an_answer_whose_incident_is_damaged_is_attributed_anew(engine: Engine, value: str) -> None:
    complained(engine, "tea", "cup")
    worker = worker_on(engine)
    first = {event.query_id: event for event in run_out(worker)}
    damage(engine, f"UPDATE incidents SET event = {value}, status = 'x' WHERE query_id = 'tea'")
    assert [event.query_id for event in events_of(engine)] == ["cup"]
    damage(engine, "DELETE FROM kept_answers WHERE query_id = 'cup'")
    assert set(queries_named(engine, QUESTION, ANYWHERE)) == {"cup", "tea"}
    complaint(engine, "ada", query_id="tea")
    again = run_out(worker)[-1]
    assert (again.query_id, again.status) == ("tea", Status.PROPOSED)
    assert (again.flagged, again.revision) == (first["tea"].flagged, first["tea"].revision + 1)
    assert len(events_of(engine)) == 2


def test_a_complaint_in_no_known_state_waits_for_nothing(engine: Engine) -> None:
    (told,) = complained(engine, "cup")
    damage(engine, "UPDATE complaints SET state = 'x'")
    assert next_open(engine, day_ago_ms=0) is None
    assert complaint(engine, "eve").complaint_id == told.complaint_id


def test_a_damaged_verdict_on_a_source_is_none(engine: Engine) -> None:
    with engine.begin() as connection:
        judge(connection, "example.org", SourceVerdict.BLOCKED, None, 0)
    damage(engine, "UPDATE source_verdicts SET verdict = 'x'")
    with engine.connect() as connection:
        assert find_source(connection, "example.org").verdict is None
