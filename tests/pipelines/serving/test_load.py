"""Two hundred users at once are all answered; `make bench` measures how fast."""

from pathlib import Path

from tests.load import loaded, service_of_its_own


def test_two_hundred_users_at_once_are_answered(tmp_path: Path) -> None:
    with service_of_its_own(tmp_path) as (port, token):
        load = loaded(port, token, users=200, per_second=200.0, seconds=1.0)
    assert load.errors == []
    assert len(load.seconds) == 200
