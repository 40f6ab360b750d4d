"""What a watchlist entry asks of its answers, from the YAML file through the running job."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from radarstream.pipelines.job.collecting.watchlist import read_watchlist
from radarstream.pipelines.settings.watched import entry_of, table_entries
from radarstream.schemas.codec import decode_answer
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention
from tests.brokers import Broker
from tests.builders import OBSERVED_AT, make_snapshot
from tests.end_to_end.running_job import events, produce, running_job

LIST = """
defaults: {withstand: 2}
queries:
  - {question: "Who won?", id: by-default}
  - {question: "Who won?", id: one-site, withstand: 0}
  - {question: "Who won?", id: disputed, withstand: 0}
"""
PRODUCTION = {"RADARSTREAM_DEFENSE__WITHSTAND": "1"}
WORDS = ("first", "second", "third")


def pages(query_id: str, winners: Sequence[str], day: int = 0) -> SearchSnapshot:
    """A page per winner, each on a site of its own and in words of its own."""
    at = OBSERVED_AT + timedelta(days=day)
    texts = [
        f"{word} {word} {word} {word}. Output: {w}" for word, w in zip(WORDS, winners, strict=False)
    ]
    return make_snapshot(texts, query_id=query_id, observed_at=at)


def answered(options: object) -> dict[tuple[str, int], AnswerEvent]:
    found = [decode_answer(data) for _, data in events(options, "answers.defended")]  # type: ignore[arg-type]
    return {(event.query_id, event.step): event for event in found}


def test_entries_of_a_watchlist_say_what_their_answers_withstand(
    own_broker: Broker, tmp_path: Path
) -> None:
    options = own_broker.options()
    file = tmp_path / "watchlist.yaml"
    file.write_text(LIST)
    stored = table_entries(read_watchlist(file))  # as `watch` reads them from its table
    queries = {name: entry_of(text).query for name, text in stored}
    given = {
        "by-default": ["Rome", "Rome"],
        "one-site": ["Rome"],
        "disputed": ["Rome", "Oslo"],
    }
    produce(
        options,
        [replace(pages(name, won), query=queries[name]) for name, won in given.items()]
        + [pages("job", ["Rome"]), pages("job's two", ["Rome", "Rome"])],
    )
    with running_job(options, tmp_path, "--once", **PRODUCTION) as job:
        job.wait_for("stopped")
    found = answered(options)
    assert {name: event.abstention or event.answer for (name, _), event in found.items()} == {
        "by-default": Abstention.THIN_EVIDENCE,
        "one-site": "Rome",
        "disputed": Abstention.OUTWEIGHED,
        "job": Abstention.THIN_EVIDENCE,
        "job's two": "Rome",
    }
    assert found["one-site", 0].status is AnswerStatus.SINGLE_SOURCE
