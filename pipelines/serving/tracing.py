"""OpenTelemetry spans of questions and of the stages that answer them. Optional (`otel`).

A span holds names, counts and classes of errors; never a question, a document or an answer.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import time_ns
from typing import TYPE_CHECKING, Any

from radarstream.pipelines.asking.values import Reply, UserQuestion
from radarstream.pipelines.job.telemetry.logs import class_name
from radarstream.pipelines.serving.question_queue import AnswerAll
from radarstream.schemas.errors import RadarstreamError

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer


@dataclass
class Traced:
    """Answers questions and makes a span for each, with a span for each stage of its batch.

    Questions that share a batch share its times. `stage` is one of the observers of the guard's
    meter. One batch at a time.
    """

    answer_all: AnswerAll
    tracer: "Tracer"

    def __post_init__(self) -> None:
        self._stages: list[tuple[str, int, int, str]] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Note a stage with its times, and the class of what ended it."""
        started, failure = time_ns(), ""
        try:
            yield
        except BaseException as error:
            failure = class_name(error)
            raise
        finally:
            self._stages.append((name, started, time_ns(), failure))

    def __call__(self, questions: Sequence[UserQuestion]) -> list[Reply | RadarstreamError]:
        """A reply or an error for each question, in order."""
        self._stages, started = [], time_ns()
        outcomes: list[Reply | RadarstreamError] | None = None
        try:
            outcomes = self.answer_all(questions)
            return outcomes
        finally:
            ended = time_ns()
            for place, question in enumerate(questions):
                outcome = None if outcomes is None else outcomes[place]
                known = attributes(question, outcome) | {"radarstream.questions": len(questions)}
                self._tell(known, started, ended)

    def _tell(self, known: dict[str, Any], started: int, ended: int) -> None:
        from opentelemetry import trace

        span = self.tracer.start_span("question", attributes=known, start_time=started)
        if "error.type" in known:
            span.set_status(trace.StatusCode.ERROR)
        within = trace.set_span_in_context(span)
        for name, begun, done, failure in self._stages:
            told = {"radarstream.stage": name} | ({"error.type": failure} if failure else {})
            stage = self.tracer.start_span(name, within, attributes=told, start_time=begun)
            if failure:
                stage.set_status(trace.StatusCode.ERROR)
            stage.end(done)
        span.end(ended)


def attributes(question: UserQuestion, outcome: Reply | RadarstreamError | None) -> dict[str, Any]:
    """What a span says of a question; None for one whose batch broke."""
    told: dict[str, Any] = {"radarstream.source": question.origin.value}
    if outcome is None:
        return told | {"error.type": "defect"}
    if isinstance(outcome, RadarstreamError):
        return told | {"error.type": class_name(outcome)}
    profile = outcome.orchestration.after or outcome.orchestration.before
    return told | {
        "radarstream.defense": outcome.event.defense,
        "radarstream.modules": [module.value for module in outcome.orchestration.plan.active],
        "radarstream.status": outcome.event.status.value,
        "radarstream.risk": "" if profile is None else profile.level.value,
    }
