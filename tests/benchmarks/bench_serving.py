"""What the service adds to an answer: 200 users at once, 50 questions a second, no models.

The service runs in a process of its own with its database; the asker answers at once. Time is that
of the whole request as a client on loopback sees it.
"""

from pathlib import Path

import pytest

from tests.benchmarks.figures import Figures
from tests.load import loaded, service_of_its_own

pytestmark = pytest.mark.bench
USERS, PER_SECOND, SECONDS = 200, 50.0, 24.0


def test_overhead_of_serving(tmp_path: Path, figures: Figures) -> None:
    with service_of_its_own(tmp_path) as (port, token):
        load = loaded(port, token, users=USERS, per_second=PER_SECOND, seconds=SECONDS)
    assert load.errors == []
    assert len(load.seconds) == PER_SECOND * SECONDS
    figures.add("serving, 200 users, p50", load.at(50), "ms", ("<", 5.0))
    figures.add("serving, 200 users, p99", load.at(99), "ms", ("<", 25.0))
