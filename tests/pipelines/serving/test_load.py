"""Two hundred users at once are all answered; `make bench` measures how fast."""

from pathlib import Path

import pytest
from pydantic import TypeAdapter

from radarstream.pipelines.serving.told import facts_of
from tests.load import loaded, service_of_its_own
from tests.serving import a_question, reply_to


def test_two_hundred_users_at_once_are_answered(tmp_path: Path) -> None:
    with service_of_its_own(tmp_path) as (port, token):
        load = loaded(port, token, users=200, per_second=200.0, seconds=1.0)
    assert load.errors == []
    assert len(load.seconds) == 200


def test_no_serialiser_is_built_for_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(TypeAdapter, "__init__")
    assert facts_of(reply_to(a_question()))["status"] == "single_source"
