"""RealTimeQA's weekly files: a week's search results joined to its questions.

`YYYYMMDD_gcs.jsonl` has a question id, a search time (UTC) and up to ten news articles a line;
`YYYYMMDD_qa.jsonl` beside it has the question, its choices and the index of the right one.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, BeforeValidator

from radarstream.connectors.files.lines import read_lines
from radarstream.connectors.files.reader import QUESTIONS_MARK, RESULTS_MARK
from radarstream.connectors.files.web_json import (
    Page,
    PageText,
    PageTexts,
    parsed_line,
    ranked,
    record_of,
)
from radarstream.schemas.errors import ConfigurationError, InputError, ReasonClass
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import Labels, Provenance, Query, SearchSnapshot

SEARCH_TIME_FORMAT = "%Y/%m/%d/%H:%M"
PUBLISH_DATE_FORMAT = "%Y/%m/%d"


class _Article(Page):
    publish_date: PageText = ""


class _Results(BaseModel):
    question_id: PageText
    search_time: PageText = ""
    search_result: tuple[_Article, ...]


class _Question(BaseModel):
    question_id: PageText
    question_sentence: PageText
    choices: PageTexts = ()
    answer: Annotated[tuple[int, ...], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]

    def answers(self) -> tuple[str, ...]:
        if not all(0 <= index < len(self.choices) for index in self.answer):
            raise InputError(ReasonClass.OUT_OF_RANGE, "an answer is not one of the choices")
        return tuple(self.choices[index] for index in self.answer)


def read_weekly(path: Path, limits: Limits) -> Iterator[RawRecord]:
    """Yield one snapshot a line of the results file, in its order.

    A line that cannot be used, of either file, comes as it is with the reason. Raises
    ConfigurationError when the questions file is missing.
    """
    questions_path = path.with_name(path.name.replace(RESULTS_MARK, QUESTIONS_MARK))
    if not questions_path.is_file():
        raise ConfigurationError(f"{path} needs its questions in {questions_path}")
    return _read(path, questions_path, limits)


def _read(path: Path, questions_path: Path, limits: Limits) -> Iterator[RawRecord]:
    questions: dict[str, _Question] = {}
    for line in read_lines(questions_path, limits.record_bytes):
        try:
            question = parsed_line(_Question, line)
            question.answers()
            questions[question.question_id] = question
        except InputError as error:
            yield replace(line, reason=error.reason, detail=error.detail)
    for line in read_lines(path, limits.record_bytes):
        try:
            snapshot = _snapshot(parsed_line(_Results, line), questions, limits)
            found = record_of(snapshot, limits)
            yield replace(line, payload=found.payload, snapshot=found.snapshot)
        except InputError as error:
            yield replace(line, reason=error.reason, detail=error.detail)


def _snapshot(results: _Results, questions: dict[str, _Question], limits: Limits) -> SearchSnapshot:
    question = questions.get(results.question_id)
    if question is None:
        raise InputError(ReasonClass.MISSING_FIELD, "no question has this question_id")
    if not results.search_time:
        raise InputError(ReasonClass.MISSING_TIME, "no search_time")
    observed_at = _time(results.search_time, SEARCH_TIME_FORMAT)
    if observed_at is None:
        raise InputError(ReasonClass.WRONG_TYPE, "search_time is not YYYY/MM/DD/hh:mm")
    articles = results.search_result
    documents = (
        replace(document, published_at=_time(article.publish_date, PUBLISH_DATE_FORMAT))
        for document, article in zip(ranked(articles, limits), articles, strict=True)
    )
    return SearchSnapshot(
        query=Query(id=question.question_id, text=question.question_sentence),
        observed_at=observed_at,
        documents=tuple(documents),
        provenance=Provenance.ARCHIVED,
        labels=Labels(answers=question.answers()),
    )


def _time(text: str, time_format: str) -> datetime | None:
    try:
        return datetime.strptime(text, time_format).replace(tzinfo=UTC)
    except ValueError:
        return None
