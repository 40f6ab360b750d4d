"""What a generator can be asked: one `TaskSpec` per task.

A new task is a member of `Task` and a `TaskSpec` in one of these modules. The worked examples are
our own and ask nothing that evaluation data asks.
"""

from collections.abc import Mapping
from typing import Final

from radarstream.schemas.prompt import Task
from radarstream.schemas.tasks import answering, attribution, biographies, orchestration, relations
from radarstream.schemas.tasks.spec import ABSTENTION, Layout, Reply, ScriptedRule, TaskSpec

__all__ = ["ABSTENTION", "TASKS", "Layout", "Reply", "ScriptedRule", "TaskSpec"]

TASKS: Final[Mapping[Task, TaskSpec]] = {
    spec.task: spec
    for module in (answering, biographies, attribution, relations, orchestration)
    for spec in vars(module).values()
    if isinstance(spec, TaskSpec)
}
