"""Guards and engines are kept per process; each test of the graph starts with its own."""

from collections.abc import Iterator

import pytest

from tests.commands import forget_shared


@pytest.fixture(autouse=True)
def own_process_state() -> Iterator[None]:
    yield
    forget_shared()
