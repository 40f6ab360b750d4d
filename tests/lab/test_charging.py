"""Driving a defence or an attribution while what it asks is charged."""

from types import SimpleNamespace

import pytest

from radarstream.lab.study import costs as charging
from radarstream.lab.study.costs import ItemCosts, Ledger
from radarstream.schemas.errors import EvidenceError


def charged(asking, charge, add):
    """As the second item; the account of the first one cannot be charged."""
    account = SimpleNamespace(charge=charge, add=lambda _, own: add(own))
    return ItemCosts(Ledger(), [None, account]).charged(1, asking)


def asking(ended):
    try:
        answer = yield "first"
        if answer == "nonsense":
            raise EvidenceError("refused")
        return answer
    finally:
        ended.append(True)


def test_requests_and_the_time_between_them_are_charged(monkeypatch):
    moments = iter([0.0, 1.0, 10.0, 12.0])
    monkeypatch.setattr(charging, "perf_counter", lambda: next(moments))
    asked, seconds, ended = [], [], []
    running = charged(asking(ended), lambda *exchange: asked.append(exchange), seconds.append)
    assert next(running) == "first" and asked == []
    with pytest.raises(StopIteration) as stop:
        running.send("Rome")
    assert stop.value.value == "Rome"
    assert (asked, seconds, ended) == ([("first", "Rome")], [1.0, 2.0], [True])


def test_what_is_raised_is_passed_on_and_so_is_an_end_from_outside():
    ended = []
    inner = asking(ended), asking(ended)  # kept, or collecting garbage would end them
    refused, closed = (charged(one, lambda *_: None, lambda _: None) for one in inner)
    next(refused), next(closed)
    with pytest.raises(EvidenceError, match="refused"):
        refused.send("nonsense")
    closed.close()
    assert len(ended) == 2
