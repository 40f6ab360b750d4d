"""Charging what a defence or an attribution asks, and its own time, while it is driven."""

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Protocol, TypeVar

from radarstream.defenses.protocol import Request
from radarstream.pipelines.evaluation.defences.counting import Ledger
from radarstream.pipelines.signals.ports import Models

ResultT = TypeVar("ResultT")


def charged(
    asking: Generator[Request, Any, ResultT],
    charge: Callable[[Request, Any], None],
    add_seconds: Callable[[float], None],
) -> Generator[Request, Any, ResultT]:
    """The same generator; `charge` is told of every request with its response, `add_seconds` of
    the time between them, which is the generator's own.
    """
    started = perf_counter()
    try:
        request = next(asking)
        while True:
            add_seconds(perf_counter() - started)
            response = yield request
            charge(request, response)
            started = perf_counter()
            request = asking.send(response)
    except StopIteration as stop:
        add_seconds(perf_counter() - started)
        result: ResultT = stop.value
        return result
    finally:
        asking.close()


class Account(Protocol):
    """What one item is charged to."""

    def charge(self, request: Request, response: Any, /) -> None:
        """Count one request, once it is answered."""
        ...

    def add_seconds(self, own: float) -> None:
        """Count the method's own computation."""
        ...


@dataclass(frozen=True)
class ItemCosts:
    """Costs of a batch, each item charged to its account; see `signals.metering.Costs`."""

    ledger: Ledger
    accounts: Sequence[Account] = ()

    def stage(
        self,
        name: str,  # noqa: ARG002 an account has its own stages
        *models: object,  # noqa: ARG002
        records: int = 0,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """Nothing: only items are charged."""
        return nullcontext()

    def around(self, models: Models) -> Models:
        """The models, noting in the ledger what each request took."""
        return self.ledger.around(models)

    def charged(
        self, place: int, asking: Generator[Request, Any, ResultT]
    ) -> Generator[Request, Any, ResultT]:
        """The generator, its requests and its own time charged to the account at this place."""
        account = self.accounts[place]
        return charged(asking, account.charge, account.add_seconds)
