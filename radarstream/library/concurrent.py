"""The asynchronous twin of the guard."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, Self

from radarstream.library.answers import Answer
from radarstream.library.guard import Guard, Question

AT_ONCE: Final = 64  # questions of one batch


class AsyncGuard:
    """Like `Guard`, for asyncio. Questions that come while models are busy share the next batch.

    It takes the same parameters. Close it with `await guard.close()`, or use `async with`.

    >>> async def capital():
    ...     async with AsyncGuard(profile="scripted") as guard:
    ...         answer = await guard.answer("What is the capital?", ["Lima is the capital."])
    ...         return answer.text
    >>> asyncio.run(capital())
    'Lima'
    """

    def __init__(self, **parameters: Any) -> None:
        self._guard = Guard(**parameters)
        self._waiting: list[tuple[Question, asyncio.Future[Answer]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def answer(
        self,
        question: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002 as in `Guard.answer`
    ) -> Answer:
        """Answer one question, as `Guard.answer`."""
        return await self._ask(Question(question, documents, at, id))

    async def answer_many(
        self, questions: Iterable[Question | tuple[str, Iterable[Any]]]
    ) -> list[Answer]:
        """Answer many questions, as `Guard.answer_many`."""
        asked = [q if isinstance(q, Question) else Question(*q) for q in questions]
        outcomes = await asyncio.gather(*map(self._ask, asked), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Answer)]

    async def close(self) -> None:
        """Wait for the batch that is being answered, refuse what still waits, and close."""
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        if self._worker is not None:
            await self._worker
        await asyncio.to_thread(self._guard.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(self, question: Question) -> Answer:
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((question, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        """Answer batch after batch until nobody waits."""
        while self._waiting:
            batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            wanted = [(q, f) for q, f in batch if not f.cancelled()]
            outcomes = await asyncio.to_thread(tried, self._guard, [q for q, _ in wanted])
            for (_, future), outcome in zip(wanted, outcomes, strict=True):
                with suppress(asyncio.InvalidStateError):  # its asker was cancelled meanwhile
                    if isinstance(outcome, Answer):
                        future.set_result(outcome)
                    else:
                        future.set_exception(outcome)


def tried(guard: Guard, questions: list[Question]) -> list[Answer | Exception]:
    """Answer a batch; a question that cannot be read fails alone."""
    try:
        return [*guard.try_many(questions)]
    except Exception as error:  # noqa: BLE001 it is given to whoever asked
        if len(questions) == 1:
            return [error]
    return [tried(guard, [question])[0] for question in questions]
