"""Every task has a share of a snapshot's time."""

import pytest

from radarstream.connectors.models.openai_http.client import budgets
from radarstream.schemas.prompt import Prompt, Task


@pytest.mark.parametrize("task", Task)
def test_every_task_has_time(task: Task) -> None:
    prompt = Prompt(task, "", (), "Who?", (), 24)
    first, second = budgets([prompt, prompt], 10.0)
    assert first is second
    assert first.seconds >= 1.0


def test_the_stages_of_radar_share_the_deadline() -> None:
    """With a model that judges relations: between answers, to the memory, to the last answer."""
    judged = Task.JUDGE_RELATION
    stages = [Task.ATOMIC_ANSWER, judged, Task.ANSWER_FROM_DOCUMENTS, judged]
    stages += [Task.SYNTHESISE_ANSWERS, judged]
    prompts = [Prompt(task, "", (), "Who?", (), 24) for task in stages]
    shares = [budget.seconds for budget in budgets(prompts, 10.0)]
    assert shares == [3.5, 1.5, 1.0, 1.5, 1.0, 1.5]
    assert sum(shares) == 10.0
