"""One question on its way from the user to the reply."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sqlalchemy.exc import DBAPIError

from radarstream.connectors.state_table.database.engine import database_code
from radarstream.pipelines.asking.hooks import Chosen
from radarstream.pipelines.asking.known import KnownQuery
from radarstream.pipelines.asking.values import UserQuestion
from radarstream.pipelines.withholding import Observed
from radarstream.schemas.errors import DatabaseUnavailableError, RadarstreamError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.orchestration import (
    Audited,
    HookRecord,
    Plan,
    QuestionSignals,
    RetrievalSignals,
    RiskProfile,
)


@dataclass(eq=False)
class Course:
    """What is known so far of one question; a `failure` ends its way.

    `trust` is None where the account could not be read. `observed` is what was found, without what
    no model may see; `chosen` what the hooks left of it.
    """

    question: UserQuestion
    failure: RadarstreamError | None = None
    trust: float | None = None
    trust_after: float | None = None
    signals: QuestionSignals | None = None
    retrieval: RetrievalSignals | None = None
    known: KnownQuery | None = None
    before: RiskProfile | None = None
    after: RiskProfile | None = None
    plan: Plan = field(default_factory=Plan)
    epsilon_spent: float = 0.0
    epsilon_left: float | None = None
    observed: Observed | None = None
    chosen: Chosen | None = None
    event: AnswerEvent | None = None
    audited: Audited | None = None
    hooks: list[HookRecord] = field(default_factory=list)


def alive(courses: Sequence[Course]) -> list[Course]:
    """Those that have not failed."""
    return [course for course in courses if course.failure is None]


def each(courses: Sequence[Course], step: Callable[[Course], None]) -> None:
    """Take a step with each that has not failed; one that fails fails alone."""
    for course in alive(courses):
        try:
            step(course)
        except RadarstreamError as error:
            course.failure = error
        except DBAPIError as error:
            course.failure = unavailable(error)


def together(courses: Sequence[Course], step: Callable[[Sequence[Course]], None]) -> None:
    """Take a step with all that have not failed at once; where it fails, they fail."""
    asked = alive(courses)
    if not asked:
        return
    try:
        step(asked)
    except (RadarstreamError, DBAPIError) as error:
        told = unavailable(error) if isinstance(error, DBAPIError) else error
        for course in asked:
            course.failure = told


def unavailable(error: DBAPIError) -> DatabaseUnavailableError:
    """What a user is told of a database that fails; its own words may hold data."""
    return DatabaseUnavailableError(f"the state database failed: {database_code(error) or 'gone'}")
