"""Every task has a share of a snapshot's time."""

import pytest

from radarstream.connectors.models.openai_http.client import budgets
from radarstream.schemas.prompt import Prompt, Task


@pytest.mark.parametrize("task", Task)
def test_every_task_has_time(task: Task) -> None:
    prompt = Prompt(task, "", (), "Who?", (), 24)
    first, second = budgets([prompt, prompt], 10.0)
    assert first is second
    assert first.seconds >= 2.0


def test_the_stages_of_radar_share_the_deadline() -> None:
    stages = [Task.ATOMIC_ANSWER, Task.ANSWER_FROM_DOCUMENTS, Task.SYNTHESISE_ANSWERS]
    prompts = [Prompt(task, "", (), "Who?", (), 24) for task in stages]
    assert [budget.seconds for budget in budgets(prompts, 10.0)] == [6.0, 2.0, 2.0]
