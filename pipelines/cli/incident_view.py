"""Incidents on a terminal and as JSON: who complained, what was found out, what was decided."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from radarstream.pipelines.cli.terminal import cell, print_table, print_values, say
from radarstream.pipelines.job.operating.incidents import Senders
from radarstream.schemas.codec import encode
from radarstream.schemas.incidents import ComplaintState, Decision, TaughtEvent
from radarstream.schemas.times import stored_time
from radarstream.schemas.wording import counted_noun

SHORT_ID = 8
SHORT_KEY = SHORT_ID + 2  # of a text
MINUTE = slice(0, len("2025-06-01T12:00"))


def print_incidents(rows: Sequence[dict[str, Any]], who: Sequence[Senders]) -> None:
    """Print a row for each incident."""
    cells = (
        (
            row["incident"][:SHORT_ID],
            stored_time(row["received_ms"])[MINUTE].replace("T", " "),
            cell(f"{row['query_id']}/{row['step']}"),
            cell(row["answer"], "bold", limit=80),
            *(some.words, cell(_status(row))),
        )
        for row, some in zip(rows, who, strict=True)
    )
    columns = ("id", "received", "query", "wrong answer", "senders", "status")
    print_table(columns, cells, whole=("id", "senders"))


def print_event(event: TaughtEvent) -> None:
    """Print what was found out and decided."""
    lines = {
        "question": event.question,
        "status": f"{event.status}: {event.detail}",
        "finding": event.finding.replace("_", " ") if event.finding else "no texts were looked for",
        "wrong answer": event.answer,
    }
    if event.flagged:
        lines["without the flagged texts"] = event.answer_without or "(no answer)"
    print_values(lines)
    if not event.texts:
        return
    texts = [text for text in event.texts if text.flagged or text.search_rank]
    blamed = "cleared" if event.cleared else "blamed"
    cells = (
        (
            cell(blamed if text.flagged else "", "red"),
            text.search_rank or "-",
            *(
                None if number is None else f"{number:.2f}"
                for number in (text.score, text.similarity, text.semantic, text.generation)
            ),
            cell(text.url or text.title, "dim", limit=120),
            cell(text.excerpt, limit=80),
        )
        for text in texts
    )
    scores = ("score", "similar", "semantic", "influence")
    print_table(("", "rank", *scores, "address", "text begins"), cells)
    if others := len(event.texts) - len(texts):
        say(f"and {counted_noun(others, 'text')} of the corpus, not flagged")


def _status(row: Mapping[str, Any]) -> str:
    """The status of an incident, or why it has none yet."""
    erred = row["decision"] == Decision.MODEL_ERRED
    status = Decision.MODEL_ERRED if erred else row["status"] or row["detail"]
    if row["state"] == ComplaintState.JUDGED and status:
        return str(status)
    return f"{row['state']}: {status}" if status else str(row["state"])


def incident_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """An incident with one of its complaints as JSON values."""
    times = {"sent_at": stored_time(row["sent_ms"]), "received_at": stored_time(row["received_ms"])}
    others = {name: row[name] for name in row if name not in ("incident", "sent_ms", "received_ms")}
    return {"incident": row["incident"]} | times | others


def event_json(event: TaughtEvent | None) -> Any:
    """An event as JSON values, as it is published."""
    return None if event is None else json.loads(encode(event))
