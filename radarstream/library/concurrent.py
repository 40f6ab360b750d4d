"""The asynchronous twin of the guard."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

from radarstream.connectors.traces import traces
from radarstream.library.answers import Answer, Checked
from radarstream.library.guard import Guard
from radarstream.library.questions import Asked, Question
from radarstream.pipelines.asking.batching import Batched


class AsyncGuard:
    """Like `Guard`, for asyncio. Questions that come while models are busy share the next batch.

    It takes the same parameters. Close it with `await guard.close()`, or use `async with`. One
    event loop at a time may ask it.

    >>> async def capital():
    ...     async with AsyncGuard(profile="scripted") as guard:
    ...         pages = ["The capital is Lima.", "Lima is the capital."]
    ...         answer = await guard.answer("What is the capital?", pages)
    ...         return answer.text
    >>> asyncio.run(capital())
    'Lima'
    """

    def __init__(self, **parameters: Any) -> None:
        self._guard = Guard(**parameters)
        self._batched = Batched[Asked, Answer](lambda asked: self._guard.try_many(asked), "guard")

    async def answer(
        self,
        question: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002 as in `Guard.answer`
        withstand: int | None = None,
    ) -> Answer:
        """Answer one question, as `Guard.answer`."""
        asked = asked_here(Question(question, documents, at, id, withstand))
        return await self._batched.submit(asked)

    async def check(
        self,
        claim: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        withstand: int | None = None,
    ) -> Checked:
        """Check a claim, as `Guard.check`; claims share no batch."""
        return await asyncio.to_thread(
            self._guard.check, claim, documents, at=at, withstand=withstand
        )

    async def answer_many(
        self, questions: Iterable[Question | tuple[str, Iterable[Any]]]
    ) -> list[Answer]:
        """Answer many questions, as `Guard.answer_many`."""
        asked = [asked_here(question) for question in questions]
        outcomes = await asyncio.gather(*map(self._batched.submit, asked), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Answer)]

    async def close(self) -> None:
        """Wait for the batch that is being answered, refuse what still waits, and close."""
        await self._batched.close()
        await asyncio.to_thread(self._guard.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def asked_here(question: Question | tuple[str, Iterable[Any]]) -> Asked:
    """The question, to be answered in another thread below the caller's span."""
    return replace(Asked.of(question), trace=traces().here())
