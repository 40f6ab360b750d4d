"""Dead letters in the console: what the topic holds, and a replay that happens once.

The broker takes part in no transaction of ours. So a replay is claimed in the action log before it
is published, under a lock; for as long as a publication takes, a claim counts as a replay.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection, text

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.serving.action_log import last_action_on, log_action
from radarstream.pipelines.job.answering import dead_letters
from radarstream.pipelines.job.answering.dead_letters import Letter
from radarstream.pipelines.job.operating import letters as on_topic
from radarstream.pipelines.pages.times import minute
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console.acting import (
    Confirmed,
    NothingToDoError,
    Proposal,
    Target,
    Witness,
    fingerprint,
    in_words,
)
from radarstream.pipelines.serving.console.showing import BELOW, Paging, page_number, show
from radarstream.pipelines.serving.context import Context
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.shown import one_line
from radarstream.schemas.times import milliseconds

REPLAY: Final = "replay"
FAILED: Final = "replay failed"
PATIENCE_S: Final = 2.0
CLAIM_MS: Final = 120_000  # longer than a broker is waited for
SHOWN: Final = 300
UNREACHABLE: Final = (
    "The message broker cannot be reached, so {what} not known. The service itself needs no broker."
)


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The dead letters of the topic, oldest first; ids of those that were replayed; what could not
    be read.
    """

    letters: tuple[Letter, ...]
    replayed: frozenset[str] = frozenset()
    problems: tuple[str, ...] = field(default=())


def impatient(kafka: KafkaOptions) -> KafkaOptions:
    """The same broker, which has few seconds to answer: a person waits for the page."""
    seconds = min(kafka.request_timeout_s, PATIENCE_S)
    return kafka.model_copy(update={"request_timeout_s": seconds})


def mailbox(kafka: KafkaOptions) -> Mailbox:
    """Read both topics to their ends. Raises BrokerError, ConfigurationError."""
    kafka, problems = impatient(kafka), list[str]()
    found = tuple(dead_letters.distinct(on_topic.letters_of_topic(kafka, problems.append)))
    return Mailbox(found, on_topic.replayed_before(kafka, found), tuple(problems))


@dataclass(frozen=True, slots=True)
class Replay:
    """Publishes a dead letter's record again; the target is the letter's `id`."""

    name: str = REPLAY

    def propose(self, target: Target) -> Proposal:
        """What is published, and where."""
        box, letter = _found(target)
        content, topic = letter.content, target.settings.kafka.topic(on_topic.SNAPSHOTS)
        return Proposal(
            title="Replay a dead letter",
            about=(
                ("reason", content.reason.value),
                ("detail", one_line(content.detail, SHOWN)),
                ("attempts", str(content.attempts)),
                ("bytes", str(len(letter.payload))),
                ("begins with", one_line(letter.payload[:SHOWN].decode("utf-8", "replace"), SHOWN)),
            ),
            consequences=(
                f"The original record is published to {topic} again, marked as a replay.",
                "The job answers it, or it becomes a dead letter again with one attempt more.",
            ),
            button="Replay",
            seen=fingerprint(letter.id),
            back=f"{BELOW}dead-letters",
            needless=_needless(letter, box.replayed),
        )

    def carry_out(self, target: Target, confirmed: Confirmed) -> str:
        """Claim the letter, publish it, or write down that this failed."""
        box, letter = _found(target)
        if why := _needless(letter, box.replayed):
            raise NothingToDoError(why)
        witness = Witness(self.name, letter.id, confirmed)
        said = f"{letter.content.reason.value} published again"
        in_transaction(target.engine, lambda connection: claim(connection, witness, said))
        try:
            on_topic.publish_again(target.settings.kafka, [letter])
        except BrokerError:
            log_action(target.engine, at_ms=confirmed.at_ms, user=confirmed.user, action=FAILED,
                       target=letter.id, detail="the broker did not take it")  # fmt: skip
            raise
        return f"Dead letter {letter.id[:8]}: {said}"


def claim(connection: Connection, witness: Witness, said: str) -> None:
    """Write the replay down, unless somebody did within the time that a publication takes."""
    if connection.dialect.name == "postgresql":  # on SQLite, the first write locks out others
        connection.execute(text("LOCK TABLE action_log IN SHARE ROW EXCLUSIVE MODE"))
    else:
        connection.execute(text("UPDATE action_log SET seq = seq WHERE seq < 0"))
    last = last_action_on(connection, witness.target)
    if last and last.action == REPLAY and witness.confirmed.at_ms - last.at_ms < CLAIM_MS:
        raise NothingToDoError(f"It is being replayed. {in_words(last)}")
    witness.write(connection, said)


def _found(target: Target) -> tuple[Mailbox, Letter]:
    box, named = mailbox(target.settings.kafka), target["id"]
    chosen = [letter for letter in box.letters if letter.id == named]
    return box, dead_letters.only_one(chosen, named)


def _needless(letter: Letter, replayed: frozenset[str]) -> str:
    plan = dead_letters.plan_replay([letter], replayed)
    if plan.replayed_before:
        return "It was replayed before."
    if dead_letters.is_unreadable(letter):
        return "The record cannot be read: it would become a dead letter again."
    if plan.tried_too_often:
        return f"It was tried {letter.content.attempts} times: look at the record first."
    return ""


def letters_sentence(box: Mailbox) -> str:
    """What the topic holds, in one sentence."""
    count, left = len(box.letters), sum(x.id not in box.replayed for x in box.letters)
    if not count:
        return "The topic holds no dead letter."
    return f"{count:,} dead {'letter' if count == 1 else 'letters'}, {left:,} not replayed yet."


def router(context: Context) -> APIRouter:
    """The page of dead letters."""
    routes, settings = APIRouter(include_in_schema=False), context.settings

    @routes.get(f"{BELOW}dead-letters")
    def letters(request: Request, user: Operator, page: str = "1") -> HTMLResponse:
        sentence, box = UNREACHABLE.format(what="dead letters are"), Mailbox(())
        try:
            box = mailbox(settings.kafka)
            sentence = letters_sentence(box)
        except (BrokerError, ConfigurationError):
            pass  # the sentence says so; the error may name hosts
        paging = Paging(page_number(page), len(box.letters))
        newest = box.letters[::-1][paging.offset : paging.last]
        rows = [(x, x.plain(), written(x), dead_letters.is_unreadable(x)) for x in newest]
        return show(
            request,
            "dead_letters.html.j2",
            user,
            title="Dead letters",
            sentence=sentence,
            words=("Dead letter", "Outage", "Replay"),
            notes=box.problems[:5],
            rows=rows,
            paging=paging,
            replayed=box.replayed,
        )

    return routes


def written(letter: Any) -> str:
    """When a dead letter reached the topic, in words."""
    return "" if letter.written_at is None else minute(milliseconds(letter.written_at))
