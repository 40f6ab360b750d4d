"""Names that complain about every answer, and names without end: what they gain, who waits."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import product
from random import Random

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import complaints, senders
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.incidents.quarantine import withheld_keys
from radarstream.pipelines.job.incidents.attributing import Attributing
from radarstream.pipelines.job.incidents.intake import RefusedComplaintError
from radarstream.pipelines.job.incidents.settling import decide
from radarstream.schemas.incidents import REMOVING, Decision, Status
from tests.builders import make_snapshot
from tests.pipelines.job.attributing_rig import (
    DEFAULT,
    NOW,
    claims,
    complained,
    complaint,
    keep,
    run_out,
    trusted,
    worker_on,
)

SPRAYERS = ("sprayer one", "sprayer two")
LIES = 3
ANSWERS = 18
SMALL = DEFAULT.model_copy(update={"open_complaints": 200})
HALF_AN_HOURS = 15  # attributions of the open half of the default budget, per hour


def keep_pages(engine: Engine, query_id: str, right: int, sites: int, *, lied: bool) -> None:
    """Ten pages, of which `right` on as many sites as told say Oslo; the answer is Oslo, or the lie
    of three others.
    """
    texts = claims(*("Oslo",) * right, *("Rome",) * 3, *("Bern",) * (7 - right))
    urls = [f"https://honest-{n % sites}.test/{n}" for n in range(right)]
    urls += [f"https://other-{n}.test/" for n in range(10 - right)]
    snapshot = make_snapshot(texts, query_id=query_id)
    pages = zip(snapshot.documents, urls, strict=True)
    documents = tuple(replace(page, title="", url=url) for page, url in pages)
    snapshot = replace(snapshot, documents=documents)
    case = KeptAnswer(query_id, 0, "Rome" if lied else "Oslo", None, snapshot)
    with engine.begin() as connection:
        keep_answer(connection, case, steps=2)


def spray(
    engine: Engine, worker: Attributing, lied: Sequence[bool], approve_at: int, right: int
) -> None:
    """Both names complain about each answer as it comes; from `approve_at` on, a person approves
    the lies that they complained about by then.
    """
    waiting: list[complaints.StoredComplaint] = []
    for number, lie in enumerate(lied):
        query = f"q{number}"
        keep_pages(engine, query, right, sites=4, lied=lie)
        told = [complaint(engine, name, query_id=query) for name in SPRAYERS]
        waiting += told[:1] if lie else []
        if number >= approve_at:
            for stored in waiting:
                decide(engine, stored, Decision.APPROVED, DEFAULT, now_ms=stored.received_ms + 1)
            waiting.clear()
        run_out(worker)


def places(seed: int) -> list[bool]:
    told = [True] * LIES + [False] * (ANSWERS - LIES)
    Random(seed).shuffle(told)
    return told


def quarantined_without_a_person(worker: Attributing) -> list[str]:
    told = worker.metrics.statuses  # type: ignore[attr-defined]
    return [event.query_id for event in told if event.status is Status.QUARANTINED]


@pytest.mark.parametrize(
    ("lied", "approve_at", "right"),
    [
        # The first answer was right, and three of ten pages are fewer than half.
        ([False, *places(0)], 0, 3),
        ([False, *places(1)], ANSWERS // 2, 3),
        ([False, *places(2)], ANSWERS - 1, 3),
        # Six honest pages of four sites, and the sprayers' three real lies come first, or last.
        (sorted(places(0), reverse=True), 0, 6),
        (sorted(places(0)), 0, 6),
    ],
)
def test_who_complains_about_every_answer_has_no_honest_page_removed(
    engine, lied, approve_at, right
):
    """Fifteen of eighteen answers were right; a person approved the three lies among them."""
    worker = worker_on(engine, attributions_per_hour=10_000)
    spray(engine, worker, lied, approve_at, right)
    assert quarantined_without_a_person(worker) == []
    for target, (right, sites) in enumerate(((3, 3), (6, 4))):
        keep_pages(engine, f"target-{target}", right, sites, lied=False)
        for name in SPRAYERS:
            complaint(engine, name, query_id=f"target-{target}", now=NOW + timedelta(hours=25))
    run_out(worker)
    assert quarantined_without_a_person(worker) == []
    targets = ["target-0", "target-1", *(f"q{n}" for n, lie in enumerate(lied) if not lie)]
    assert withheld_keys(engine, targets) == {}
    with engine.connect() as connection:
        found = senders.record_of(connection, SPRAYERS[0])
    assert (found.confirmed, found.unconfirmed + found.waiting) == (LIES, len(lied) - LIES + 2)


def test_an_approval_before_the_attribution_makes_no_trust_while_others_wait(engine) -> None:
    """All is reported at once, and a person approves the lies before anything was looked into."""
    worker = worker_on(engine, attributions_per_hour=10_000)
    lied = [True] * LIES + [False] * (ANSWERS - LIES)
    for number, lie in enumerate(lied):
        keep_pages(engine, f"q{number}", 3, 3, lied=lie)
        for name in SPRAYERS:
            stored = complaint(engine, name, query_id=f"q{number}")
            if lie:
                now_ms = stored.received_ms + 1
                decide(engine, stored, Decision.APPROVED, DEFAULT, now_ms=now_ms)
    statuses = {event.query_id: event.status for event in run_out(worker)}
    assert len(statuses) == ANSWERS
    honest = [status for query, status in statuses.items() if query not in ("q0", "q1", "q2")]
    assert not REMOVING & set(honest)


def test_half_of_the_pages_or_sites_goes_to_a_person_even_from_trusted_senders(engine) -> None:
    trusted(engine, "ada", "bob")
    worker = worker_on(engine)
    run_out(worker)
    # Six pages of four sites; three pages of three sites of ten; four pages of four of ten sites.
    for query, right, sites in (("six", 6, 4), ("three", 3, 3), ("four", 4, 4)):
        keep_pages(engine, query, right, sites, lied=False)
        for name in ("ada", "bob"):
            complaint(engine, name, query_id=query)
            run_out(worker)
    last = {event.query_id: event for event in run_out(worker)}
    assert last["six"].status is Status.HUMAN_REVIEW
    assert last["six"].detail == "6 of 10 pages are flagged"
    assert last["three"].status is Status.PROPOSED, "what waits for a person counts"
    assert withheld_keys(engine, ["six", "three", "four"]) == {}


# --- names without end


def flood(engine: Engine, names: int, each: int) -> int:
    """Invented names complain about invented answers, name by name; return how many were taken."""
    taken = 0
    for name, number in product(range(names), range(each)):
        with suppress(RefusedComplaintError):
            complaint(engine, f"invented {name}", f"answer {name} {number}", rules=SMALL)
            taken += 1
    return taken


def test_fifty_names_do_not_keep_a_first_sender_waiting(engine: Engine) -> None:
    """They fill half of the room; the newcomer's turn comes after one complaint of each."""
    keep(engine)
    assert flood(engine, 50, 4) == 100 + 25, "who has none waiting still gets in"
    worker = worker_on(engine)
    honest = complaint(engine, "honest", "Rome", rules=SMALL)
    hours = 0
    waiting = partial(complaints.find_complaints, engine, limit=1_000)
    while {r["complaint_id"]: r["state"] for r in waiting()}[honest.complaint_id] == "open":
        run_out(worker)
        worker.clock.seconds += 1 * 3600.0  # type: ignore[attr-defined]
        hours += 1
        assert hours <= 51 / HALF_AN_HOURS + 1
    assert {event.answer: event for event in run_out(worker)}["Rome"].status is Status.PROPOSED


