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
    """`Guard` for asyncio, with the same parameters and errors.

    Questions that arrive while models are busy share the next batch. Use it as an asynchronous
    context manager or call `close`. Use it in one event loop at a time.

    >>> pages = ["The capital is Lima.", "Lima is the capital."]
    >>> async def example():
    ...     async with AsyncGuard(profile="scripted") as guard:
    ...         answer = await guard.answer("What is the capital?", pages)
    ...         many = await guard.answer_many([("What is the capital of Peru?", pages)])
    ...         checked = await guard.check("Lima is the capital.", pages)
    ...     return answer.text, many[0].text, checked.verdict.value
    >>> asyncio.run(example())
    ('Lima', 'Lima', 'supported')
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
        asked = _with_trace(Question(question, documents, at, id, withstand))
        return await self._batched.submit(asked)

    async def check(
        self,
        claim: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        withstand: int | None = None,
    ) -> Checked:
        """Check one claim, as `Guard.check`; claims are not batched."""
        return await asyncio.to_thread(
            self._guard.check, claim, documents, at=at, withstand=withstand
        )

    async def answer_many(
        self, questions: Iterable[Question | tuple[str, Iterable[Any]]]
    ) -> list[Answer]:
        """Answer many questions, as `Guard.answer_many`."""
        asked = [_with_trace(question) for question in questions]
        outcomes = await asyncio.gather(*map(self._batched.submit, asked), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Answer)]

    async def close(self) -> None:
        """Finish the current batch, refuse the questions that still wait, and close the guard."""
        await self._batched.close()
        await asyncio.to_thread(self._guard.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _with_trace(question: Question | tuple[str, Iterable[Any]]) -> Asked:
    """Attach the caller's trace to a question, because another thread answers it."""
    return replace(Asked.of(question), trace=traces().here())
