"""The circuit breaker: when it opens, what it lets through, what it learns from."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from radarstream.connectors.models.circuit_breaker import CircuitBreaker
from radarstream.schemas.errors import ModelError, ModelOutageError
from tests.clocks import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def breaker(clock: FakeClock) -> CircuitBreaker:
    return CircuitBreaker(failures=3, cool_down_s=10.0, clock=clock.monotonic)


def fail(breaker: CircuitBreaker, error: BaseException | None = None, times: int = 1) -> None:
    error = error or ModelOutageError("down")
    for _ in range(times):
        with pytest.raises(type(error)), breaker.call():
            raise error


def succeed(breaker: CircuitBreaker) -> None:
    with breaker.call():
        pass


def is_refused(breaker: CircuitBreaker) -> bool:
    before = breaker.refused
    try:
        succeed(breaker)
    except ModelOutageError as error:
        assert "circuit open" in str(error)
    return breaker.refused > before


def test_it_opens_after_failures_in_a_row_only(breaker: CircuitBreaker) -> None:
    fail(breaker, times=2)
    succeed(breaker)
    fail(breaker, times=2)
    fail(breaker, ModelError("this prompt is refused"), times=5)  # the service works
    fail(breaker, times=2)
    assert breaker.state == "closed"
    fail(breaker)
    assert (breaker.state, breaker.opened) == ("open", 1)
    assert is_refused(breaker)
    with pytest.raises(ValueError, match="positive"):
        CircuitBreaker(failures=0, cool_down_s=1.0)


def test_one_call_tries_after_the_cool_down(breaker: CircuitBreaker, clock: FakeClock) -> None:
    fail(breaker, times=3)
    for opened in (1, 2):
        assert (breaker.state, breaker.opened) == ("open", opened)
        clock.seconds += 9.9
        assert is_refused(breaker)
        clock.seconds = 10.0 * opened
        assert breaker.state == "half_open"
        if opened == 1:
            fail(breaker)
    with breaker.call():
        assert is_refused(breaker)  # only one at a time
    assert breaker.state == "closed"
    assert not is_refused(breaker)


def test_a_try_that_is_given_up_lets_another_try(breaker: CircuitBreaker, clock: FakeClock) -> None:
    fail(breaker, times=3)
    clock.seconds = 10.0
    fail(breaker, KeyboardInterrupt())
    assert breaker.state == "half_open"
    assert not is_refused(breaker)


def test_what_was_never_asked_says_nothing_of_the_service(breaker, clock):
    unasked = ModelOutageError("no turn")
    unasked.asked = False
    fail(breaker, times=2)
    fail(breaker, unasked, times=9)
    assert breaker.state == "closed"
    fail(breaker)
    assert breaker.state == "open"
    clock.seconds = 10.0
    fail(breaker, unasked)
    assert breaker.state == "half_open"
    assert not is_refused(breaker)


def test_threads_get_one_try_between_them(breaker: CircuitBreaker, clock: FakeClock) -> None:
    fail(breaker, times=3)
    clock.seconds = 10.0
    inside = Barrier(8)

    def attempt(_: int) -> bool:
        try:
            with breaker.call():
                inside.wait(10.0)  # the refused ones come here too
                return True
        except ModelOutageError:
            inside.wait(10.0)
            return False

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
