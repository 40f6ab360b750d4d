"""Dead letters in the console: what the topic holds, and a replay that happens once.

The broker takes part in no transaction of ours. So a replay is claimed in the action log before it
is published, under a lock; for as long as a publication takes, a claim counts as a replay.
"""

from dataclasses import dataclass, field
from typing import Final

from sqlalchemy import Connection, Engine, text

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.serving.action_log import last_action_on, log_action
from radarstream.pipelines.job.answering import dead_letters
from radarstream.pipelines.job.answering.dead_letters import Letter
from radarstream.pipelines.job.operating import letters as on_topic
from radarstream.pipelines.serving.console.acting import (
    Confirmed,
    NothingToDoError,
    Proposal,
    Target,
    Witness,
    fingerprint,
    in_words,
)
from radarstream.pipelines.serving.console.showing import BELOW
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.shown import one_line

REPLAY: Final = "replay"
FAILED: Final = "replay failed"
PATIENCE_S: Final = 2.0
CLAIM_MS: Final = 120_000  # longer than a broker is waited for
SHOWN: Final = 300


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

    def propose(
        self,
        engine: Engine,  # noqa: ARG002
        settings: Settings,
        target: Target,
    ) -> Proposal:
        """What is published, and where."""
        box, letter = _found(settings, target)
        content = letter.content
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
                f"The original record is published to {settings.kafka.topic(on_topic.SNAPSHOTS)} "
                "again, marked as a replay.",
                "The job answers it, or it becomes a dead letter again with one attempt more.",
            ),
            button="Replay",
            seen=fingerprint(letter.id),
            back=f"{BELOW}dead-letters",
            needless=_needless(letter, box.replayed),
        )

    def carry_out(
        self, engine: Engine, settings: Settings, target: Target, confirmed: Confirmed
    ) -> str:
        """Claim the letter, publish it, or write down that this failed."""
        box, letter = _found(settings, target)
        if why := _needless(letter, box.replayed):
            raise NothingToDoError(why)
        witness = Witness(self.name, letter.id, confirmed)
        said = f"{letter.content.reason.value} published again"
        in_transaction(engine, lambda connection: claim(connection, witness, said))
        try:
            on_topic.publish_again(settings.kafka, [letter])
        except BrokerError:
            log_action(engine, at_ms=confirmed.at_ms, user=confirmed.user, action=FAILED,
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


def _found(settings: Settings, target: Target) -> tuple[Mailbox, Letter]:
    box = mailbox(settings.kafka)
    named = target.get("id", "")
    chosen = [letter for letter in box.letters if letter.id == named]
    return box, dead_letters.only_one(chosen, named)


def _needless(letter: Letter, replayed: frozenset[str]) -> str:
    plan = dead_letters.plan_replay([letter], replayed, on_topic.MOST_ATTEMPTS)
    if plan.replayed_before:
        return "It was replayed before."
    if dead_letters.is_unreadable(letter):
        return "The record cannot be read: it would become a dead letter again."
    if plan.tried_too_often:
        return f"It was tried {letter.content.attempts} times: look at the record first."
    return ""
