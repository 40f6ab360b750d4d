"""Dead letters in the console: what the topic holds. They are replayed on the command line."""

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.pipelines.job.answering import dead_letters
from radarstream.pipelines.job.answering.dead_letters import Letter
from radarstream.pipelines.pages.times import minute
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console.showing import BELOW, Paging, page_number, show
from radarstream.pipelines.serving.context import Context
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.plugins import naming_extra
from radarstream.schemas.times import milliseconds

PATIENCE_S: Final = 2.0  # a person waits for the page
UNREACHABLE: Final = (
    "The message broker cannot be reached, so dead letters are not known. The service itself needs"
    " no broker."
)


@dataclass(frozen=True, slots=True)
class Mailbox:
    """The dead letters, oldest first; ids of replayed ones; what could not be read."""

    letters: tuple[Letter, ...]
    replayed: frozenset[str] = frozenset()
    problems: tuple[str, ...] = ()


def mailbox(kafka: KafkaOptions) -> Mailbox:
    """Read both topics to their ends. Raises BrokerError, ConfigurationError."""
    with naming_extra():
        from radarstream.pipelines.job.operating import letters as on_topic
    seconds, problems = min(kafka.request_timeout_s, PATIENCE_S), list[str]()
    kafka = kafka.model_copy(update={"request_timeout_s": seconds})
    found = tuple(dead_letters.distinct(on_topic.letters_of_topic(kafka, problems.append)))
    return Mailbox(found, on_topic.replayed_before(kafka, found), tuple(problems))


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
        sentence, box = UNREACHABLE, Mailbox(())
        try:
            box = mailbox(settings.kafka)
            sentence = letters_sentence(box)
        except (BrokerError, ConfigurationError):
            pass  # the sentence says so; the error may name hosts
        paging = Paging(page_number(page), len(box.letters))
        newest = box.letters[::-1][paging.offset : paging.last]
        return show(
            request,
            "dead_letters.html.j2",
            user,
            title="Dead letters",
            sentence=sentence,
            words=("Dead letter", "Outage", "Replay"),
            notes=box.problems[:5],
            rows=[(letter.plain(), written(letter)) for letter in newest],
            paging=paging,
            replayed=box.replayed,
        )

    return routes


def written(letter: Letter) -> str:
    """When a dead letter reached the topic, in words."""
    return "" if letter.written_at is None else minute(milliseconds(letter.written_at))
