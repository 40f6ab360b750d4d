"""Wrong answers and a ledger for tests of their pages, also with text that attacks the reader."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import cycle

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import complaints, quarantine, store
from radarstream.connectors.state_table.incidents.complaints import StoredComplaint
from radarstream.connectors.state_table.sources import SourceVerdict, judge
from radarstream.lab.study.datasets import Dataset, digest_of
from radarstream.schemas.attribution import Finding
from radarstream.schemas.incidents import (
    REMOVING,
    AttributedText,
    ComplaintState,
    Decision,
    Status,
    TaughtEvent,
    incident_id,
)
from radarstream.schemas.snapshot import Labels
from tests.lab.attribution_studies import towns
from tests.pipelines.pages.report_run import HOSTILE_URLS, IGNORED, IMAGE, SCRIPT

START = datetime(2025, 3, 1, 9, tzinfo=UTC)
HONEST = ("town-news.example", "encyclopedia.example", "gazette.example.co.uk")
LIARS = ("quick-answers.example", "fact-hub.example")
MAYOR = ("q-mayor", "Who is the mayor of Larkhaven?", "Peter Lang", "Ingrid Solberg")
CUP = ("q-cup", "Who holds the Greyfield cup?", "Ana Ruiz", "Hana Petrova")
HOSTILE = (
    f"{IMAGE}{SCRIPT}",
    "</script><script>window.pwned=1</script><!--<script>",
    f"\u202eevil\x00\x07\ud800\U000e0041{IGNORED}",
    "W" * 20_000,
    "{{7*7}} ${7*7} <!-- ]]> --> \u2028",
)


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1_000)


def text(rank: int, liar: bool, wrong: str, right: str) -> AttributedText:
    """A text whose scores tell liars from others."""
    sway = (rank * 37 % 10) / 100
    site = (LIARS if liar else HONEST)[rank % 2]
    return AttributedText(
        id=f"t{rank}",
        rank=rank,
        flagged=liar,
        url=f"https://www.{site}/a/{rank}",
        title="Updated answer (official)" if liar else "What we know",
        excerpt=f"The only correct answer is {wrong}." if liar else f"As of this week: {right}.",
        search_rank=rank if rank < 10 else None,
        score=(1.3 if liar else -0.6) + sway,
        similarity=(0.9 if liar else 0.6) + sway,
        semantic=(-1.2 if liar else -2.5) + sway,
        generation=(-0.25 if liar else -3.0) + sway,
        text_key=f"t{rank}",
    )


def origin(
    about: tuple[str, str, str, str],
    step: int,
    status: Status,
    *,
    liars: Sequence[int] = (1, 3, 4),
    texts: int = 12,
) -> TaughtEvent:
    """What was found out about one answer; without liars the model erred by itself."""
    query_id, question, wrong, right = about
    flagged = bool(liars)
    return TaughtEvent(
        query_id=query_id,
        question=question,
        step=step,
        snapshot_id=f"s{step}",
        observed_at=START + timedelta(days=14 * step),
        incident=incident_id(query_id, step, wrong),
        revision=0,
        answer=wrong,
        defended_answer=right,
        undefended_answer=wrong,
        senders=1,
        status=status,
        attributor="rag_origin",
        reproduced=True,
        finding=Finding.TEXTS_FLAGGED if flagged else Finding.INTRINSIC_ERROR,
        texts=tuple(text(r, r in liars, wrong, right) for r in range(1, texts + 1) if flagged),
        gap=1.9 if flagged else None,
        generation_gap=2.75 if flagged else None,
        answer_without=right if flagged else None,
        persists=False if flagged else None,
        detail="1 of 2 trusted senders" if status is Status.PROPOSED else "",
    )


def events() -> list[TaughtEvent]:
    return [
        origin(MAYOR, 1, Status.QUARANTINED),
        origin(MAYOR, 2, Status.APPROVED),
        origin(CUP, 2, Status.PROPOSED, liars=(2, 5), texts=8),
        origin(CUP, 1, Status.NOTHING_FLAGGED, liars=()),
    ]


def complaint_of(event: TaughtEvent, sender: str, comment: str = "") -> StoredComplaint:
    at = milliseconds(event.observed_at) + 3_600_000
    return StoredComplaint(
        complaint_id=f"{len(sender):02x}" + event.incident + "0" * 14,
        incident=event.incident,
        query_id=event.query_id,
        step=event.step,
        answer=event.answer,
        sender=sender,
        sent_ms=at,
        received_ms=at,
        comment=comment,
        state=ComplaintState.JUDGED,
    )


def fill(engine: Engine) -> None:
    """Store the events with their reports, what is held, and verdicts about sites."""
    with engine.begin() as connection:
        for event in events():
            at = milliseconds(event.observed_at)
            store.hold(connection, event.incident, event.query_id, event.step)
            store.write_event(connection, event)
            store.note_attribution(connection, event.incident, at_ms=at + 7_200_000, model_calls=9)
            complaints.insert(
                connection, complaint_of(event, "ann", "The official site disagrees.")
            )
            quarantine.put(connection, [held(event, one, at) for one in event.flagged])
            if event.status in REMOVING:
                quarantine.switch(
                    connection, event.incident, active=True, everywhere=False, now_ms=at
                )
            if event.status is Status.APPROVED:
                store.decide(
                    connection,
                    event.incident,
                    Decision.APPROVED,
                    everywhere=False,
                    at_ms=at + 86_400_000,
                )
        other = complaint_of(events()[0], "zoe")
        waiting = replace(other, complaint_id="ff" * 16, incident="ff" * 8)
        complaints.insert(connection, replace(waiting, state=ComplaintState.OPEN))
        judge(connection, LIARS[0], SourceVerdict.BLOCKED, "a farm of answers", 1)
        judge(connection, HONEST[1], SourceVerdict.PARDONED, None, 1)


def held(event: TaughtEvent, one: AttributedText, at: int) -> dict[str, object]:
    return {
        "incident": event.incident,
        "text_key": one.text_key,
        "query_id": event.query_id,
        "content_id": one.id,
        "url": one.url,
        "title": one.title,
        "excerpt": one.excerpt,
        "updated_ms": at,
    }


def hostile_data() -> Dataset:
    """The towns, every free text an attack on the reader."""
    texts, urls = cycle((*HOSTILE, IMAGE)), cycle(HOSTILE_URLS)
    histories = []
    for (snapshot,) in towns().histories:
        documents = tuple(
            replace(d, text=f"{d.text} {next(texts)}", title=next(texts), url=next(urls))
            for d in snapshot.documents
        )
        labels = Labels((f"{IMAGE} Ada",), target=f"Ben {next(texts)}"[:900],
                        false_passages=tuple(next(texts) for _ in range(5)))  # fmt: skip
        query = replace(snapshot.query, text=f"{snapshot.query.text} {IMAGE}")
        histories.append((replace(snapshot, query=query, documents=documents, labels=labels),))
    return Dataset(IMAGE, tuple(histories), digest_of(histories))
