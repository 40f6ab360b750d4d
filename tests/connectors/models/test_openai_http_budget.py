"""Every task has a share of a snapshot's time."""

import pytest

from radarstream.connectors.models.openai_http.budget import OTHER_SHARE, budgets
from radarstream.schemas.prompt import Prompt, Task


@pytest.mark.parametrize("task", Task)
def test_every_task_has_time(task: Task) -> None:
    prompt = Prompt(task, "", (), "Who?", (), 24)
    first, second = budgets([prompt, prompt], 10.0)
    assert first is second
    assert first.seconds >= 10.0 * OTHER_SHARE
