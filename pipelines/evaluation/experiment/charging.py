"""Charging what a defence or an attribution asks, and its own time, while it is driven."""

from collections.abc import Callable, Generator
from time import perf_counter
from typing import Any, TypeVar

from radarstream.defenses.protocol import Request

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
