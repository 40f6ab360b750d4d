"""`orchestration.thresholds` reaches everything that decides by it."""

import pytest

from radarstream.defenses.orchestration.signals import Usual
from radarstream.defenses.trust_rag import TooMuchAlike
from radarstream.pipelines.asking.answering import options_of
from radarstream.pipelines.asking.building import build_control
from radarstream.pipelines.asking.planning import full
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.orchestration import Module
from radarstream.schemas.verdict import KEEPING
from tests.driving import Script, run

# True pages about one thing share the words of the question.
HONEST = (
    "The mayor of Exampleton is Ann Lee.",
    "Ann Lee, the mayor of Exampleton, opened the bridge.",
    "Ann Lee has been the mayor of Exampleton since 2015.",
)


@pytest.mark.parametrize(("thresholds", "rho"), [("corrected", 0.8), ("paper", 0.25)])
def test_one_setting_for_meter_rules_and_static_plans(thresholds: str, rho: float) -> None:
    settings = load_settings(None, profile="embedded", orchestration={"thresholds": thresholds})
    control = build_control(settings, models=None)
    assert control is not None
    assert control.strategist.thresholds == thresholds
    assert control.usual == Usual.of(thresholds)
    plan = full(settings.orchestration, tuple(Module), "static")
    assert plan.trustrag.rouge_threshold == rho


@pytest.mark.parametrize(("thresholds", "lost"), [("corrected", 0), ("paper", 2)])
def test_honest_pages_that_share_the_words_of_a_question_stay(thresholds: str, lost: int) -> None:
    settings = load_settings(None, profile="scripted", orchestration={"thresholds": thresholds})
    plan = full(settings.orchestration, tuple(Module), "")
    options = options_of(plan, Module.TRUSTRAG)
    alike = Script(embedding=lambda text: (1.0, 0.01 * len(text)))
    reasons = run(TooMuchAlike(**options, on_empty="abstain").judge(HONEST), alike)
    assert sum(reason not in KEEPING for reason in reasons) >= lost
    assert lost or all(reason in KEEPING for reason in reasons)