def test_who_was_served_today_waits_behind_who_was_not(engine: Engine) -> None:
    """Also where all complaints of a name are old: a first complaint is first once a day."""
    keep(engine)
    old = NOW - timedelta(days=2)
    for number in range(6):
        complaint(engine, "stocked", f"old {number}", now=old)
    worker = worker_on(engine, attributions_per_hour=4)
    assert len(run_out(worker)) == 2
    later = NOW + timedelta(hours=3)
    for name in ("first", "second"):
        complaint(engine, name, f"new {name}", now=later)
    worker.clock.start = later  # type: ignore[attr-defined]
    assert {event.answer for event in run_out(worker)[2:]} == {"new first", "new second"}


def test_trusted_senders_do_not_use_up_what_is_everybodys(engine: Engine) -> None:
    trusted(engine, "ada")
    run_out(worker_on(engine, attributions_per_hour=1_000))
    worker = worker_on(engine, attributions_per_hour=4)
    worker.clock.seconds += 2 * 3600.0
    complained(engine, *(f"ada{number}" for number in range(6)), by=["ada"])
    complained(engine, by=["first"])
    done = [event.query_id for event in run_out(worker)]
    assert len(done) == 4
    assert "cup" in done


def test_complaints_that_nobody_got_round_to_are_given_up(engine: Engine) -> None:
    keep(engine)
    keep(engine, query_id="approved")
    old, new = NOW - timedelta(days=8), NOW - timedelta(days=6)
    given_up = complaint(engine, "eve", now=old)
    kept = complaint(engine, "bob", now=new)
    approved = complaint(engine, "ada", query_id="approved", now=old)
    decide(engine, approved, Decision.APPROVED, DEFAULT, now_ms=approved.received_ms + 1)
    worker_on(engine).prune()
    rows = {row["complaint_id"]: row for row in complaints.find_complaints(engine)}
    row = rows[given_up.complaint_id]
    assert (row["state"], row["detail"]) == ("unusable", "not attributed within 7 days")
    assert {rows[one.complaint_id]["state"] for one in (kept, approved)} == {"open"}
    with engine.connect() as connection:
        assert senders.record_of(connection, "eve").unconfirmed == 1


def test_one_name_has_one_spelling(engine: Engine) -> None:
    keep(engine)
    composed, apart = "Zo\u00eb", "Zoe\u0308"
    assert complaint(engine, apart).sender == composed
    assert complaint(engine, composed, "Bern").sender == composed
