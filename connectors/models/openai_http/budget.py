"""How long the requests of one snapshot may take together."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.tasks import TASKS


class BudgetSpentError(Exception):
    """The time is over."""


class Budget:
    """One stage of one snapshot: its time runs from its first request for all of them.

    Waiting behind other snapshots for a free connection does not count, or a large batch would
    fail at a healthy service.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline: float | None = None
        self._scopes: set[asyncio.Timeout] = set()

    @asynccontextmanager
    async def limit(self) -> AsyncIterator[None]:
        """Interrupt what is enclosed at the deadline, also one set meanwhile."""
        if self.deadline is not None and asyncio.get_running_loop().time() >= self.deadline:
            raise BudgetSpentError  # a time-out would let what need not wait begin
        scope = asyncio.timeout_at(self.deadline)
        try:
            async with scope:
                self._scopes.add(scope)
                try:
                    yield
                finally:
                    self._scopes.discard(scope)
        except TimeoutError:
            if scope.expired():
                raise BudgetSpentError from None
            raise

    def begin(self) -> float:
        """Let the time run, if it does not already; the deadline by the loop's clock."""
        if self.deadline is None:
            self.deadline = asyncio.get_running_loop().time() + self.seconds
            for scope in self._scopes:
                scope.reschedule(self.deadline)
        return self.deadline


def budgets(prompts: Sequence[Prompt], deadline_s: float) -> list[Budget]:
    """One budget per prompt, the same for prompts of a stage of a snapshot.

    Neighbours with the same task and question are taken to be of one snapshot.
    """
    found: list[Budget] = []
    previous: tuple[Task, str] | None = None
    for prompt in prompts:
        stage = (prompt.task, prompt.question)
        share = TASKS[prompt.task].deadline_share
        found.append(found[-1] if stage == previous else Budget(deadline_s * share))
        previous = stage
    return found
