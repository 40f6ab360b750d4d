"""What else a folded answer leaves behind in the state database, in the fold's own transaction."""

from collections.abc import Callable
from functools import partial

from sqlalchemy import Connection

from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.connectors.state_table.serving.kept_events import keep_event
from radarstream.pipelines.build import shared_corpus
from radarstream.pipelines.round.values import Chosen
from radarstream.pipelines.settings import Settings
from radarstream.schemas.events import AnswerEvent

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
    """Keep the documents of answered snapshots in the corpus, also those that a reranker dropped:
    they may be the best for the next question. Nothing is embedded here.
    """
    corpus = shared_corpus(settings)

    def keep(_: AnswerEvent, chosen: Chosen) -> Write:
        def write(connection: Connection) -> None:
            corpus.archive(connection, chosen.usable)

        return write

    return keep
