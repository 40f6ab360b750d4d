"""Incidents on a terminal and as JSON: who complained, what was found out, what was decided."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import senders
from radarstream.connectors.state_table.incidents.senders import Record
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.cli.terminal import cell, empty_table, printable, stdout
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.job.incidents.intake import trust_to_decide
from radarstream.schemas.codec import encode
from radarstream.schemas.incidents import PIPELINE, ComplaintState, Decision, TaughtEvent
from radarstream.schemas.times import stored_time

SHORT_ID = 8
WIDE = 120  # columns of a terminal from which on a table needs no narrow columns
LONGEST_WORD = 18  # the id of a query that has none of its own, and a step
MINUTE = slice(0, len("2025-06-01T12:00"))
NAMED = 20  # senders shown by name
NAMED_IN_JSON = 1_000
COLUMNS = ("", "rank", "score", "similar", "semantic", "influence", "address", "text begins")


@dataclass(frozen=True, slots=True)
class Senders:
    """Everybody who complained about an answer of a query, at any step; trusted ones first."""

    trusted: Mapping[str, Record]
    others: Mapping[str, Record]
    pipeline: bool

    @property
    def parts(self) -> list[str]:
        """How many there are of each kind, in words; kinds without any are left out."""
        counts = ((len(self.trusted), "trusted"), (len(self.others), "other"))
        told = [f"{count} {kind}" for count, kind in counts if count]
        return told + ([PIPELINE] if self.pipeline else [])

    @property
    def counts(self) -> dict[str, Any]:
        """How many there are of each kind, as JSON values."""
        counts = {"trusted": len(self.trusted), "other": len(self.others)}
        return counts | {"pipeline": self.pipeline}

    @property
    def names(self) -> list[dict[str, Any]]:
        """The first of them as JSON values, each with their record."""
        everybody = [
            (name, kind is self.trusted, record)
            for kind in (self.trusted, self.others)
            for name, record in sorted(kind.items())
        ]
        return [
            {
                "name": name,
                "trusted": trusted,
                "confirmed": record.confirmed,
                "dismissed": record.dismissed,
                "unconfirmed": record.unconfirmed + record.waiting,
            }
            for name, trusted, record in everybody[:NAMED_IN_JSON]
        ]

    def line(self) -> str:
        """The first of them by name, and how many more there are."""
        names = [*sorted(self.trusted), *sorted(self.others)]
        told = [printable(name, 40) for name in names[:NAMED]]
        told += [f"and {len(names) - NAMED} more"] if names[NAMED:] else []
        return f"{', '.join(self.parts)}: {', '.join(told)}" if told else ", ".join(self.parts)


def senders_of(engine: Engine, query_id: str, answer: str, rules: Rules) -> Senders:
    """Look up who complained about this answer of the query."""
    with engine.connect() as connection:
        found = senders.senders_of(connection, query_id, answer)
    pipeline = found.pop(PIPELINE, None) is not None
    trusted = {n: r for n, r in found.items() if trust_to_decide(r).trusted(rules)}
    others = {name: record for name, record in found.items() if name not in trusted}
    return Senders(trusted, others, pipeline)


def print_incidents(rows: Sequence[dict[str, Any]], who: Sequence[Senders]) -> None:
    """Print a row for each incident; no word is broken on a narrow terminal."""
    table = empty_table()
    queries = [f"{row['query_id']}/{row['step']}" for row in rows]
    statuses = [status_words(row) for row in rows]
    many = [", ".join(some.parts) for some in who]
    widths = {
        "received": len("2025-06-01"),
        "query": longest_word(queries),
        "senders": longest_word([*many, "senders"]),
        "status": longest_word([*statuses, "status"]),
    }
    for name in ("id", "received", "query", "wrong answer", "senders", "status"):
        width = widths.get(name) if stdout.width < WIDE else None
        table.add_column(name, overflow="fold", no_wrap=name == "id", width=width)
    for row, query, some, status in zip(rows, queries, many, statuses, strict=True):
        table.add_row(
            row["incident"][:SHORT_ID],
            stored_time(row["received_ms"])[MINUTE].replace("T", " "),
            cell(query, limit=60),
            cell(row["answer"], "bold", limit=80),
            some,
            cell(status, limit=60),
        )
    stdout.print(table)


def print_event(event: TaughtEvent) -> None:
    """Print what was found out and decided."""
    lines = {
        "question": event.question,
        "status": f"{event.status}: {event.detail}",
        "finding": event.finding.replace("_", " ") if event.finding else "no texts were looked for",
        "wrong answer": event.answer,
        "without the flagged texts": event.answer_without or "(no answer)",
    }
    for name, value in lines.items():
        if name != "without the flagged texts" or event.flagged:
            stdout.print(cell(f"{name}: {value}", limit=500), soft_wrap=True)
    if not event.texts:
        return
    table = empty_table(*COLUMNS)
    shown = [text for text in event.texts if text.flagged or text.search_rank]
    blamed = "cleared" if event.cleared else "blamed"
    for text in shown:
        numbers = (text.score, text.similarity, text.semantic, text.generation)
        table.add_row(
            cell(blamed if text.flagged else "", "red"),
            str(text.search_rank or "-"),
            *("" if number is None else f"{number:.2f}" for number in numbers),
            cell(text.url or text.title, "dim", limit=120),
            cell(text.excerpt, limit=80),
        )
    stdout.print(table)
    if len(shown) < len(event.texts):
        others = counted_noun(len(event.texts) - len(shown), "text")
        stdout.print(f"and {others} of the corpus, not flagged", highlight=False)


def status_words(row: Mapping[str, Any]) -> str:
    """The status of an incident, or why it has none yet."""
    erred = row["decision"] == Decision.MODEL_ERRED
    told = Decision.MODEL_ERRED if erred else row["status"] or row["detail"]
    if row["state"] == ComplaintState.JUDGED and told:
        return str(told)
    return f"{row['state']}: {told}" if told else str(row["state"])


def longest_word(values: Sequence[str]) -> int:
    """The columns in which none of these folds within a word, unless one is very long."""
    words = [cell_len(word) for value in values for word in printable(value, 60).split()]
    return min(LONGEST_WORD, max(words, default=0))


def incident_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """An incident with one of its complaints as JSON values, its times in words."""
    values = dict(row)
    return {
        "incident": values.pop("incident"),
        "sent_at": stored_time(values.pop("sent_ms")),
        "received_at": stored_time(values.pop("received_ms")),
    } | values


def event_json(event: TaughtEvent | None) -> Any:
    """An event as JSON values, as it is published."""
    return None if event is None else json.loads(encode(event))
