"""Scenarios as they are written, and what reporters say."""

import pytest

from radarstream.lab.attribution.events import quoted
from radarstream.lab.attribution.scenarios import (
    DEFAULTS,
    Circumstance,
    Clean,
    Family,
    Scenario,
    parse_scenario,
    parse_scenarios,
)
from radarstream.schemas.errors import ConfigurationError


def test_a_scenario_is_read_and_written_alike():
    for text in ("poisonedrag", "injection@m10", "hijack/noisy", "jamming@m2/crowd",
                 "injection-benign-removal", "benign-errors"):  # fmt: skip
        assert parse_scenario(text).name == text


def test_usual_counts_are_left_out():
    assert parse_scenario("poisonedrag@m5") == parse_scenario("poisonedrag")
    assert parse_scenario("several").count == 15
    assert parse_scenario("multihop").count == 4
    assert parse_scenario("false-reports") == Scenario("false-reports")


def test_what_means_nothing_is_refused():
    for text in ("", "nobody", "pia", "poisonedrag@1", "poisonedrag@m0", "injection/quiet",
                 "injection/", "benign-errors/noisy", "a b"):  # fmt: skip
        with pytest.raises(ConfigurationError):
            parse_scenario(text)


def test_the_scenarios_of_a_family_belong_to_it():
    for family in Family:
        found = parse_scenarios(family.value)
        assert [scenario.name for scenario in found] == list(DEFAULTS[family])
        assert {scenario.family for scenario in found} == {family}


def test_a_list_is_in_order_and_without_repetition():
    names = [s.name for s in parse_scenarios("clean, hijack ,clean,plain")]
    assert names[:4] == [*Clean, "hijack"] and names.count("hijack") == 1
    assert len(parse_scenarios("all")) == sum(map(len, DEFAULTS.values()))
    with pytest.raises(ConfigurationError, match="no scenario"):
        parse_scenarios(" , ")


def test_reports_are_the_answer_unless_the_scenario_says_otherwise():
    assert quoted(parse_scenario("injection"), "q", "Rome", "Faro") == "Rome"
    assert quoted(Scenario(Clean.INVENTED_REPORTS), "q", "Rome", "Faro") == "Faro"
    assert quoted(Scenario(Clean.FALSE_REPORTS), "q", "Rome", "Faro") == "Rome"
    told = quoted(Scenario("injection", 5, Circumstance.NOISY), "q", "Faro", "Faro")
    assert told != "Faro"


def test_noisy_reports_differ_between_questions_and_keep_the_answer():
    noisy = Scenario("injection", 5, Circumstance.NOISY)
    told = {quoted(noisy, f"q-{number}", "Rome", "Faro") for number in range(40)}
    assert len(told) == 5 and all("rome" in text.lower() for text in told)
