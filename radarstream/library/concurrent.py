"""The asynchronous twin of the guard."""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final, Self

from radarstream.library.answers import Answer
from radarstream.library.guard import Guard
from radarstream.library.questions import Asked, Question

AT_ONCE: Final = 64  # questions of one batch
CLOSED: Final = "this guard is closed: make another one"


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
        self._waiting: list[tuple[Asked, asyncio.Future[Answer]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._closed = False

    async def answer(
        self,
        question: str,
        documents: Iterable[Any],
        *,
        at: datetime | None = None,
        id: str | None = None,  # noqa: A002 as in `Guard.answer`
    ) -> Answer:
        """Answer one question, as `Guard.answer`."""
        return await self._ask(Asked.of(Question(question, documents, at, id)))

    async def answer_many(
        self, questions: Iterable[Question | tuple[str, Iterable[Any]]]
    ) -> list[Answer]:
        """Answer many questions, as `Guard.answer_many`."""
        asked = [Asked.of(question) for question in questions]
        outcomes = await asyncio.gather(*map(self._ask, asked), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome
        return [outcome for outcome in outcomes if isinstance(outcome, Answer)]

    async def close(self) -> None:
        """Wait for the batch that is being answered, refuse what still waits, and close."""
        self._closed = True
        self._refuse_waiting()
        worker = self._worker
        if worker is not None and worker.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([worker])  # which a cancelled `close` leaves alone
        await asyncio.to_thread(self._guard.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _ask(self, asked: Asked) -> Answer:
        if self._closed:
            raise RuntimeError(CLOSED)
        loop = asyncio.get_running_loop()
        if self._worker is None or self._worker.done() or self._abandoned(loop):
            self._waiting.clear()
            self._worker = loop.create_task(self._work())
        future: asyncio.Future[Answer] = loop.create_future()
        self._waiting.append((asked, future))
        return await future

    def _abandoned(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether the worker's loop was closed. Raises RuntimeError where another loop has it."""
        owner = self._worker.get_loop() if self._worker is not None else loop
        if owner is not loop and not owner.is_closed():
            raise RuntimeError("another event loop asks this guard: make a guard for each loop")
        return owner is not loop

    def _refuse_waiting(self) -> None:
        for _, future in self._waiting:
            give(future, RuntimeError(CLOSED))
        self._waiting.clear()

    async def _work(self) -> None:
        """Answer batch after batch until nobody waits. Askers are given what is raised."""
        while self._waiting:
            batch, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            wanted = [(asked, future) for asked, future in batch if not future.done()]
            outcomes: Sequence[Answer | BaseException]
            try:
                outcomes = await asyncio.to_thread(tried, self._guard, [a for a, _ in wanted])
            except asyncio.CancelledError:
                for _, future in (*wanted, *self._waiting):
                    future.cancel()
                raise
            except BaseException as error:  # noqa: BLE001 it is given to whoever asked
                outcomes = [error] * len(wanted)
            for (_, future), outcome in zip(wanted, outcomes, strict=True):
                give(future, outcome)


def give(future: "asyncio.Future[Answer]", outcome: Answer | BaseException) -> None:
    """End the waiting of an asker, unless it was cancelled meanwhile."""
    if future.done() or future.get_loop().is_closed():
        return
    if isinstance(outcome, Answer):
        future.set_result(outcome)
    elif isinstance(outcome, StopIteration):  # no future takes it
        future.set_exception(RuntimeError(f"a model raised {outcome!r}"))
    else:
        future.set_exception(outcome)


def tried(guard: Guard, questions: list[Asked]) -> list[Answer | Exception]:
    """Answer a batch; a question on which something breaks fails alone."""
    try:
        return [*guard.try_many(questions)]
    except Exception as error:  # noqa: BLE001 it is given to whoever asked
        if len(questions) == 1:
            return [error]
    return [tried(guard, [question])[0] for question in questions]
