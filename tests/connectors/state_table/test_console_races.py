"""Two operators at once, on SQLite and on PostgreSQL: one acts, the other is told."""

from sqlalchemy import Engine

from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.sources import SourceVerdict
from radarstream.pipelines.serving.console.acting import Confirmed, NothingToDoError, Target
from radarstream.pipelines.serving.console.sources import Judge
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import RadarstreamError, StateConflictError
from tests.clocks import at_once

OPERATORS = ("ada", "bob", "cleo", "dan")
NOW_MS = 1_750_000_000_000


def outcomes(work) -> list[str]:
    """What became of each operator's action: done, or the class of its refusal."""

    def attempt(number: int) -> str:
        try:
            work(OPERATORS[number])
        except RadarstreamError as error:
            return type(error).__name__
        return "done"

    return sorted(at_once(attempt, len(OPERATORS)))


def test_of_several_verdicts_one_is_written(engine: Engine) -> None:
    settings = load_settings(None, profile="scripted")
    target = Target(engine, settings, {"domain": "liar.example"})
    verdicts = dict(
        zip(OPERATORS, (SourceVerdict.BLOCKED, SourceVerdict.PARDONED) * 2, strict=True)
    )
    seen = Judge(SourceVerdict.BLOCKED, "block").propose(target).seen

    def work(name: str) -> None:
        action = Judge(verdicts[name], str(verdicts[name]))
        action.carry_out(target, Confirmed(name, NOW_MS, seen))

    told = outcomes(work)
    assert told.count("done") == 1
    assert set(told) <= {"done", NothingToDoError.__name__, StateConflictError.__name__}
    (row,) = read_actions(engine)
    assert row.action == verdicts[row.user]
