"""What the routes of one service share."""

import asyncio
from dataclasses import dataclass, field

from sqlalchemy import Engine

from radarstream.pipelines.asking.values import Origin
from radarstream.pipelines.documents import DocumentReader
from radarstream.pipelines.job.telemetry.metrics import ServingMetrics
from radarstream.pipelines.searching import has_search
from radarstream.pipelines.serving.people import People, Remembered
from radarstream.pipelines.serving.question_queue import (
    AnswerAll,
    Buckets,
    Places,
    QuestionQueue,
    Warming,
)
from radarstream.pipelines.settings import Settings

WRONG_TOKENS_PER_MINUTE = 30  # of one address
UPLOADS = 8  # large requests in hand at once


@dataclass
class Context:
    """What routes share, one per process, on `app.state.context`; `stopping` asks it to end."""

    settings: Settings
    engine: Engine
    answer_all: AnswerAll
    people: People
    metrics: ServingMetrics = field(default_factory=ServingMetrics)
    warming: Warming = field(default_factory=Warming)
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.by_token = Remembered(self.people.by_token)
        self.by_session = Remembered(self.people.by_session)
        self.failures = Buckets(WRONG_TOKENS_PER_MINUTE)
        self.places = Places(self.settings.serving.at_once, self.metrics)
        self.uploads = Places(UPLOADS, self.metrics)
        # Where documents may come from where none are given.
        self.origins = {Origin.CORPUS.value: "the corpus"}
        if has_search(self.settings.search):
            self.origins[Origin.SEARCH.value] = "a search"
        outer = self.settings.documents.model_copy(update={"inner_networks": ()})
        self.reader = DocumentReader(self.settings.model_copy(update={"documents": outer}))
        self.questions = QuestionQueue(
            self.answer_all, self.reader.read, self.settings.serving, self.metrics, self.warming
        )

    async def close(self) -> None:
        """Wait for the questions in hand, and end the process that reads documents."""
        await self.questions.close()
        self.reader.close()
