"""What else a folded answer leaves behind in the state database, in the fold's own transaction."""

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection

from radarstream.connectors.state_table.incidents.complaints import StoredComplaint, insert
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.serving.kept_events import keep_event
from radarstream.pipelines.build import shared_corpus
from radarstream.pipelines.round.values import Chosen
from radarstream.pipelines.settings import Settings
from radarstream.schemas.codec import clean
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.incidents import PIPELINE, Complaint, incident_id
from radarstream.schemas.times import milliseconds

Write = Callable[[Connection], None]
# An answer and what it was made of -> what to write; must not fail for what a page says.
Witness = Callable[[AnswerEvent, Chosen], Write]


def witnesses_of(settings: Settings) -> tuple[Witness, ...]:
    """Who looks at folded answers, by the settings."""
    witnesses: list[Witness] = []
    if settings.serving.keep_events:
        witnesses.append(keep_events(settings.serving.keep_events))
    attribution = settings.attribution
    if attribution.enabled:
        witnesses.append(keep_answers(attribution.keep_steps))
        if attribution.self_detect:
            witnesses.append(complain_of_suspicions)
    if settings.corpus.archive:
        witnesses.append(archive(settings))
    return tuple(witnesses)


def keep_answers(steps: int) -> Witness:
    """Keep what the last answers of a query were made of."""

    def keep(event: AnswerEvent, chosen: Chosen) -> Write:
        kept = KeptAnswer.of(event, chosen.snapshot)
        return partial(keep_answer, kept=kept, steps=steps)

    return keep


def keep_events(steps: int) -> Witness:
    """Keep the last answer events of a query, for its history and the console."""

    def keep(event: AnswerEvent, _: Chosen) -> Write:
        return partial(keep_event, event=event, steps=steps)

    return keep


def archive(settings: Settings) -> Witness:
    """Keep the documents of answered snapshots in the corpus; nothing is embedded here.

    So are those that a reranker dropped: what stands behind others for one question may be the best
    for the next, whoever searches can ask the reranker again, and attribution finds them.
    """
    corpus = shared_corpus(settings)

    def keep(_: AnswerEvent, chosen: Chosen) -> Write:
        def write(connection: Connection) -> None:
            corpus.archive(connection, chosen.usable)

        return write

    return keep


def complain_of_suspicions(event: AnswerEvent, _: Chosen) -> Write:
    """Complain in the pipeline's name about what a defence averted or corrected.

    That is an undefended answer in other words than the defended one, on the same step, and a
    previous answer that was falsified by a new one, on the step before. Whether other words mean
    something else is for the attribution to find out, off the hot path.
    """
    averted, previous = event.undefended_answer, event.verdict.memory.previous_answer
    suspicions: list[tuple[int, str]] = []
    if averted and averted.casefold() != event.answer.casefold():
        suspicions.append((event.step, averted))
    if event.falsified and previous and event.step > 0:
        suspicions.append((event.step - 1, previous))
    complaints = [suspicion(event, step, answer) for step, answer in suspicions]

    def write(connection: Connection) -> None:
        for complaint in complaints:
            insert(connection, complaint)

    return write


def suspicion(event: AnswerEvent, step: int, answer: str) -> StoredComplaint:
    """A complaint of the pipeline's own; its times are the event's, since a fold has no clock."""
    answer = clean(answer)
    told = Complaint(PIPELINE, event.observed_at, event.query_id, answer=answer, step=step)
    at_ms = milliseconds(event.observed_at)
    return StoredComplaint(
        complaint_id=told.id,
        incident=incident_id(event.query_id, step, answer),
        query_id=event.query_id,
        step=step,
        answer=answer,
        sender=PIPELINE,
        sent_ms=at_ms,
        received_ms=at_ms,
    )
