"""Askers on an event loop share batches: what comes while models are busy waits for the next."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Final, Generic, TypeVar

ItemT = TypeVar("ItemT")
OutT = TypeVar("OutT")

AT_ONCE: Final = 64  # items of one batch
Asked = tuple[ItemT, asyncio.Future[OutT]]


class Batched(Generic[ItemT, OutT]):
    """Batches single items of many askers, who wait in one queue each and are served in turn.

    `work` runs in a thread on at most `at_once` items and returns one result per item, in order. An
    exception among them is raised to its asker; where `work` itself raises, each item is tried
    alone. `name` is for messages. One event loop at a time may ask.
    """

    def __init__(
        self,
        work: Callable[[list[ItemT]], Sequence[OutT | Exception]],
        name: str,
        at_once: int = AT_ONCE,
    ) -> None:
        self._work, self._name, self._at_once = work, name, at_once
        self._waiting: dict[str, deque[Asked[ItemT, OutT]]] = {}  # whose turn is next comes first
        self._worker: asyncio.Task[None] | None = None
        self._closed = False

    async def submit(self, item: ItemT, asker: str = "") -> OutT:
        """The result for one item of an asker. Raises RuntimeError once closed."""
        if self._closed:
            raise RuntimeError(self._refusal)
        loop = asyncio.get_running_loop()
        if self._worker is None or self._worker.done() or self._abandoned(loop):
            self._waiting.clear()
            self._worker = loop.create_task(self._batches())
        future: asyncio.Future[OutT] = loop.create_future()
        self._waiting.setdefault(asker, deque()).append((item, future))
        return await future

    async def close(self) -> None:
        """Wait for the batch that is being worked on, and refuse what still waits."""
        self._closed = True
        for _, future in chain.from_iterable(self._waiting.values()):
            give(future, RuntimeError(self._refusal))
        self._waiting.clear()
        worker = self._worker
        if worker is not None and worker.get_loop() is asyncio.get_running_loop():
            await asyncio.wait([worker])  # which a cancelled `close` leaves alone

    @property
    def _refusal(self) -> str:
        return f"this {self._name} is closed: make another one"

    def _abandoned(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether the worker's loop was closed. Raises RuntimeError where another loop has it."""
        owner = self._worker.get_loop() if self._worker is not None else loop
        if owner is not loop and not owner.is_closed():
            raise RuntimeError(
                f"another event loop asks this {self._name}: make a {self._name} for each loop"
            )
        return owner is not loop

    async def _batches(self) -> None:
        """Work on batch after batch until nobody waits. Askers are given what is raised."""
        while wanted := self._next():
            outcomes: Sequence[OutT | BaseException]
            try:
                outcomes = await asyncio.to_thread(tried, self._work, wanted)
            except asyncio.CancelledError:
                for _, future in chain(wanted, *self._waiting.values()):
                    future.cancel()
                raise
            except BaseException as error:  # noqa: BLE001 it is given to whoever asked
                outcomes = [error] * len(wanted)
            for (_, future), outcome in zip(wanted, outcomes, strict=True):
                give(future, outcome)

    def _next(self) -> list[Asked[ItemT, OutT]]:
        """The next batch: one item of each asker in turn, without those given up meanwhile."""
        batch: list[Asked[ItemT, OutT]] = []
        while self._waiting and len(batch) < self._at_once:
            asker = next(iter(self._waiting))
            queue = self._waiting.pop(asker)
            while queue and queue[0][1].done():
                queue.popleft()
            if queue:
                batch.append(queue.popleft())
            if queue:
                self._waiting[asker] = queue  # behind all others
        return batch


def give(future: "asyncio.Future[OutT]", outcome: OutT | BaseException) -> None:
    """End the waiting of an asker, unless it was cancelled meanwhile."""
    if future.done() or future.get_loop().is_closed():
        return
    if not isinstance(outcome, BaseException):
        future.set_result(outcome)
    elif isinstance(outcome, StopIteration):  # no future takes it
        future.set_exception(RuntimeError(f"a model raised {outcome!r}"))
    else:
        future.set_exception(outcome)


def tried(
    work: Callable[[list[ItemT]], Sequence[OutT | Exception]], asked: list[Asked[ItemT, OutT]]
) -> list[OutT | Exception]:
    """Work on a batch; an item on which something breaks fails alone, unless it was given up."""
    try:
        return [*work([item for item, _ in asked])]
    except Exception as error:  # noqa: BLE001 it is given to whoever asked
        failure = error
    if len(asked) == 1:
        return [failure]
    return [failure if one[1].done() else tried(work, [one])[0] for one in asked]
