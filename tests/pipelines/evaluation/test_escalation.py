"""Conditions under which the attacker does more and more, and how they are found again."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream import Guard
from radarstream.pipelines.evaluation.attacks.conditions import (
    attacked,
    parse_condition,
    sites_of_planted,
)
from radarstream.pipelines.evaluation.attacks.escalation import (
    Effort,
    amounts_up_to,
    escalating,
    escalations,
)
from radarstream.pipelines.evaluation.simulation.plain import TARGET, TRUTH, plain_pages
from radarstream.schemas.errors import ConfigurationError

K = 10


@pytest.mark.parametrize("place", ["top", "random"])
@pytest.mark.parametrize("steps", [1, 4])
def test_what_is_made_is_found_again(place: str, steps: int) -> None:
    made = escalating(["poison"], [1, 2, 5], place=place, steps=steps, at_each_step=2)
    assert made[0].name == "benign"
    found = {escalation.effort: escalation for escalation in escalations(made)}
    assert set(found) == set(Effort) - (set() if steps > 1 else {Effort.STEPS})
    for effort in (Effort.OWN_SITES, Effort.ONE_SITE):
        escalation = found[effort]
        assert [amount for amount, _ in escalation.conditions] == [1, 2, 5]
        assert [condition.peak for _, condition in escalation.conditions] == [1, 2, 5]
        assert (escalation.attack, escalation.place, escalation.documents) == ("poison", place, 0)
        assert escalation.schedule == ("late-1" if steps > 1 else "")
    if steps > 1:
        assert [amount for amount, _ in found[Effort.STEPS].conditions] == [1, 2, 3, 4]
        assert found[Effort.STEPS].documents == 2


def test_one_document_is_on_one_site_either_way() -> None:
    own, one = escalations(escalating(["pia"], [1, 2]))
    assert own.conditions[0] == one.conditions[0]
    assert [condition.name for _, condition in one.conditions] == ["pia@1", "pia@1+2/one-site"]


@pytest.mark.parametrize(
    "names",
    [
        *(["pia@1"], ["pia@1", "pia@10"], ["pia@2", "pia@2+3"], ["pia@1", "poison@1+2"]),
        ["poisonedrag@m1", "poisonedrag@m2"],
        ["pia@1:late-1", "pia@1+2:late-2"],
    ],
)
def test_conditions_that_differ_in_more_than_the_amount_are_none(names: list[str]) -> None:
    assert escalations(map(parse_condition, names)) == []


def test_what_cannot_be_asked_is_refused() -> None:
    for amounts, place in (([], "top"), ([0], "top"), ([1], "bottom")):
        with pytest.raises(ConfigurationError):
            escalating(["pia"], amounts, place=place)
    with pytest.raises(ConfigurationError, match="unheard"):
        escalating(["unheard"], [1])


@given(st.integers(1, 60))
def test_amounts_grow_and_end_with_the_largest(most: int) -> None:
    amounts = amounts_up_to(most)
    assert amounts[0] == 1 and amounts[-1] == most
    assert all(one < other for one, other in pairwise(amounts))


@pytest.mark.parametrize("name", ["poison-varied@1..8:late-1", "pia-varied@1..8:late-1"])
def test_documents_differ_and_lie_on_as_many_sites_as_said(name: str) -> None:
    histories = plain_pages(K, questions=2, steps=2).histories
    (first, second), _ = attacked(parse_condition(name), histories, k=K).histories
    assert first is histories[0][0]
    planted = second.documents[:8]
    assert len({document.text for document in planted}) == 8
    assert all(TARGET in document.text for document in planted)
    assert all(TRUTH in document.text for document in second.documents[8:])
    assert sites_of_planted(second) == 8
    place, _, when = name.partition(":")
    outcome = attacked(parse_condition(f"{place}/one-site:{when}"), histories, k=K)
    together = outcome.histories[0][1]
    assert sites_of_planted(together) == 1
    assert [d.text for d in together.documents] == [d.text for d in second.documents]
    assert len({document.url for document in together.documents}) == K


def test_plain_pages_are_independent_and_production_answers_them() -> None:
    (history,) = plain_pages(50, questions=1, steps=1).histories
    pages = [{"text": d.text, "title": d.title, "url": d.url} for d in history[0].documents]
    with Guard(profile="scripted") as guard:
        answer = guard.answer(history[0].query.text, pages)
    assert (answer.text, answer.status) == (TRUTH, "corroborated")
    assert answer.support is not None and answer.support.sites_for == 50


def test_the_last_steps() -> None:
    histories = plain_pages(K, questions=1, steps=4).histories
    (history,) = attacked(parse_condition("poison@1:last-2"), histories, k=K).histories
    assert [bool(s.labels.poisoned_ranks) for s in history] == [False, False, True, True]
