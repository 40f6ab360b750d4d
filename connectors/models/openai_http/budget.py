"""How long the requests of one snapshot may take together."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

from radarstream.schemas.prompt import Prompt, Task

# RADAR asks at most three times, one after another: for every document's answer, for the
# undefended answer and for the final wording. The shares add up to its whole deadline.
SHARES: Final[dict[Task, float]] = {
    Task.ATOMIC_ANSWER: 0.6,
    Task.ANSWER_FROM_DOCUMENTS: 0.2,
    Task.SYNTHESISE_ANSWERS: 0.2,
    Task.DESCRIBE_FROM_PASSAGE: 0.6,
}
OTHER_SHARE: Final = 0.2  # of each call that another defence makes


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
        share = SHARES.get(prompt.task, OTHER_SHARE)
        same = stage == previous
        found.append(found[-1] if same else Budget(deadline_s * share))
        previous = stage
    return found
