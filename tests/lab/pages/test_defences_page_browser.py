"""The experiment's report in a real headless Chromium: quiet, inert, and legible."""

from dataclasses import replace
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By

from radarstream.lab.attacks.protocol import Condition
from tests.lab.pages.defences_run import (
    CONDITIONS,
    IN_TIME,
    STATIC,
    SWEEP,
    hostile_experiment,
    make_experiment,
    written,
)
from tests.pipelines.pages.headless_browser import NARROW, WIDE, check_page, with_each_font

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def static(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("static"), make_experiment(questions=8))


@pytest.fixture(scope="module")
def in_time(tmp_path_factory: pytest.TempPathFactory) -> Path:
    experiment = make_experiment(
        questions=5, steps=6, conditions=CONDITIONS[:2], contenders=(*IN_TIME, *SWEEP[:2])
    )
    return written(tmp_path_factory.mktemp("time"), experiment)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("hostile"), hostile_experiment())


@pytest.fixture(scope="module")
def wordy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A condition and a contender with names that are wider than a telephone."""
    attack = Condition("prompt_injection_repeated", tuple(range(1, 11)), "late-3")
    long = replace(SWEEP[0], name="radar:pair_scale=0.1,and_so_on=0.5[cross_encoder:a-long-name]")
    experiment = make_experiment(
        questions=2, steps=2, conditions=(CONDITIONS[0], attack), contenders=(STATIC[0], long)
    )
    return written(tmp_path_factory.mktemp("wordy"), experiment)


@with_each_font
@pytest.mark.parametrize("name", ["static", "in_time", "hostile", "wordy"])
def test_a_page_is_quiet_harmless_legible_and_fits(browser, request, name):
    file, widths = request.getfixturevalue(name), (WIDE, NARROW, 320)
    check_page(browser, file, widths, labels=name != "wordy")
    if name == "hostile":
        text = browser.find_element(By.ID, "cases").text
        assert "<script>window.pwned=1</script>" in text
        assert "‹U+202E›evil" in text
        assert "javascript:window.pwned=1" in text
